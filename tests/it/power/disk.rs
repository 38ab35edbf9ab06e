//! A disk under a recording: what is on it for sure at any moment, and what may be found there after a power cut.
//!
//! Strict but honest: a file's contents and length are there once a sync of it has ended that began after they were written, a
//! name once a sync of its directory has. All else may be there or not, and `sync_file_range` says nothing. A rename is there as
//! a whole or not at all.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::contents::{Change, Contents};
use super::loss::Loss;
use super::recording::Operation;
use super::state::State;

const O_ACCMODE: i64 = 0o3;
const O_CREAT: i64 = 0o100;
const O_TRUNC: i64 = 0o1000;
const O_DSYNC: i64 = 0o10000;
const KEEP_SIZE: i32 = 1;
const PUNCH_HOLE: i32 = 2;
const ZERO_RANGE: i32 = 16;

/// A file or a directory, whatever its names.
type Node = usize;

/// The names of a directory.
type Names = BTreeMap<String, Node>;

/// A disk that has one directory.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
    nodes: Vec<Kind>,
    /// Changes of names that no sync has followed.
    renamed: Vec<Renamed>,
    open: HashMap<i32, Open>,
    /// What syncs that have not ended are of, and where they began.
    syncing: HashMap<i64, (Node, usize)>,
    /// How many operations there were.
    at: usize,
}

#[derive(Debug)]
enum Kind {
    File(Contents),
    /// What the program sees, and what is durable.
    Directory {
        seen: Names,
        durable: Names,
    },
}

#[derive(Debug, Clone, Copy)]
struct Open {
    node: Node,
    /// Each write is synced.
    synced: bool,
}

/// A name that went, or came, or both at once.
#[derive(Debug, Clone)]
struct Renamed {
    at: usize,
    gone: Option<(Node, String)>,
    come: Option<(Node, String, Node)>,
}

impl Disk {
    /// With a directory that holds this, all of it durable.
    pub fn holding(state: &State, root: &Path) -> Self {
        let root = root.canonicalize().unwrap();
        let mut disk = Self {
            root,
            nodes: vec![Kind::empty()],
            renamed: Vec::new(),
            open: HashMap::new(),
            syncing: HashMap::new(),
            at: 0,
        };
        let directories = state.directories.iter().map(|path| (path, Kind::empty()));
        let files =
            state.files.iter().map(|(path, bytes)| (path, Kind::File(Contents::durable(bytes.clone()))));
        for (path, kind) in directories.chain(files) {
            let place = disk.place(&disk.root.join(path));
            let node = disk.made(kind);
            disk.rename(None, Some((place, node)));
        }
        for renamed in std::mem::take(&mut disk.renamed) {
            renamed.apply(&mut disk.nodes[..], durable_names);
        }
        disk
    }

    /// How many operations there were.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Does the next operation.
    pub fn apply(&mut self, operation: &Operation) {
        self.at += 1;
        match operation {
            Operation::Open { fd, flags, path } => self.opened(*fd, *flags, path),
            Operation::Write { fd, offset, data } => {
                self.change(*fd, Change::Write { offset: to_usize(*offset), data: data.clone() });
            }
            Operation::Resize { fd, length } => {
                self.change(*fd, Change::Resize { length: to_usize(*length) });
            }
            Operation::Allocate { fd, offset, length, mode } => {
                self.allocated(*fd, to_usize(*offset), to_usize(*length), *mode);
            }
            Operation::Sync { fd, number } => {
                self.syncing.insert(*number, (self.open[fd].node, self.at));
            }
            Operation::Synced { number } => {
                let (node, before) = self.syncing.remove(number).expect("a sync begins before it ends");
                self.synced(node, before);
            }
            Operation::Rename { from, to } => {
                let (gone, come) = (self.place(from), self.place(to));
                let node = self.seen(&gone).expect("what is renamed is there");
                self.rename(Some(gone), Some((come, node)));
            }
            Operation::Unlink { path } | Operation::RemoveDirectory { path } => {
                self.rename(Some(self.place(path)), None);
            }
            Operation::MakeDirectory { path } => {
                let node = self.made(Kind::empty());
                self.rename(None, Some((self.place(path), node)));
            }
            Operation::Link { from, to } => {
                let node = self.seen(&self.place(from)).expect("what is linked is there");
                self.rename(None, Some((self.place(to), node)));
            }
            Operation::Close { fd } => drop(self.open.remove(fd)),
            Operation::Duplicate { fd, made } => drop(self.open.insert(*made, self.open[fd])),
        }
    }

    fn opened(&mut self, fd: i32, flags: i64, path: &Path) {
        let node = if path == self.root {
            0
        } else {
            let place = self.place(path);
            self.seen(&place).unwrap_or_else(|| {
                assert!(flags & O_CREAT != 0, "{} is not there", path.display());
                let node = self.made(Kind::File(Contents::default()));
                self.rename(None, Some((place, node)));
                node
            })
        };
        self.open.insert(fd, Open { node, synced: flags & O_DSYNC != 0 });
        if flags & O_TRUNC != 0 && flags & O_ACCMODE != 0 {
            self.change(fd, Change::Resize { length: 0 });
        }
    }

