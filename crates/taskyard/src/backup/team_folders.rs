//! The files of teams: each team is a folder with a file of its own and an inbox for each member.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

use super::manifest::modes_in_words;
use super::writer::Writer;
use super::{BackedUpTeam, BackupError};
use crate::store::{ListCopy, ListCopyTarget, StoreError, is_lock};

/// What our temporary files begin with.
const TEMPORARY: &str = ".taskyard-";

/// Copies every team below a directory.
pub(super) fn copy_teams(root: &Path, writer: &mut Writer) -> Result<Vec<BackedUpTeam>, BackupError> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(BackupError::io("cannot list", root)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(BackupError::io("cannot list", root))?;
        let is_team = entry.file_type().is_ok_and(|kind| kind.is_dir());
        // A lock beside the teams is a directory, too.
        names.extend(entry.file_name().into_string().ok().filter(|name| is_team && !name.ends_with(".lock")));
    }
    names.retain(|name| !name.starts_with(TEMPORARY));
    names.sort();
    names.iter().map(|name| copy_team(&root.join(name), name, writer)).collect()
}

fn copy_team(path: &Path, name: &str, writer: &mut Writer) -> Result<BackedUpTeam, BackupError> {
    let mut target = IntoTeam { writer, folder: format!("teams/{name}"), files: 0, failed: None };
    let mut copy = ListCopy::default();
    let is_passed_over = |name: &str, found: &Metadata| {
        is_lock(name, found) || name.rsplit('/').next().is_some_and(|name| name.starts_with(TEMPORARY))
    };
    let copied = copy.add_folder(&mut target, path, &is_passed_over);
    if let Some(failed) = target.failed {
        return Err(failed);
    }
    copied?;
    Ok(BackedUpTeam {
        team: name.to_owned(),
        files: target.files,
        modes: modes_in_words(copy.modes),
        left_out: copy.left_out.into_iter().collect(),
    })
}

/// Takes a team into its folder of a backup.
struct IntoTeam<'a> {
    writer: &'a mut Writer,
    folder: String,
    files: usize,
    failed: Option<BackupError>,
}

impl ListCopyTarget for IntoTeam<'_> {
    /// A team has no journal.
    fn take_journal(&mut self, _fill: &mut dyn FnMut(&Path) -> Result<(), StoreError>) -> Result<(), StoreError> {
        Ok(())
    }

    fn take_file(&mut self, name: &str, contents: &[u8]) -> Result<(), StoreError> {
        let added = self.writer.add(&format!("{}/{name}", self.folder), contents);
        self.files += 1;
        added.map_err(|error| {
            self.failed = Some(error);
            StoreError::io("cannot back up", &self.folder)(io::ErrorKind::Other.into())
        })
    }
}
