//! What a directory holds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fastrand::Rng;

const PAGE: usize = 4096;

/// The directories whose files are disposable have this name.
const INDEX: &str = "index";

/// Files by their paths in a directory, and the directories in it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct State {
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// Each after the one that it is in.
    pub directories: Vec<PathBuf>,
}

impl State {
    /// Reads a directory.
    pub fn of(directory: &Path) -> Self {
        let mut state = Self::default();
        let mut waiting = vec![PathBuf::new()];
        while let Some(inside) = waiting.pop() {
            for entry in fs::read_dir(directory.join(&inside)).unwrap() {
                let entry = entry.unwrap();
                let path = inside.join(entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    state.directories.push(path.clone());
                    waiting.push(path);
                } else if entry.file_type().unwrap().is_file() {
                    state.files.insert(path, fs::read(entry.path()).unwrap());
                }
            }
        }
        state
    }

    /// Makes the directory. What is zero takes no room.
    pub fn write(&self, directory: &Path) {
        fs::create_dir_all(directory).unwrap();
        for path in &self.directories {
            fs::create_dir_all(directory.join(path)).unwrap();
        }
        for (path, bytes) in &self.files {
            write(&directory.join(path), bytes);
        }
    }

    /// The files that lie in an index.
    pub fn index(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = self.files.iter().filter(|(path, _)| is_index(path));
        files.map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
    }

    /// Without its indexes, or with others in their place.
    #[must_use]
    pub fn with_index(mut self, files: BTreeMap<PathBuf, Vec<u8>>) -> Self {
        self.files.retain(|path, _| !is_index(path));
        self.directories.retain(|path| !is_index(path));
        for path in files.keys() {
            let above = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
            let mut above: Vec<PathBuf> = above.map(Path::to_owned).collect();
            above.reverse();
            self.directories.extend(above);
        }
        self.files.extend(files);
        self
    }

    /// With bytes in its indexes that nobody wrote.
    #[must_use]
    pub fn with_garbage(self, rng: &mut Rng) -> Self {
        let mut index = self.index();
        for bytes in index.values_mut() {
            match rng.u8(0..4) {
                0 => bytes.truncate(rng.usize(..=bytes.len())),
                1 => bytes.fill(0),
                2 => {
                    for byte in bytes.iter_mut() {
                        *byte = rng.u8(..);
                    }
                }
                _ => {
                    let page = PAGE.min(bytes.len());
                    let at = rng.usize(..=bytes.len() - page);
                    rng.fill(&mut bytes[at..at + page]);
                }
            }
        }
        self.with_index(index)
    }

    /// How two directories differ, the first of it.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let names = self.files.keys().chain(other.files.keys());
        let mut differing = names.filter(|path| self.files.get(*path) != other.files.get(*path));
        let path = differing.next()?;
        let length = |state: &Self| state.files.get(path).map(Vec::len);
        let first = match (self.files.get(path), other.files.get(path)) {
            (Some(one), Some(other)) => one.iter().zip(other).position(|(one, other)| one != other),
            _ => None,
        };
        Some(format!(
            "{}: {:?} and {:?} bytes, first at {first:?}",
            path.display(),
            length(self),
            length(other)
        ))
    }
}

fn is_index(path: &Path) -> bool {
    path.iter().any(|name| name == INDEX)
}

fn write(path: &Path, bytes: &[u8]) {
    let file = File::create(path).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    let mut at = 0;
    for page in bytes.chunks(PAGE) {
        if page.iter().any(|byte| *byte != 0) {
            file.write_all_at(page, at).unwrap();
        }
        at += page.len() as u64;
    }
}
