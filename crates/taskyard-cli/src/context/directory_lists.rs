//! Which list a directory has by its repository, its package or its name.
//!
//! A repository has one list, in every worktree and subdirectory. Nothing that has tasks moves: a directory whose list was another one before,
//! and has tasks, keeps it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskyard::core::ListId;
use taskyard::core::rules::lists::list_choice::Reason;
use taskyard::machine::{Checkout, ListUse, Machine, MachineError, Recording, RepositoryList};

use super::list_sources::DirectoryLists;
use super::recorder::{Recorder, UseOfList, has_tasks};
use super::{Context, once};
use crate::candidates::{name_of, nearest_package, package_name};
use crate::output::Output;
use crate::places;
use crate::problem::Problem;

impl Context {
    /// Returns what names the list of the directory.
    pub(super) fn directory_lists(&self) -> Result<&DirectoryLists, Problem> {
        once(&self.directory_lists, || self.look_at_directory())
    }

    fn look_at_directory(&self) -> Result<DirectoryLists, Problem> {
        let directory = self.directory()?;
        let machine = self.machine()?;
        let bound = |path: &Path| {
            let found = machine.map(|machine| self.if_known(machine.binding(path))).transpose();
            found.map(|found| found.flatten().flatten())
        };
        let binding = bound(directory)?;
        let Some(checkout) = self.checkout() else {
            let package = nearest_package(directory).map(|(place, name)| (place.to_owned(), name));
            return Ok(DirectoryLists { binding, package, folder_name: name_of(directory), ..Default::default() });
        };
        let package = [&checkout.root, &checkout.top].into_iter().find_map(|at| Some((at.clone(), package_name(at)?)));
        let folder_name = repository_name(checkout);
        let mut lists = DirectoryLists { binding, package, folder_name, ..Default::default() };
        let name = lists.own_name().map_or("default", String::as_str);
        let store = self.address()?.to_string();
        let has_tasks = |list: &str| self.has_tasks(list);
        let repository = match machine {
            Some(machine) => self.if_known(machine.list_of_repository(checkout, name, &store, &has_tasks))?,
            None => None,
        };
        let repository = repository.unwrap_or_else(|| RepositoryList::first(name));
        if lists.binding.is_none() {
            lists.kept = self.kept_list(checkout, &repository, machine, &store)?;
        }
        if lists.binding.is_none() && lists.kept.is_none() {
            let in_main = checkout.in_main(directory).filter(|_| checkout.is_worktree());
            lists.binding = in_main.map(|path| bound(&path)).transpose()?.flatten();
        }
        if let (None, None, Some(was)) = (&lists.binding, &lists.kept, &repository.moved_from) {
            lists.binding =
                bound(&checkout.moved_to(directory, was))?.filter(|binding| binding.directory.starts_with(was));
        }
        Ok(DirectoryLists { repository: Some(repository), ..lists })
    }

    /// Returns the list that the directory had when a worktree and a package each had one of their own, and the directory that had it; `None` if
    /// that is the repository's, has no tasks, or is another repository's.
    fn kept_list(
        &self,
        checkout: &Checkout,
        own: &RepositoryList,
        machine: Option<&Machine>,
        store: &str,
    ) -> Result<Option<(PathBuf, String)>, Problem> {
        let package = nearest_package(self.directory()?);
        let (place, before) = match package {
            Some((place, name)) if place.starts_with(&checkout.top) => (place, Some(name)),
            Some((_, name)) => (checkout.top.as_path(), Some(name)),
            None => (checkout.top.as_path(), name_of(&checkout.top)),
        };
        let Some(before) = before.filter(|before| *before != own.list) else { return Ok(None) };
        // The root of a repository that was renamed has a name that it did not have before.
        if own.is_recorded && place == checkout.top && !checkout.is_worktree() {
            return Ok(None);
        }
        if let Some(machine) = machine {
            let used = self.if_known(machine.list_used_in(place))?.flatten();
            if used.is_some() || self.if_known(machine.is_of_another(checkout, &before, store))? == Some(true) {
                return Ok(None);
            }
        }
        Ok(self.has_tasks(&before).then(|| (place.to_owned(), before)))
    }

    /// Returns the directories that use a list of the store, by path.
    pub(crate) fn directories_of(&self, list: &ListId) -> Result<BTreeSet<PathBuf>, Problem> {
        let store = self.address()?.to_string();
        Ok(self.machine()?.map(|machine| machine.directories_of(list, Some(&store))).transpose()?.unwrap_or_default())
    }

    /// Returns the repositories that have a list of the store, by path.
    pub(crate) fn repositories_of(&self, list: &ListId) -> Result<BTreeSet<PathBuf>, Problem> {
        let store = self.address()?.to_string();
        Ok(self.machine()?.map(|machine| machine.repositories_of(list, Some(&store))).transpose()?.unwrap_or_default())
    }

    /// Reads the machine's database. Where a newer Taskyard wrote it, a command that only shows files takes it for a hint: what was recorded
    /// before is still to be found there.
    pub(super) fn machine(&self) -> Result<Option<&Machine>, Problem> {
        let found = once(&self.machine, || {
            let Ok(data) = places::data(&self.environment) else { return Ok(None) };
            Ok(match self.without_newer(Machine::read(&data))? {
                Some(machine) => machine,
                None => Machine::glance(&data),
            })
        })?;
        Ok(found.as_ref())
    }

