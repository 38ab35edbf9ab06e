//! How a client authenticates besides headers, compiled.

use super::expression::Expression;

/// Client authentication, compiled.
#[derive(Debug)]
pub enum Auth {
    /// HTTP basic.
    Basic {
        /// The user.
        user: Expression,
        /// The password.
        password: Expression,
    },
    /// OAuth 2 client credentials.
    OAuth2 {
        /// Token endpoint.
        token_url: String,
        /// Token endpoint for test leads; `token_url` when absent.
        sandbox_token_url: Option<String>,
        /// The client's id.
        client_id: Expression,
        /// The client's secret, or an assertion in its place.
        proof: ClientProof,
        /// The requested scope.
        scope: Option<String>,
        /// Further parameters, or replacements of those of client credentials.
        params: Vec<(String, Expression)>,
    },
}

/// How a client authenticates to an authorization server.
#[derive(Debug)]
pub enum ClientProof {
    /// Secret in the body (RFC 6749, 2.3.1).
    Secret(Expression),
    /// Secret as HTTP basic, which servers must support (RFC 6749, 2.3.1).
    Basic(Expression),
    /// Signed assertion (RFC 7523, 2.2).
    Assertion(Expression),
}
