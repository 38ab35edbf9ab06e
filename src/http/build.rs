//! Unpacks the files of Swagger UI that `/docs` loads; the whole archive would add 2.5 MB to the binary.

use std::fs::File;
use std::io::{self, Cursor};
use std::path::PathBuf;

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

const FILES: [&str; 3] = ["swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    for file in FILES {
        let path = format!("/dist/{file}");
        let entry = archive.file_names_raw().position(|name| name.ends_with(path.as_bytes()));
        let entry = entry.expect("Swagger UI has this file");
        io::copy(&mut archive.by_index(entry)?, &mut File::create(out.join(file))?)?;
    }
    Ok(())
}
