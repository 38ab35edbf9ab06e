//! Files that commands make.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// Why a file could not be made, and what to do.
pub fn cannot_make(file: &Path, error: &Error) -> String {
    let shown = file.display();
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    match (error.kind(), directory) {
        (ErrorKind::AlreadyExists, _) => {
            format!("{shown} is there already, and is not written over; give another name, or move it away")
        }
        (ErrorKind::NotFound, Some(directory)) => format!(
            "{shown} cannot be made: the directory {} does not exist; make it first, or give another place",
            directory.display()
        ),
        _ => format!("{shown} cannot be made: {error}; give a place that this user may write to"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_told_with_what_to_do() {
        let told = |file: &str, kind: ErrorKind| cannot_make(Path::new(file), &Error::from(kind));
        assert!(told("/no/such/file", ErrorKind::NotFound).contains("directory /no/such does not exist"));
        assert!(told("file", ErrorKind::AlreadyExists).contains("is there already"));
        assert!(told("/file", ErrorKind::PermissionDenied).contains("may write to"));
    }
}