    fn allocated(&mut self, fd: i32, offset: usize, length: usize, mode: i32) {
        assert!(mode & !(KEEP_SIZE | PUNCH_HOLE | ZERO_RANGE) == 0, "fallocate with mode {mode}");
        if mode & KEEP_SIZE == 0 {
            self.change(fd, Change::Grow { length: offset + length });
        }
        if mode & (PUNCH_HOLE | ZERO_RANGE) != 0 {
            self.change(fd, Change::Zero { range: offset..offset + length });
        }
    }

    fn change(&mut self, fd: i32, change: Change) {
        let Open { node, synced } = self.open[&fd];
        let Kind::File(contents) = &mut self.nodes[node] else { panic!("a directory is not written to") };
        contents.change(self.at, change);
        if synced {
            contents.synced(self.at + 1);
        }
    }

    fn synced(&mut self, node: Node, before: usize) {
        if let Kind::File(contents) = &mut self.nodes[node] {
            return contents.synced(before);
        }
        let (durable, pending) =
            self.renamed.drain(..).partition(|renamed| renamed.at < before && renamed.concerns(node));
        self.renamed = pending;
        for renamed in Vec::<Renamed>::from_iter(durable) {
            renamed.apply(&mut self.nodes[..], durable_names);
        }
    }

    fn made(&mut self, kind: Kind) -> Node {
        self.nodes.push(kind);
        self.nodes.len() - 1
    }

    fn rename(&mut self, gone: Option<(Node, String)>, come: Option<((Node, String), Node)>) {
        let come = come.map(|((directory, name), node)| (directory, name, node));
        let renamed = Renamed { at: self.at, gone, come };
        renamed.apply(&mut self.nodes[..], seen_names);
        self.renamed.push(renamed);
    }

    /// The directory of a path, as the program sees it, and the name in it.
    fn place(&self, path: &Path) -> (Node, String) {
        let inside = path.strip_prefix(&self.root).expect("only what is below the root is recorded");
        let mut names: Vec<_> = inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
        let last = names.pop().expect("the root is not named");
        let directory = names.into_iter().fold(0, |directory, name| {
            self.seen(&(directory, name)).unwrap_or_else(|| panic!("{} lies nowhere", path.display()))
        });
        (directory, last)
    }

    fn seen(&self, (directory, name): &(Node, String)) -> Option<Node> {
        match &self.nodes[*directory] {
            Kind::Directory { seen, .. } => seen.get(name).copied(),
            Kind::File(_) => None,
        }
    }

    /// What the program sees.
    pub fn whole(&self) -> State {
        let names = |node: Node| match &self.nodes[node] {
            Kind::Directory { seen, .. } => seen.clone(),
            Kind::File(_) => Names::new(),
        };
        self.state(&names, &mut |contents| contents.whole())
    }

    /// What may be found after a power cut at this moment.
    pub fn cut(&self, loss: Loss, by_file: bool, rng: &mut Rng) -> State {
        let mut found: HashMap<Node, Names> = HashMap::new();
        for (node, kind) in self.nodes.iter().enumerate() {
            if let Kind::Directory { durable, .. } = kind {
                found.insert(node, durable.clone());
            }
        }
        // A file system with one journal keeps the order of what it does to names; another one need not.
        let in_order = rng.bool();
        let first = loss.version(self.renamed.len(), rng);
        for (nth, renamed) in self.renamed.iter().enumerate() {
            let kept = if in_order { nth < first } else { loss.keeps(rng) };
            if kept {
                renamed
                    .apply(&mut found, |found, directory| found.get_mut(&directory).expect("all are here"));
            }
        }
        let names = |node: Node| found[&node].clone();
        self.state(&names, &mut |contents| {
            let loss = if by_file { Loss::one(rng) } else { loss };
            contents.cut(loss, rng)
        })
    }

    fn state(&self, names: &dyn Fn(Node) -> Names, contents: &mut dyn FnMut(&Contents) -> Vec<u8>) -> State {
        let mut state = State::default();
        let mut directories = vec![(0, PathBuf::new())];
        while let Some((directory, path)) = directories.pop() {
            for (name, node) in names(directory) {
                let path = path.join(name);
                match &self.nodes[node] {
                    Kind::File(file) => drop(state.files.insert(path, contents(file))),
                    Kind::Directory { .. } => {
                        state.directories.push(path.clone());
                        directories.push((node, path));
                    }
                }
            }
        }
        state
    }
}

impl Kind {
    /// A directory.
    fn empty() -> Self {
        Self::Directory { seen: Names::new(), durable: Names::new() }
    }
}

impl Renamed {
    fn concerns(&self, directory: Node) -> bool {
        self.gone.as_ref().is_some_and(|(of, _)| *of == directory)
            || self.come.as_ref().is_some_and(|(of, ..)| *of == directory)
    }

    fn apply<D: ?Sized>(&self, directories: &mut D, names: impl Fn(&mut D, Node) -> &mut Names) {
        if let Some((directory, name)) = &self.gone {
            names(directories, *directory).remove(name);
        }
        if let Some((directory, name, node)) = &self.come {
            names(directories, *directory).insert(name.clone(), *node);
        }
    }
}

fn seen_names(nodes: &mut [Kind], directory: Node) -> &mut Names {
    match &mut nodes[directory] {
        Kind::Directory { seen, .. } => seen,
        Kind::File(_) => panic!("a file has no names in it"),
    }
}

fn durable_names(nodes: &mut [Kind], directory: Node) -> &mut Names {
    match &mut nodes[directory] {
        Kind::Directory { durable, .. } => durable,
        Kind::File(_) => panic!("a file has no names in it"),
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).expect("a test's file is not that long")
}