    /// Returns what the machine's database says, or `None` if a newer Taskyard wrote it, the command does without, and the question makes no sense
    /// there any more.
    pub(super) fn if_known<T>(&self, answer: Result<T, MachineError>) -> Result<Option<T>, Problem> {
        match answer {
            Err(error) if self.does_without_newer() => {
                tracing::debug!(%error, "not known from a newer database");
                Ok(None)
            }
            answer => Ok(Some(answer?)),
        }
    }

    /// Tells whether a list has tasks. One that cannot be looked at counts as one that has.
    pub(super) fn has_tasks(&self, name: &str) -> bool {
        let list = match places::data(&self.environment) {
            Ok(data) => Machine::list_named(&data, name, Recording::Nothing).ok(),
            Err(_) => ListId::new(name).ok(),
        };
        let (Some(list), Ok(address), Ok(places)) = (list, self.address(), self.places()) else { return false };
        has_tasks(address, places, &list, || self.store().ok())
    }

    /// Returns what records at the first write that the directory uses its list; `None` if a flag, a variable, a team or a session chose it.
    pub(super) fn recorder(&self) -> Result<Option<Recorder>, Problem> {
        once(&self.recorder, || {
            let (choice, data) = (self.choice()?, places::data(&self.environment));
            let (true, Ok(data), Ok(directory)) = (choice.reason.is_of_directory(), data, self.directory()) else {
                return Ok(None);
            };
            let lists = self.directory_lists()?;
            let place = match (choice.reason, lists) {
                (Reason::Kept, DirectoryLists { kept: Some((place, _)), .. }) => place,
                (Reason::Binding, DirectoryLists { binding: Some(binding), .. }) => &binding.directory,
                (_, DirectoryLists { package: Some((place, _)), repository: None, .. }) => place,
                _ => self.project().unwrap_or(directory),
            };
            let address = self.address()?.clone();
            let used = ListUse {
                directory: place.to_owned(),
                checkout: self.checkout().cloned(),
                list: choice.list.as_str().to_owned(),
                store: address.to_string(),
                of_repository: lists.repository.as_ref().map(|repository| repository.list.clone()),
                binds: choice.reason == Reason::Kept,
            };
            let store = Arc::clone(&self.opened()?.store);
            let (places, note) = (self.places()?.clone(), lists.note(&choice));
            let use_of_list = UseOfList { data, used, list: choice.list, address, places, store, note };
            Ok(Some(Recorder::of(use_of_list)))
        })
        .cloned()
    }

    /// Returns what records, before a write to a list, that the directory uses it; `None` if a flag, a variable, a team or a session chose it.
    #[cfg(feature = "server")]
    pub(crate) fn before_writing(&self) -> Result<Option<taskyard_server::BeforeWriting>, Problem> {
        let recorder = self.recorder()?;
        Ok(recorder
            .map(|recorder| -> taskyard_server::BeforeWriting { Arc::new(move |list: &ListId| recorder.record(list)) }))
    }

    /// Records the list of the directory before a command makes tasks in it. Returns the context to go on with, if another repository was given
    /// the list since it was chosen.
    pub(crate) fn claim_list(&self, output: &mut Output) -> Result<Option<Self>, Problem> {
        if self.try_record()? {
            return Ok(None);
        }
        loop {
            let again = Self { written: self.written.clone(), ..self.reloaded() };
            if again.try_record()? {
                again.tell_of_list(output);
                return Ok(Some(again));
            }
        }
    }

    fn try_record(&self) -> Result<bool, Problem> {
        let Some(recorder) = self.recorder()? else { return Ok(true) };
        Ok(recorder.try_record(&self.choice()?.list).map_err(taskyard::Error::from)?)
    }

    /// Binds the directory to the list that it keeps, and tells what was recorded of its list. Each of it is told once. Whatever fails here, the
    /// command has done what it was asked for.
    pub(crate) fn tell_of_list(&self, output: &mut Output) {
        let keeps = self.choice.get().filter(|choice| choice.reason == Reason::Kept);
        if let Some(choice) = keeps
            && let Ok(Some(recorder)) = self.recorder()
            && let Err(error) = recorder.record(&choice.list)
        {
            tracing::debug!(%error, "the directory is bound to its list another time");
        }
        let notes = self.recorder.get().and_then(Option::as_ref).map(Recorder::take_notes).unwrap_or_default();
        for note in notes {
            output.note(&note).unwrap_or_else(|error| tracing::debug!(%error, "cannot be told"));
        }
    }
}

/// Returns the name of a repository's folder. The folder of a bare one has an ending, or is hidden in the project's.
fn repository_name(checkout: &Checkout) -> Option<String> {
    let name = name_of(&checkout.root)?;
    match name.strip_suffix(".git") {
        Some("") => checkout.root.parent().and_then(name_of),
        Some(name) if checkout.root == checkout.common => Some(name.to_owned()),
        _ => Some(name),
    }
}
