//! File systems in image files.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::skipped;

/// Room for what a campaign writes. What is not written takes none.
const IMAGE_BYTES: u64 = 1024 * 1024 * 1024;

/// Copies of an image until one is of a single moment.
const ATTEMPTS: usize = 50;

/// A file system of the campaigns.
#[derive(Debug, Clone, Copy)]
pub enum FileSystem {
    Ext4,
    Xfs,
}

/// An image that is mounted. It is unmounted when this is dropped.
#[derive(Debug)]
pub struct Mounted(PathBuf);

impl FileSystem {
    /// Says that a campaign is skipped where this file system cannot be made and mounted.
    pub fn is_at_hand(self, scratch: &Path) -> Option<()> {
        let what = format!("power cuts on {self:?}");
        let image = scratch.join("trial");
        if let Err(reason) = self.make(&image) {
            return skipped(&what, &format!("{}: {reason}", self.tool()));
        }
        match self.mount(&image, &scratch.join("trial-mounted")) {
            Ok(_mounted) => Some(()),
            Err(reason) => skipped(&what, &format!("mounting takes root and a loop device: {reason}")),
        }
    }

    /// Makes an image with an empty file system.
    pub fn make(self, image: &Path) -> Result<(), String> {
        let file = std::fs::File::create(image).map_err(|error| error.to_string())?;
        file.set_len(IMAGE_BYTES).map_err(|error| error.to_string())?;
        run(Command::new(self.tool()).arg("-q").arg(image))
    }

    /// Mounts an image, and has the file system mend itself as after any power cut.
    pub fn mount(self, image: &Path, at: &Path) -> Result<Mounted, String> {
        std::fs::create_dir_all(at).map_err(|error| error.to_string())?;
        let options = match self {
            Self::Ext4 => "loop",
            // Copies have the same one.
            Self::Xfs => "loop,nouuid",
        };
        run(Command::new("mount").args(["-o", options]).arg(image).arg(at))?;
        Ok(Mounted(at.to_owned()))
    }

    fn tool(self) -> &'static str {
        match self {
            Self::Ext4 => "mkfs.ext4",
            Self::Xfs => "mkfs.xfs",
        }
    }
}

impl Mounted {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if run(Command::new("umount").arg(&self.0)).is_err() {
            // A process that is just ending is still in it.
            let _ = run(Command::new("umount").arg("--lazy").arg(&self.0));
        }
    }
}

/// Copies an image that is mounted, as it is at one moment: the kernel may write to it meanwhile, and then the copy is made
/// again. A copy that equals what is read after it is that of the moment between.
pub fn copy_of_one_moment(image: &Path, copy: &Path) {
    for _ in 0..ATTEMPTS {
        run(Command::new("cp").arg("--sparse=always").arg(image).arg(copy)).expect("an image can be copied");
        if run(Command::new("cmp").arg("--silent").arg(image).arg(copy)).is_ok() {
            return;
        }
    }
    panic!("{} is written to all the time", image.display());
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{}: {said}", output.status)) }
}
