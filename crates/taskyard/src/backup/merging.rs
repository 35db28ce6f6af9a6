//! The tasks of a list as a backup has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use taskyard_core::dialect::macf::{hidden_task_of, is_hidden_twice};
use taskyard_core::{Image, ListId, Rules, TaskId};

use super::placing::Files;
use super::{BackedUpList, BackupError, BackupSource, Dialect};
use crate::operations::TaskCopy;
use crate::store::{DocumentOptions, DocumentPaths, TeachingOptions, TeachingPaths, open_documents, open_teaching};

/// What a backup has of a list.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Its tasks, by number.
    pub(super) tasks: Vec<TaskCopy>,
    /// The names of its other files.
    pub(super) others: Vec<String>,
}

/// Reads the tasks of a list from a backup. `scratch` is a private folder in which anything may be left.
pub(super) fn copies_of(
    source: &BackupSource,
    list: &BackedUpList,
    name: &ListId,
    scratch: &Path,
) -> Result<Copies, BackupError> {
    match source.manifest().dialect {
        Dialect::Native => native(source, list),
        dialect => translated(source, list, name, dialect, scratch),
    }
}

fn native(source: &BackupSource, list: &BackedUpList) -> Result<Copies, BackupError> {
    let folder = format!("{}/files", list.folder);
    let mut tasks: BTreeMap<TaskId, TaskCopy> = BTreeMap::new();
    let mut others = Vec::new();
    let mut names: Vec<&str> = source.files_in(&folder).collect();
    // The plain name counts before a hidden one, and that before one that is hidden twice.
    names.sort_by_key(|name| (name.starts_with('.'), is_hidden_twice(name)));
    for name in names {
        let id = task_of(name).filter(|id| !tasks.contains_key(id));
        let copy = match id {
            Some(id) => {
                let image = Image::new(source.read(&format!("{folder}/{name}"))?);
                image.task(&id).ok().map(|task| (id, TaskCopy { task, image: Some(image) }))
            }
            None => None,
        };
        match copy {
            Some((id, copy)) => drop(tasks.insert(id, copy)),
            None => others.push(name.to_owned()),
        }
    }
    Ok(Copies { tasks: tasks.into_values().collect(), others })
}

/// Returns the task that a file of the client's is of, plain or hidden.
pub(super) fn task_of(name: &str) -> Option<TaskId> {
    let plain = || name.strip_suffix(".json").filter(|stem| !stem.starts_with(['.', '#']) && !stem.contains('/'));
    // A document has the name of a task and is none.
    let plain = || plain().filter(|stem| !stem.is_empty() && *stem != "tasks").and_then(|stem| stem.parse().ok());
    hidden_task_of(name).or_else(plain)
}

/// Reads the tasks of a list in another dialect by opening a copy of it.
fn translated(
    source: &BackupSource,
    list: &BackedUpList,
    name: &ListId,
    dialect: Dialect,
    scratch: &Path,
) -> Result<Copies, BackupError> {
    let folder = scratch.join("list");
    let data = scratch.join("data");
    for directory in [&folder, &data] {
        let made = crate::private::make_directory(directory);
        made.map_err(BackupError::io("cannot create", directory))?;
    }
    let files_folder = format!("{}/files", list.folder);
    let files = Files { source, folder: &files_folder, modes: &list.modes };
    files.write_all(&folder)?;
    let rules = Rules::Strict;
    let store = match dialect {
        Dialect::Document => {
            let failed = BackupError::io("cannot list", &folder);
            let document = fs::read_dir(&folder).and_then(|mut entries| entries.next().transpose()).map_err(failed)?;
            let Some(document) = document else { return Ok(Copies::default()) };
            open_documents(DocumentOptions { paths: DocumentPaths::File(document.path()), data, rules })
        }
        _ => open_teaching(TeachingOptions { paths: TeachingPaths::Folder(folder), data, rules }),
    };
    let tasks = store.read(name)?.tasks()?;
    Ok(Copies { tasks: tasks.into_iter().map(|task| TaskCopy { task, image: None }).collect(), others: Vec::new() })
}
