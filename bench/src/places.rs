//! Where is measured: fresh directories, on a disk and in memory, never emptied while a run lasts.
//!
//! Creating files soon after many were deleted close by is slow on some file systems, so nothing is removed here; `bench/run`
//! does it at the end.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::options::Options;

/// A place to measure in.
#[derive(Debug)]
pub(crate) struct Place {
    /// What the table calls it.
    pub(crate) name: &'static str,
    /// Whether what is acknowledged here survives a power loss, so that targets for durable work apply.
    pub(crate) durable: bool,
    root: PathBuf,
    used: Cell<usize>,
}

/// A fresh home for one list of one contestant: the client's layout, and our data directory beside it.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    root: PathBuf,
}

impl Place {
    /// Returns the places of a run.
    pub(crate) fn all(options: &Options) -> Vec<Self> {
        let place = |name, durable, root: &PathBuf| Self { name, durable, root: root.clone(), used: Cell::new(0) };
        let memory = options.memory.as_ref().map(|root| place("memory", false, root));
        [place("disk", true, &options.disk)].into_iter().chain(memory).collect()
    }

    /// Returns a home no program has used.
    pub(crate) fn fresh_home(&self) -> Result<Home, Failure> {
        self.used.set(self.used.get() + 1);
        // Never the name of an earlier run: ext4 chooses by the name which region of the disk it puts the directory in.
        let run = self.root.file_name().unwrap_or_default().to_string_lossy();
        let root = self.root.join(format!("{run}-{}", self.used.get()));
        fs::create_dir(&root)?;
        Ok(Home { root })
    }
}

impl Home {
    /// The list every measurement works on.
    pub(crate) const LIST: &'static str = "bench";

    /// Returns the home under a root that some other process was given.
    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the directory all of this is in.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory of the lists.
    pub(crate) fn tasks(&self) -> PathBuf {
        self.root.join("tasks")
    }

    /// Returns the directory of the list.
    pub(crate) fn list(&self) -> PathBuf {
        self.tasks().join(Self::LIST)
    }

    /// Returns our data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("taskyard")
    }

    /// Counts the task files of the list.
    pub(crate) fn count(&self) -> Result<usize, Failure> {
        let mut count = 0;
        for entry in fs::read_dir(self.list())? {
            count += usize::from(entry?.file_name().as_encoded_bytes().ends_with(b".json"));
        }
        Ok(count)
    }
}
