//! What was done to the files below a directory, in its order.

use std::path::{Path, PathBuf};

use bytes::{Buf, Bytes};

/// One change, or what tells which file the next ones are about.
#[derive(Debug, Clone)]
pub enum Operation {
    Open {
        fd: i32,
        flags: i64,
        path: PathBuf,
    },
    Write {
        fd: i32,
        offset: u64,
        data: Bytes,
    },
    Resize {
        fd: i32,
        length: u64,
    },
    Allocate {
        fd: i32,
        offset: u64,
        length: u64,
        mode: i32,
    },
    /// A sync begins: it is about what stands before it.
    Sync {
        fd: i32,
        number: i64,
    },
    /// The sync of this number has ended.
    Synced {
        number: i64,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Unlink {
        path: PathBuf,
    },
    MakeDirectory {
        path: PathBuf,
    },
    RemoveDirectory {
        path: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Close {
        fd: i32,
    },
    Duplicate {
        fd: i32,
        made: i32,
    },
}

/// Reads a recording. A program that maps a file to write into it cannot be recorded.
pub fn read(log: &Path) -> Vec<Operation> {
    let mut log = Bytes::from(std::fs::read(log).unwrap());
    std::iter::from_fn(|| (!log.is_empty()).then(|| operation(&mut log))).collect()
}

fn operation(log: &mut Bytes) -> Operation {
    let (kind, fd) = (log.get_u32_le(), log.get_i32_le());
    let (a, b) = (log.get_i64_le(), log.get_i64_le());
    let (first, second) = (log.get_u32_le() as usize, log.get_u32_le() as usize);
    let (first, second) = (log.split_to(first), log.split_to(second));
    let name = |bytes: Bytes| PathBuf::from(String::from_utf8(bytes.to_vec()).unwrap());
    let unsigned = |number: i64| u64::try_from(number).unwrap();
    match kind {
        1 => Operation::Open { fd, flags: a, path: name(first) },
        2 => Operation::Write { fd, offset: unsigned(a), data: first },
        3 => Operation::Resize { fd, length: unsigned(a) },
        4 => {
            let mode = std::str::from_utf8(&second).unwrap().parse().unwrap();
            Operation::Allocate { fd, offset: unsigned(a), length: unsigned(b), mode }
        }
        5 => Operation::Sync { fd, number: a },
        6 => Operation::Synced { number: a },
        7 => Operation::Rename { from: name(first), to: name(second) },
        8 => Operation::Unlink { path: name(first) },
        9 => Operation::MakeDirectory { path: name(first) },
        10 => Operation::RemoveDirectory { path: name(first) },
        11 => Operation::Link { from: name(first), to: name(second) },
        12 => Operation::Close { fd },
        13 => Operation::Duplicate { fd, made: a.try_into().unwrap() },
        14 => panic!("{} is written through a map, which cannot be recorded", name(first).display()),
        unknown => panic!("no operation {unknown}"),
    }
}
