//! Team files that the client emptied: it writes them in place, and one that ends at that moment leaves nothing. What a file last held
//! is remembered, and brought back.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use taskyard_core::dialect::team_file::{self, LARGEST};

use super::store::FileTeams;
use crate::store::{Found, Guarded, read_unlocked};
use crate::teams::TeamError;

/// By then a program that emptied a file to write it anew has written it.
const WRITTEN_BY_THEN: Duration = Duration::from_millis(250);

impl FileTeams {
    /// Brings back what a team's file held, where it is empty and stays so. Nothing but emptiness is ever written over.
    /// Where that fails, a program that reads the file finds it empty.
    pub(super) fn bring_back_emptied(&self, path: &Path) {
        if let Err(error) = self.try_to_bring_back(path) {
            tracing::warn!(%error, "the file of a team is empty, and what it held cannot be brought back");
        }
    }

    fn try_to_bring_back(&self, path: &Path) -> Result<(), TeamError> {
        let is_empty = || fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0);
        if !is_empty() {
            return Ok(());
        }
        let Some(content) = self.remembered(|memory| memory.last_file(&directory_of(path)))? else { return Ok(()) };
        thread::sleep(WRITTEN_BY_THEN);
        if !is_empty() {
            return Ok(());
        }
        let mut guarded = Guarded::lock(path, &self.queues(), b"")?;
        if matches!(guarded.read(LARGEST)?, Found::Bytes(bytes) if bytes.is_empty()) && guarded.replace(&content)? {
            tracing::warn!(path = %path.display(), "another program left the file of a team empty; what it held is there again");
        }
        Ok(())
    }

    /// Remembers what a team's file holds, after we changed it. That it cannot be remembered is no failure of the change.
    pub(super) fn keep_whole(&self, path: &Path) {
        if let Err(error) = self.try_to_keep(path) {
            tracing::debug!(%error, "what the file of a team holds is not remembered");
        }
    }

    fn try_to_keep(&self, path: &Path) -> Result<(), TeamError> {
        let found = read_unlocked(path, LARGEST).map_err(TeamError::io("cannot read", path))?;
        let Found::Bytes(bytes) = found else { return Ok(()) };
        if team_file::read(&bytes).is_err() {
            return Ok(());
        }
        self.remember(|memory| memory.keep_file(&directory_of(path), &bytes))
    }

    /// Forgets what a team's file held.
    pub(super) fn forget_whole(&self, path: &Path) -> Result<(), TeamError> {
        self.remember(|memory| memory.forget_file(&directory_of(path)))
    }
}

/// Returns the directory of a team as it is known in our memory.
fn directory_of(path: &Path) -> String {
    let directory = path.parent().unwrap_or(path);
    fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned()).to_string_lossy().into_owned()
}
