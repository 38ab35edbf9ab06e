//! `GET /docs`, `GET /openapi.json`

use crate::http::{App, routes};
use crate::web::{Context, Failure, Reply, Scope};

/// Shows the page that was made at start.
pub async fn show(context: Context<App>) -> Result<Reply, Failure> {
    Ok(Reply::bytes("text/html; charset=utf-8", context.app.docs.clone()))
}

/// Answers with the OpenAPI document.
pub async fn openapi(context: Context<App>) -> Result<Reply, Failure> {
    Ok(Reply::json_bytes(context.app.openapi.clone()))
}

/// Lists the paths of both listeners, from the route table.
pub fn page() -> String {
    format!(
        "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>offerd: the interface</title>
<style>
:root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #8884 }}
</style>
</head>
<body>
<h1>offerd: the interface</h1>
<p>Bodies are JSON. Requests carry <code>Authorization: Bearer &lt;token&gt;</code>; make a token with
<code>offerd token create</code>. Failures answer with an array of errors, each with its <code>attribute</code>,
<code>message</code> and <code>type</code>.</p>
{}{}
</body>
</html>
",
        table("The api listener", routes::API),
        table("The integrations listener", routes::INTEGRATIONS),
    )
}

fn table(title: &str, routes: &[routes::ApiRoute]) -> String {
    let row = |route: &routes::ApiRoute| {
        let token = match route.scope {
            Scope::None => "none",
            Scope::Publishable => "any",
            Scope::Confidential => "confidential",
        };
        format!(
            "<tr><td><code>{} {}</code></td><td>{token}</td><td>{}</td></tr>\n",
            route.method, route.path, route.about
        )
    };
    let rows: String = routes.iter().map(row).collect();
    format!(
        "<h2>{title}</h2>\n<table>\n<tr><th>Path</th><th>Token</th><th>What it does</th></tr>\n{rows}</table>\n"
    )
}
