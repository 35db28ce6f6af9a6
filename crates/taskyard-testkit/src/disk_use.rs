//! How much room files take, by both ways of counting.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What a directory takes with everything in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// The lengths of all files, as `du --apparent-size` has it.
    pub apparent: u64,
    /// The blocks they take on the disk, as `du` has it.
    pub allocated: u64,
}

impl DiskUse {
    /// Counts a directory; what is not there takes nothing.
    pub fn of(path: &Path) -> Self {
        let Ok(found) = fs::symlink_metadata(path) else { return Self::default() };
        let below = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| Self::of(&entry.path()));
        let own = Self { apparent: found.len(), allocated: found.blocks() * 512 };
        below.fold(own, |sum, part| Self {
            apparent: sum.apparent + part.apparent,
            allocated: sum.allocated + part.allocated,
        })
    }

    /// Returns the larger of the two counts.
    pub fn most(self) -> u64 {
        self.apparent.max(self.allocated)
    }
}
