//! How the machine's database looks from outside, to know whether it has changed without opening it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::blocking::about_to_block;

/// A database that changed within this time may change again without looking any different.
const GRAIN: Duration = Duration::from_millis(100);

/// How the files of the database look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp([Option<(SystemTime, u64)>; 2]);

impl Stamp {
    /// Looks at the files.
    pub(super) fn of(data: &Path) -> Self {
        about_to_block("looking at a database");
        let look = |path: PathBuf| {
            let found = path.metadata().ok()?;
            Some((found.modified().ok()?, found.len()))
        };
        // A process that only reads may leave an empty log behind: that is no change.
        let log = look(data.join("machine.sqlite-wal")).filter(|(_, length)| *length > 0);
        Self([look(data.join("machine.sqlite")), log])
    }

    /// Returns a number for what it looks like, where a later change is certain to look different.
    pub(super) fn settled(&self) -> Option<u64> {
        let mut number = DefaultHasher::new();
        self.0.hash(&mut number);
        self.is_settled().then(|| number.finish())
    }

    /// Tells whether a later change is certain to look different.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now();
        let is_old = |changed: &SystemTime| now.duration_since(*changed).is_ok_and(|age| age > GRAIN);
        self.0.iter().flatten().all(|(changed, _)| is_old(changed))
    }
}
