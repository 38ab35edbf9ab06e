//! The id of the directory that a process runs in. It survives restarts.

use std::io;
use std::path::Path;

use uuid::Uuid;

use crate::disk;
use offerd_base::private_file;

const NAME: &str = "node";

pub(super) fn find_or_make(directory: &Path) -> io::Result<Uuid> {
    disk::make_directory(directory)?;
    let file = directory.join(NAME);
    let read = std::fs::read_to_string(&file);
    match read.map(|text| text.trim().parse()) {
        Ok(Ok(place)) => Ok(place),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(Err(_)) | Err(_) => {
            let place = offerd_base::ids::random();
            drop(private_file::write(&file, place.to_string().as_bytes(), |_| Ok(()))?);
            Ok(place)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_keeps_its_id_and_one_that_is_damaged_has_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let first = find_or_make(&path).unwrap();
        assert_eq!(find_or_make(&path).unwrap(), first);
        std::fs::write(path.join(NAME), "nothing").unwrap();
        assert_ne!(find_or_make(&path).unwrap(), first);
    }
}
