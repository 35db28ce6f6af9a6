//! What can name the list of a directory besides flags and variables.

use std::path::PathBuf;

use taskyard::config::ConfigWarning;
use taskyard::core::rules::lists::list_choice::{Candidates, Choice, Reason};
use taskyard::machine::{Binding, RepositoryList};

/// The sources of a directory's list if no flag, variable or setting names one.
#[derive(Debug, Default)]
pub(super) struct DirectoryLists {
    pub(super) binding: Option<Binding>,
    /// The list that the directory, or the one above it that is named here, had before.
    pub(super) kept: Option<(PathBuf, String)>,
    pub(super) repository: Option<RepositoryList>,
    /// The directory that has a package, and the name of that.
    pub(super) package: Option<(PathBuf, String)>,
    pub(super) folder_name: Option<String>,
}

impl DirectoryLists {
    /// Adds them to what else could name the list.
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

    /// Returns the name that the repository, or outside of git the directory, goes by.
    pub(super) fn own_name(&self) -> Option<&String> {
        self.package.as_ref().map(|(_, name)| name).or(self.folder_name.as_ref())
    }

    /// Returns what the user is told once when the choice is recorded.
    pub(super) fn note(&self, choice: &Choice) -> Option<String> {
        let repository = self.repository.as_ref()?;
        match (choice.reason, &self.kept, &repository.beside) {
            (Reason::Kept, Some((place, list)), _) => Some(format!(
                "`{}` keeps list {list}, which has tasks; the list of its repository is {own}: `taskyard merge {list} {own}` and \
                 `taskyard use {own}` unite them",
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

/// What the client's settings files say of the list.
#[derive(Debug, Default)]
pub(super) struct SettingsList {
    /// The name of the list.
    pub(super) list: Option<String>,
    /// What does not count.
    pub(super) warnings: Vec<ConfigWarning>,
}
