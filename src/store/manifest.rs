//! The manifest: the list of the files that the store must have.
//!
//! ```text
//! offerd store 1
//! {"revision":7,"volumes":[{"number":0,"begins":…,"files":[{"number":1,"bytes":4711}]}, …]}
//! crc32 of the lines before, in hexadecimal
//! ```
//! It is rewritten as a whole whenever a file is added or removed; `bytes` is a length known to survive a
//! power cut. Of the two copies, `manifest` and `manifest.copy`, the sound one with the higher revision
//! counts. If both are damaged, the list is rebuilt from the existing files.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::disk::{self, SyncFault};
use super::record_file::{self, FileRow};
use super::volume_number::{BASE, VolumeNumber, VolumeStart, directory_of, volumes_in};

/// The format of the stores that this build writes, and the only one that it reads.
pub const FORMAT: u32 = 1;

/// The file, and its copy for the case of damage.
const NAMES: [&str; 2] = ["manifest", "manifest.copy"];

const HEADING: &str = "offerd store ";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    revision: u64,
    /// Whether the store was open when it was written, so that a journal must exist. Optional in the file.
    #[serde(default)]
    pub(super) has_journal: bool,
    /// The volumes, in the order of their numbers, the base first.
    pub(super) volumes: Vec<VolumeRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct VolumeRow {
    pub(super) number: VolumeNumber,
    pub(super) begins: VolumeStart,
    pub(super) files: Vec<FileRow>,
}

impl VolumeRow {
    pub(super) fn undated(number: VolumeNumber, files: Vec<FileRow>) -> Self {
        Self { number, begins: VolumeStart::default(), files }
    }
}

#[derive(Debug)]
pub(super) enum ManifestLookup {
    Nothing,
    /// The manifest; and the damaged one of its two files, if any.
    Manifest {
        manifest: Manifest,
        damage: Option<&'static str>,
    },
    /// The store has this other format.
    Other(u32),
    Damaged,
}

impl Manifest {
    pub(super) fn read(store: &Path) -> io::Result<ManifestLookup> {
        let mut read = Vec::new();
        for name in NAMES {
            match disk::read_file(&store.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => read.push((name, None)),
                Err(error) if [io::ErrorKind::PermissionDenied, disk::NOT_A_FILE].contains(&error.kind()) => {
                    return Err(error);
                }
                bytes => read.push((name, Some(bytes.ok().and_then(|bytes| Self::parse(&bytes))))),
            }
        }
        if read.iter().all(|(_, found)| found.is_none()) {
            return Ok(ManifestLookup::Nothing);
        }
        let damage = read.iter().find(|(_, found)| !matches!(found, Some(Some(_)))).map(|(name, _)| *name);
        let sound: Result<Vec<_>, u32> = read.into_iter().filter_map(|(_, found)| found.flatten()).collect();
        Ok(match sound.map(|all| all.into_iter().max_by_key(|manifest| manifest.revision)) {
            Ok(Some(manifest)) => ManifestLookup::Manifest { manifest, damage },
            Ok(None) => ManifestLookup::Damaged,
            Err(format) => ManifestLookup::Other(format),
        })
    }

    /// A manifest rebuilt from a store's files. The beginnings of its volumes are unknown.
    pub(super) fn of_files(store: &Path) -> io::Result<Self> {
        let mut volumes = Vec::new();
        for number in [BASE].into_iter().chain(volumes_in(store)?) {
            let numbers = record_file::numbers_in(&directory_of(store, number))?;
            let files = numbers.into_iter().map(|number| FileRow { number, bytes: 0 }).collect();
            volumes.push(VolumeRow::undated(number, files));
        }
        Ok(Self { volumes, ..Self::default() })
    }

    pub(super) fn volume_mut(&mut self, number: VolumeNumber) -> Option<&mut VolumeRow> {
        self.volumes.iter_mut().find(|volume| volume.number == number)
    }

    /// Writes both files. Once this returns, they survive a power cut.
    pub(super) fn write(&mut self, store: &Path, fault: &SyncFault) -> io::Result<()> {
        self.revision += 1;
        let text = self.text();
        for name in NAMES {
            fault.strike()?;
            disk::replace(&store.join(name), text.as_bytes())?;
        }
        Ok(())
    }

    /// The files that differ from it, which is what was last written.
    pub(super) fn differing(&self, store: &Path) -> Vec<&'static str> {
        let text = self.text();
        let differs =
            |name: &&str| disk::read_file(&store.join(name)).map_or(true, |bytes| bytes != text.as_bytes());
        NAMES.into_iter().filter(differs).collect()
    }

    fn text(&self) -> String {
        let json = serde_json::to_string(self).expect("numbers are written in any case");
        let text = format!("{HEADING}{FORMAT}\n{json}\n");
        let crc = crc32fast::hash(text.as_bytes());
        format!("{text}{crc:08x}\n")
    }

    /// The manifest in a sound file, or the other format that it names, of which nothing more is read.
    fn parse(bytes: &[u8]) -> Option<Result<Self, u32>> {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let (summed, crc) = text.split_at_checked(text.rfind('\n')? + 1)?;
        if format!("{:08x}", crc32fast::hash(summed.as_bytes())) != crc {
            return None;
        }
        let (heading, json) = summed.split_once('\n')?;
        match heading.strip_prefix(HEADING)?.parse().ok()? {
            FORMAT => serde_json::from_str(json).ok().map(Ok),
            other => Some(Err(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn paths(store: &Path) -> [PathBuf; 2] {
        NAMES.map(|name| store.join(name))
    }

    fn manifest() -> Manifest {
        let row = |number| VolumeRow {
            number,
            begins: VolumeStart { span_ms: u64::from(number) * 10, use_ms: 5 },
            files: vec![FileRow { number: 1, bytes: 4711 }, FileRow { number: 2, bytes: 20 }],
        };
        Manifest { revision: 6, has_journal: true, volumes: vec![row(0), row(3)] }
    }

    #[test]
    fn whatever_byte_of_one_of_them_is_flipped_the_other_one_counts() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path();
        let mut written = manifest();
        written.write(store, &SyncFault::default()).unwrap();
        for path in paths(store) {
            let whole = fs::read(&path).unwrap();
            for place in 0..whole.len() {
                let mut flipped = whole.clone();
                flipped[place] ^= 1 << (place % 8);
                fs::write(&path, flipped).unwrap();
                let ManifestLookup::Manifest { manifest, damage } = Manifest::read(store).unwrap() else {
                    panic!("byte {place}");
                };
                assert_eq!((&manifest, damage.is_some()), (&written, true), "byte {place}");
            }
            fs::write(&path, whole).unwrap();
        }
        assert!(matches!(Manifest::read(store).unwrap(), ManifestLookup::Manifest { damage: None, .. }));
        paths(store).iter().for_each(|path| fs::write(path, "x").unwrap());
        assert!(matches!(Manifest::read(store).unwrap(), ManifestLookup::Damaged));
        paths(store).iter().for_each(|path| fs::remove_file(path).unwrap());
        assert!(matches!(Manifest::read(store).unwrap(), ManifestLookup::Nothing));
    }
}
