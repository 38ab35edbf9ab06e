//! `GET /console/assets/{file}`: the style sheet, the script and the icon, embedded in the binary.

use super::prelude::*;

const ASSETS: &[(&str, &str, &str)] = &[
    ("console.css", "text/css; charset=utf-8", include_str!("assets/console.css")),
    ("console.js", "text/javascript; charset=utf-8", include_str!("assets/console.js")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];

pub(super) async fn show(context: Context) -> Result<Reply> {
    let file = context.params.get("file").unwrap_or_default();
    let (_, kind, text) =
        ASSETS.iter().find(|(name, ..)| *name == file).ok_or_else(Failure::not_found_path)?;
    Ok(sealed(Reply::bytes(kind, *text)))
}
