//! Taking everything into a backup.

use std::path::{Path, PathBuf};

use taskyard_core::ListId;

use super::keeper::Keeper;
use super::manifest::modes_in_words;
use super::team_folders::copy_teams;
use super::writer::Writer;
use super::{BackedUpList, BackupError, Manifest, Overwriting};
use crate::failpoint::reach;
use crate::machine::copy_machine;
use crate::opening::{Address, Places};
use crate::process::Cancel;
use crate::sqlite::DatabaseError;
use crate::store::{ListCopy, ListCopyTarget, Store, StoreError};
use crate::teams::copy_team_memory;
use crate::{Error, clock};

/// What is to be backed up, and where.
#[derive(Debug)]
pub struct BackUp<'a> {
    /// The lists.
    pub store: &'a dyn Store,
    /// The address of the store.
    pub address: &'a Address,
    /// Where things are on this machine.
    pub places: &'a Places,
    /// Where the backup comes: an archive where the name ends with `.tar`, else a folder.
    pub place: &'a Path,
    /// What becomes of one that is there.
    pub overwriting: Overwriting,
    /// What ends the work; nothing of it stays then.
    pub cancel: &'a Cancel,
}

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackedUp {
    /// What is in it.
    pub manifest: Manifest,
    /// How large it is.
    pub bytes: u64,
    /// Whether it is an archive.
    pub is_archive: bool,
}

/// Makes a backup, whole or not at all. Each list is as it was at one moment, even while writers are at work. `progress` is told how many
/// of how many lists are copied.
pub fn back_up(what: &BackUp<'_>, progress: &mut dyn FnMut(usize, usize)) -> Result<BackedUp, BackupError> {
    let (dialect, keeper) = Keeper::of(what.store, what.address)?;
    must_be_elsewhere(what)?;
    let mut writer = Writer::begin(what.place, what.overwriting)?;
    let is_archive = writer.is_archive();
    let at = clock::now();
    let lists = keeper.lists(what.store)?;
    let mut copied = Vec::with_capacity(lists.len());
    for (place, list) in lists.iter().enumerate() {
        progress(place, lists.len());
        copied.push(copy_list((keeper, what.address), list, &mut writer, what.cancel)?);
        reach("backup: a list is copied");
    }
    progress(lists.len(), lists.len());
    // Our memory before the files: a message that comes meanwhile is delivered once more, and none is lost.
    let data = what.places.data.as_deref();
    // What this machine remembers belongs to its files, and to no database.
    if let Some(data) = data.filter(|_| matches!(keeper, Keeper::Files(_))) {
        add_memory(data, &mut writer)?;
    }
    let teams_place = what.address.teams_directory(what.places);
    let teams = match &teams_place {
        Some(root) => copy_teams(root, &mut writer)?,
        None => Vec::new(),
    };
    reach("backup: teams are copied");
    let teams_place = teams_place.map(|root| std::fs::canonicalize(&root).unwrap_or(root));
    let teams_place = teams_place.map(|root| root.display().to_string());
    let manifest = Manifest { teams_place, teams, ..Manifest::of_lists(what.address, dialect, at, copied) };
    let bytes = writer.finish(&manifest)?;
    Ok(BackedUp { manifest, bytes, is_archive })
}

/// Fails where a backup would come to lie among what it is made of, and be taken for a list or a team.
fn must_be_elsewhere(what: &BackUp<'_>) -> Result<(), BackupError> {
    let (address, places) = (what.address, what.places);
    let folders = [places.data.clone(), address.tasks_directory(places), address.teams_directory(places)];
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let place = what.place.parent().map(real).unwrap_or_default();
    match folders.into_iter().flatten().find(|folder| place.starts_with(real(folder))) {
        Some(within) => Err(BackupError::Within { path: what.place.to_owned(), within }),
        None => Ok(()),
    }
}

/// Copies a list into its folder of a backup.
pub(super) fn copy_list(
    (keeper, address): (Keeper<'_>, &Address),
    list: &ListId,
    writer: &mut Writer,
    cancel: &Cancel,
) -> Result<BackedUpList, BackupError> {
    let folder = format!("lists/{}", list.directory());
    let mut target = IntoFolder { writer, cancel, folder: &folder, files: 0, has_journal: false, failed: None };
    let copied = keeper.copy_out(list, &mut target);
    let IntoFolder { files, has_journal, failed, .. } = target;
    if let Some(failed) = failed {
        return Err(failed);
    }
    // One list that cannot be read is told of, and does not keep the others from being saved.
    let copy = copied.unwrap_or_else(|error| ListCopy {
        exists: true,
        has_journal,
        journal_problem: Some(error.to_string()),
        ..ListCopy::default()
    });
    Ok(BackedUpList {
        list: list.as_str().to_owned(),
        path: keeper.place_of(list, address),
        revision: copy.revision.0,
        exists: copy.exists,
        journal: copy.has_journal,
        files,
        journal_problem: copy.journal_problem,
        modes: modes_in_words(copy.modes),
        left_out: copy.left_out.into_iter().collect(),
        folder,
    })
}

/// Copies what this machine remembers besides its lists: of teams, and of itself.
fn add_memory(data: &Path, writer: &mut Writer) -> Result<(), BackupError> {
    for (name, copy) in [("teams.sqlite", copy_team_memory as CopyMemory), ("machine.sqlite", copy_machine)] {
        let scratch = writer.scratch(name)?;
        if copy(data, &scratch)? {
            writer.add_scratch(name, &scratch)?;
        }
    }
    Ok(())
}

/// Copies a database of a data directory into a new file; tells whether there is one.
type CopyMemory = fn(&Path, &Path) -> Result<bool, DatabaseError>;

/// Takes a list into its folder of a backup.
struct IntoFolder<'a> {
    writer: &'a mut Writer,
    cancel: &'a Cancel,
    folder: &'a str,
    files: usize,
    has_journal: bool,
    /// What went wrong with the backup itself; the store learns only that something did.
    failed: Option<BackupError>,
}

impl IntoFolder<'_> {
    fn must_go_on(&mut self) -> Result<(), StoreError> {
        if self.cancel.is_cancelled() { Err(self.stopped(Error::Cancelled.into())) } else { Ok(()) }
    }

    fn stopped(&mut self, error: BackupError) -> StoreError {
        let path = PathBuf::from(self.folder);
        self.failed = Some(error);
        StoreError::io("cannot back up", path)(std::io::ErrorKind::Other.into())
    }
}

impl ListCopyTarget for IntoFolder<'_> {
    fn take_journal(&mut self, fill: &mut dyn FnMut(&Path) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.must_go_on()?;
        let name = format!("{}/journal.sqlite", self.folder);
        let scratch = self.writer.scratch(&name).map_err(|error| self.stopped(error))?;
        fill(&scratch)?;
        self.writer.add_scratch(&name, &scratch).map_err(|error| self.stopped(error))?;
        self.has_journal = true;
        Ok(())
    }

    fn take_file(&mut self, name: &str, contents: &[u8]) -> Result<(), StoreError> {
        self.must_go_on()?;
        let full_name = format!("{}/files/{name}", self.folder);
        self.writer.add(&full_name, contents).map_err(|error| self.stopped(error))?;
        self.files += 1;
        if self.files == 1 {
            reach("backup: a file is copied");
        }
        Ok(())
    }
}
