//! The sources of a directory's list, and the record that a directory uses it.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use serde_json::Value;
use taskyard::config::{Config, ConfigWarning};
use taskyard::core::ListId;
use taskyard::core::rules::lists::{Candidates, Choice, Reason, short_session_list};
use taskyard::machine::{Binding, ListUse, Machine, MachineError, Recording, RepositoryList, UseRecorded};
use taskyard::opening::{Address, Places};
use taskyard::store::{Cause, Store, StoreError};

use crate::environment::Environment;
use crate::places;

/// The sources of a directory's list if no flag, variable or setting names one.
#[derive(Debug, Default)]
pub(super) struct DirectoryLists {
    pub(super) binding: Option<Binding>,
    /// The list that the directory, or the parent directory named here, had before.
    pub(super) kept: Option<(PathBuf, String)>,
    pub(super) repository: Option<RepositoryList>,
    /// The directory of the package, and the package's name.
    pub(super) package: Option<(PathBuf, String)>,
    pub(super) folder_name: Option<String>,
}

impl DirectoryLists {
    /// Adds these sources to the other candidates.
    pub(super) fn add_to(&self, candidates: &mut Candidates) {
        candidates.binding = self.binding.as_ref().map(|binding| binding.list.clone());
        candidates.kept = self.kept.as_ref().map(|(_, list)| list.clone());
        candidates.package_name = self.package.as_ref().map(|(_, name)| name.clone());
        match &self.repository {
            Some(repository) => {
                candidates.git_folder.clone_from(&self.folder_name);
                candidates.repository = (self.own_name() != Some(&repository.list)).then(|| repository.list.clone());
            }
            None => candidates.directory.clone_from(&self.folder_name),
        }
    }

    /// Returns the default name of the repository or, outside of git, of the directory.
    pub(super) fn own_name(&self) -> Option<&String> {
        self.package.as_ref().map(|(_, name)| name).or(self.folder_name.as_ref())
    }

    /// Returns the note shown once when the choice is recorded.
    pub(super) fn note(&self, choice: &Choice) -> Option<String> {
        let repository = self.repository.as_ref()?;
        match (choice.reason, &self.kept, &repository.beside) {
            (Reason::Kept, Some((place, list)), _) => Some(format!(
                "`{}` keeps list {list}, which has tasks; the list of its repository is {own}: combine them with `taskyard \
                 merge {list} {own}` and `taskyard use {own}`",
                place.display(),
                own = repository.list,
            )),
            (Reason::Repository, _, Some(beside)) => Some(format!(
                "this repository has list {}: `{}` has {}",
                repository.list,
                beside.display(),
                self.own_name()?,
            )),
            _ => None,
        }
    }
}

/// The list named in the client's settings files.
#[derive(Debug, Default)]
pub(super) struct SettingsList {
    pub(super) list: Option<String>,
    /// Settings that were ignored.
    pub(super) warnings: Vec<ConfigWarning>,
}

/// A `package.json` larger than this is not read.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Returns what the flag and the variables name. If that is enough, no other source is read.
pub(crate) fn said(flag: Option<&String>, environment: &Environment) -> Candidates {
    Candidates {
        flag: flag.cloned(),
        taskyard_list: environment.list.clone(),
        client_list: environment.client_list.clone(),
        session: environment.client_session.clone(),
        ..Candidates::default()
    }
}

/// Returns whether these sources already determine the list.
pub(crate) fn is_enough(candidates: &Candidates) -> bool {
    candidates.flag.is_some() || candidates.taskyard_list.is_some() || candidates.client_list.is_some()
}

/// Adds the configured list and the lists of the session.
pub(crate) fn look_around(candidates: &mut Candidates, environment: &Environment, config: &Config) {
    candidates.config = config.list().map(|(list, _)| list.to_owned());
    let client = places::client_config(environment).ok();
    if let (Some(session), Some(client)) = (&candidates.session, &client) {
        let exists =
            |name: &str| ListId::new(name).is_ok_and(|list| client.join("tasks").join(list.directory()).is_dir());
        candidates.session_list_exists = exists(session);
        candidates.short_session_list_exists = exists(&short_session_list(session));
    }
}

/// Returns the names of the directory's project: of its packages, root and repository.
pub(crate) fn project_names(directory: Option<&Path>, project: Option<&Path>, root: Option<&Path>) -> Vec<String> {
    let package = directory.and_then(nearest_package).map(|(_, name)| name);
    let of_root = project.and_then(package_name);
    [package, of_root, project.and_then(name_of), root.and_then(name_of)].into_iter().flatten().collect()
}

/// Returns the nearest directory, this one or a parent, that has a named package, and the name.
pub(crate) fn nearest_package(directory: &Path) -> Option<(&Path, String)> {
    directory.ancestors().find_map(|above| package_name(above).map(|name| (above, name)))
}

