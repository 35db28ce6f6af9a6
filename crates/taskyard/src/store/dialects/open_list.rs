//! What a process keeps open of one list in another dialect between two operations.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard_core::{ListId, Rules};

use super::dialect_files::DialectFiles;
use super::seen_list::RestingList;
use crate::store::StoreError;
use crate::store::engine;
use crate::store::foreign_link::must_not_be_foreign;
use crate::store::journal::{canonical, sidecar_of};

/// A list in another dialect, as this process knows it.
pub(in crate::store) type OpenList<F> = engine::OpenList<DialectList<F>>;

/// The files of a list in another dialect, and what this process keeps of them.
#[derive(Debug)]
pub(in crate::store) struct DialectList<F: DialectFiles> {
    pub(super) dialect: Arc<F>,
    /// Where it is, links resolved.
    pub(super) path: PathBuf,
    /// The path that leads to it by a link, if one does.
    link: Option<PathBuf>,
    /// What the last look saw, if it can be believed for as long as the files are the same.
    remembered: Mutex<Option<RestingList<F>>>,
}

/// Names a list; nothing is opened yet.
pub(super) fn open_list<F: DialectFiles>(dialect: Arc<F>, list: ListId, data: &Path, rules: Rules) -> OpenList<F> {
    let given = dialect.path(&list);
    let path = real_path(&*dialect, &given);
    let is_linked = std::path::absolute(&given).is_ok_and(|given| given != path);
    let (sidecar, link) = (sidecar_of(data, &path), is_linked.then_some(given));
    OpenList::new(list, rules, Some(sidecar), DialectList { link, ..DialectList::at(dialect, path) })
}

impl<F: DialectFiles> DialectList<F> {
    /// Names the files at a path without links.
    pub(super) fn at(dialect: Arc<F>, path: PathBuf) -> Self {
        Self { dialect, path, link: None, remembered: Mutex::new(None) }
    }

    /// Fails if the list is behind a link to a directory of another user.
    pub(super) fn must_not_be_foreign(&self) -> Result<(), StoreError> {
        let Some(directory) = self.link.as_ref().map(|link| self.dialect.directory(link)) else { return Ok(()) };
        must_not_be_foreign(directory.ancestors().take(3)).map_err(StoreError::io("cannot use", directory))
    }

    /// Returns what the last look at the list at rest saw.
    pub(super) fn remembered(&self) -> MutexGuard<'_, Option<RestingList<F>>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns where a list is with the links of its directories resolved. A link in the place of its only file is not.
fn real_path(dialect: &impl DialectFiles, path: &Path) -> PathBuf {
    let directory = dialect.directory(path);
    match path.file_name().filter(|_| directory != path) {
        Some(name) => canonical(directory).join(name),
        None => canonical(path),
    }
}
