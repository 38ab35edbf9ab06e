//! HTTP/2 in clear text, by prior knowledge. Over TLS: see `tls`.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};

use super::kit::{Server, endpoint, near, send};
use crate::PoolRules;

/// Echoes the request body.
pub(super) async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let service = service_fn(|request: Request<hyper::body::Incoming>| async move {
        assert_eq!(request.version(), Version::HTTP_2);
        let body = request.into_body().collect().await.unwrap().to_bytes();
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::new(body)))
    });
    // Ends with an error when the client disconnects.
    let _ = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

#[tokio::test]
async fn calls_share_one_connection() {
    let server = Server::run(|stream, _| serve(stream)).await;
    let endpoint = endpoint(PoolRules { http2: true, ..near() });
    for _ in 0..2 {
        let calls = (0..8).map(|_| send(&endpoint, server.url()));
        for reply in futures_util::future::join_all(calls).await {
            assert_eq!(reply.unwrap().body, "{\"amount\":5000}");
        }
    }
    assert_eq!(server.connections(), 1);
}