/// Returns the name of the package in exactly this directory.
pub(crate) fn package_name(directory: &Path) -> Option<String> {
    let package = json(&directory.join("package.json"))?;
    package.get("name")?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn json(path: &Path) -> Option<Value> {
    let size = fs::metadata(path).ok()?;
    if !size.is_file() || size.len() > LARGEST || is_open_to_all(path.parent()?) {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Returns whether every user can write to a directory, such as `/tmp`. Its files may not name a user's list.
fn is_open_to_all(directory: &Path) -> bool {
    #[cfg(unix)]
    let is_open = |found: fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o002 != 0;
    #[cfg(not(unix))]
    let is_open = |_: fs::Metadata| false;
    fs::metadata(directory).is_ok_and(is_open)
}

pub(crate) fn name_of(directory: &Path) -> Option<String> {
    directory.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// Records, on the first write, that a directory uses its list.
#[derive(Clone, Debug)]
pub(super) struct Recorder(Arc<(UseOfList, Mutex<Record>)>);

#[derive(Debug, Default)]
struct Record {
    is_made: bool,
    notes: Vec<String>,
}

/// The use of a list to be recorded.
#[derive(Debug)]
pub(super) struct UseOfList {
    pub(super) data: PathBuf,
    pub(super) used: ListUse,
    pub(super) list: ListId,
    pub(super) address: Address,
    pub(super) places: Places,
    pub(super) store: Arc<dyn Store>,
    /// The note shown to the user once it is recorded.
    pub(super) note: Option<String>,
}

impl Recorder {
    pub(super) fn of(used: UseOfList) -> Self {
        Self(Arc::new((used, Mutex::default())))
    }

    /// Records the use if this is the directory's list and it is not recorded yet. Fails if another repository took
    /// the list.
    pub(super) fn record(&self, list: &ListId) -> Result<(), StoreError> {
        match self.try_record(list)? {
            true => Ok(()),
            false => Err(self
                .0
                .0
                .failed("another repository was given that name just now; run the command again".to_owned().into())),
        }
    }

    /// Records the use likewise, and tells whether the list is still to be had.
    pub(super) fn try_record(&self, list: &ListId) -> Result<bool, StoreError> {
        let (use_of_list, record) = &*self.0;
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        if record.is_made || *list != use_of_list.list {
            return Ok(true);
        }
        let Some(notes) = use_of_list.record()? else { return Ok(false) };
        record.notes.extend(notes);
        record.is_made = true;
        Ok(true)
    }

    /// Returns what the user should know of what was recorded, each of it once.
    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.0.1.lock().unwrap_or_else(PoisonError::into_inner).notes)
    }
}

impl UseOfList {
    /// Records the use, and returns what the user should know of it; `None` if the list is another repository's by now.
    fn record(&self) -> Result<Option<Vec<String>>, StoreError> {
        let has_tasks = |name: &str| {
            let list = Machine::list_named(&self.data, name, Recording::Nothing);
            list.is_ok_and(|list| has_tasks(&self.address, &self.places, &list, || Some(Arc::clone(&self.store))))
        };
        let recorded = Machine::record_use(&self.data, &self.used, &has_tasks).unwrap_or_else(|error| {
            // The tasks count for more than the record, which the next write makes.
            tracing::warn!(%error, list = %self.list, "cannot record the use of a list");
            UseRecorded::Before
        });
        match recorded {
            UseRecorded::Before => return Ok(Some(Vec::new())),
            UseRecorded::Now => {}
            UseRecorded::Taken => return Ok(None),
        }
        let mut notes: Vec<String> = self.note.iter().cloned().collect();
        let shared_with = self.shared_with().unwrap_or_else(|error| {
            tracing::debug!(%error, list = %self.list, "the directories that share a list are unknown");
            None
        });
        notes.extend(shared_with.map(|other| {
            let list = &self.list;
            let other = other.display();
            format!("this repository shares list {list} with `{other}`, as before; `taskyard use LIST` gives it its own list")
        }));
        for note in &notes {
            tracing::info!("{note}");
        }
        Ok(Some(notes))
    }

    /// Returns the root of another repository that has the same list.
    fn shared_with(&self) -> Result<Option<PathBuf>, MachineError> {
        let (Some(checkout), Some(list)) = (&self.used.checkout, &self.used.of_repository) else { return Ok(None) };
        let (Some(machine), true) = (Machine::look(&self.data)?, *list == self.used.list) else { return Ok(None) };
        let mut sharing = machine.repositories_of(&self.list, Some(&self.used.store))?;
        sharing.remove(&checkout.root);
        Ok(sharing.pop_first())
    }

    fn failed(&self, source: Cause) -> StoreError {
        StoreError::Failed { doing: format!("record the use of list `{}`", self.list), source }
    }
}

/// Tells whether a list has tasks. One that cannot be looked at counts as one that has.
pub(super) fn has_tasks(
    address: &Address,
    places: &Places,
    list: &ListId,
    store: impl FnOnce() -> Option<Arc<dyn Store>>,
) -> bool {
    let directory = match address {
        Address::Claude | Address::File(_) => address.path_of_list(list, places),
        _ => None,
    };
    let Some(directory) = directory else {
        return store().is_some_and(|store| store.has(list).unwrap_or(true));
    };
    match fs::read_dir(&directory) {
        Ok(mut entries) => {
            entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().ends_with(b".json")))
        }
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

/// What is done about databases that a newer Taskyard wrote.
#[derive(Debug, Default)]
pub(super) struct NewerDatabases {
    /// Whether the command does without them.
    pub(super) are_done_without: Cell<bool>,
    /// What is to be told of those that it did without.
    pub(super) met: RefCell<Vec<String>>,
}
