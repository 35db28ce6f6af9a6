//! Choosing the list, by the acting agent and the directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskyard::config::{ConfigWarning, Origin};
use taskyard::core::near_words::nearest;
use taskyard::core::rules::lists;
use taskyard::core::rules::lists::{Candidates, Choice, Reason};
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::hooks::task_list_in;
use taskyard::machine::{Checkout, ListUse, Machine, MachineError, Recording, RepositoryList};
use taskyard::opening::Address;
use taskyard::teams::ChosenBy;

use super::list_sources::{DirectoryLists, SettingsList};
use super::{Context, once};
use crate::context::list_sources;
use crate::context::list_sources::{Recorder, UseOfList, has_tasks, name_of, nearest_package, package_name};
use crate::exit::{Problem, ProblemKind};
use crate::output::Output;
use crate::places;

impl Context {
    /// Returns the chosen list and the reason.
    pub(crate) fn choice(&self) -> Result<Choice, Problem> {
        once(&self.choice, || self.choose(self.globals.list.as_ref())).cloned()
    }

    /// Returns the list that `--list` names, if any.
    pub(crate) fn named_list(&self) -> Result<Option<ListId>, Problem> {
        self.globals.list.as_deref().map(|name| self.list_named(name)).transpose()
    }

    /// Resolves a list name given by a person or a program. All such names are resolved here.
    pub(crate) fn list_named(&self, name: &str) -> Result<ListId, Problem> {
        match places::data(&self.environment) {
            Ok(data) => Ok(Machine::list_named(&data, name, Recording::Keeps)?),
            Err(_) => Ok(ListId::new(name)?),
        }
    }

    /// Returns the original names of lists whose directory has another name, keyed by directory.
    pub(crate) fn list_names(&self) -> Result<BTreeMap<String, String>, Problem> {
        let names = self.machine()?.map(|machine| self.if_known(machine.list_names())).transpose()?;
        Ok(names.flatten().unwrap_or_default())
    }

    /// Resolves the name of a chosen list, including the list of the branch if each branch has its own.
    fn meant(&self, choice: Choice) -> Result<Choice, Problem> {
        if let Some(name) = self.name_on_branch(&choice)? {
            return Ok(Choice { list: self.list_of_branch(&name)?, ..choice });
        }
        let name = choice.list.as_str();
        let list = match (choice.reason.is_of_client(), places::data(&self.environment)) {
            (false, _) => self.list_named(name)?,
            (true, Ok(data)) => Machine::client_list_named(&data, name)?,
            (true, Err(_)) => return Ok(choice),
        };
        Ok(Choice { list, ..choice })
    }

    /// Returns the name of a repository's list on the current branch, or `None` if the plain name applies. A list
    /// chosen by a flag, a variable, the client, a team or a binding is the same on all branches.
    fn name_on_branch(&self, choice: &Choice) -> Result<Option<String>, Problem> {
        let is_of_repository =
            matches!(choice.reason, Reason::Config | Reason::Repository | Reason::PackageName | Reason::GitFolder);
        let Some(checkout) = self.checkout().filter(|_| is_of_repository) else { return Ok(None) };
        if !self.config()?.is_per_branch() {
            return Ok(None);
        }
        Ok(checkout.side_branch().map(|branch| format!("{}@{branch}", choice.list.as_str())))
    }

    /// Returns the list of a branch. If another list already occupies the directory of that name, the branch gets a
    /// different one, except on a shared store: there, another machine's clone may have created it, and only that
    /// machine has recorded the name.
    pub(crate) fn list_of_branch(&self, name: &str) -> Result<ListId, Problem> {
        let Ok(data) = places::data(&self.environment) else { return Ok(ListId::new(name)?) };
        let list = ListId::new(name)?;
        let is_recorded = self.list_names()?.values().any(|known| known == name);
        let is_shared = matches!(self.address()?, Address::Remote(_));
        if !is_shared && !is_recorded && self.has_tasks(list.directory()) {
            return Ok(Machine::list_named_apart(&data, name, Recording::Keeps)?);
        }
        Ok(Machine::list_named(&data, name, Recording::Keeps)?)
    }

    fn choose(&self, flag: Option<&String>) -> Result<Choice, Problem> {
        self.choose_with(flag, |candidates, rules| self.look_for_team(candidates, rules))
    }

    /// Returns the list that is chosen without considering teams.
    pub(crate) fn list_without_team(&self) -> Result<ListId, Problem> {
        Ok(self.choose_with(self.globals.list.as_ref(), |_, _| Ok(()))?.list)
    }

    fn choose_with(
        &self,
        flag: Option<&String>,
        look_for_team: impl FnOnce(&mut Candidates, Rules) -> Result<(), Problem>,
    ) -> Result<Choice, Problem> {
        let rules = self.rules()?;
        let mut candidates = list_sources::said(flag, &self.environment);
        if !list_sources::is_enough(&candidates) {
            candidates.settings.clone_from(&self.settings_list()?.list);
            look_for_team(&mut candidates, rules)?;
            list_sources::look_around(&mut candidates, &self.environment, self.config()?);
            self.directory_lists()?.add_to(&mut candidates);
            if *self.address()? == Address::Documents {
                candidates = candidates.of_the_project();
            }
        }
        self.meant(lists::choose(&candidates, rules)?)
    }

    /// Returns the list that the acting agent uses here after creating or joining a team, ignoring `--list`.
    pub(crate) fn list_of_member(&self) -> Result<ListId, Problem> {
        Ok(self.choose(None)?.list)
    }

    /// Returns the list of the directory itself and the reason: the one used here without any flags, variables, teams
    /// or sessions.
    pub(crate) fn list_of_directory(&self) -> Result<Choice, Problem> {
        // No lookup is needed if that is the chosen list.
        if let Some(choice) = self.choice.get().filter(|choice| choice.reason.is_of_directory()) {
            return Ok(choice.clone());
        }
        let look = || {
            let mut candidates = Candidates { settings: self.settings_list()?.list.clone(), ..Candidates::default() };
            list_sources::look_around(&mut candidates, &self.environment, self.config()?);
            self.directory_lists()?.add_to(&mut candidates);
            self.meant(lists::choose(&candidates, Rules::Strict)?)
        };
        once(&self.list_of_directory, look).cloned()
    }

    /// Returns the agent named by the client's team environment, if teams are enabled there. A name given by a flag
    /// does not count: subagents have such names, and agents of unrelated projects may share one.
    pub(super) fn client_teammate(&self) -> Option<AgentName> {
        let is_on = self.environment.client_teams == Some(true) && self.globals.agent.is_none();
        let named = self.environment.agent.as_deref().filter(|_| is_on).and_then(|name| AgentName::new(name).ok());
        named.or_else(|| self.session_agent().filter(|_| is_on))
    }

    /// Looks for the list of the team that the acting agent or person leads or has joined here. The client's rules
    /// allow no person in a team.
    fn look_for_team(&self, candidates: &mut Candidates, rules: Rules) -> Result<(), Problem> {
        let is_agent = self.named_agent().is_some() || self.session_agent().is_some();
        if (rules.is_client() && !is_agent) || !self.has_teams(rules) {
            return Ok(());
        }
        // Most machines have no team, and people query their list often.
        let Some(teams) = self.teams().ok().filter(|teams| is_agent || teams.are_any()) else { return Ok(()) };
        let chosen = match self.without_newer(teams.chosen_seat(&self.actor()?)) {
            // Unreadable files of a team must not keep a person from the directory's list.
            Err(_) if !is_agent => None,
            chosen => chosen?.flatten(),
        };
        let Some(chosen) = chosen else { return Ok(()) };
        let list = teams.list_of(&chosen.seat.team.name).ok().map(|list| list.as_str().to_owned());
        match chosen.by {
            ChosenBy::Client => candidates.client_team = list,
            ChosenBy::Directory => candidates.team = list,
        }
        Ok(())
    }
}

impl Context {
    /// Returns the sources of the directory's list.
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
        let [root, top] = [&checkout.root, &checkout.top];
        let tops = std::iter::once(root).chain((top != root).then_some(top));
        let package = tops.into_iter().find_map(|at| Some((at.clone(), package_name(at)?)));
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

    /// Returns the directory and list from the time when every worktree and package had its own list. Returns `None`
    /// if that list is the repository's, has no tasks, or belongs to another repository.
    fn kept_list(
        &self,
        checkout: &Checkout,
        own: &RepositoryList,
        machine: Option<&Machine>,
        store: &str,
    ) -> Result<Option<(PathBuf, String)>, Problem> {
        let inner = self.directory()?.ancestors().take_while(|above| *above != checkout.top);
        let inner = inner.into_iter().find_map(|above| Some((above, package_name(above)?)));
        // The root of a renamed repository had another name then.
        if inner.is_none() && own.is_recorded && !checkout.is_worktree() {
            return Ok(None);
        }
        let top = checkout.top.as_path();
        let (place, before) = match inner {
            Some((place, name)) => (place, Some(name)),
            None => (top, nearest_package(top).map_or_else(|| name_of(top), |(_, name)| Some(name))),
        };
        let Some(before) = before.filter(|before| *before != own.list) else { return Ok(None) };
        if let Some(machine) = machine {
            let used = self.if_known(machine.list_used_in(place))?.flatten();
            if used.is_some() || self.if_known(machine.is_of_another(checkout, &before, store))? == Some(true) {
                return Ok(None);
            }
        }
        Ok(self.has_tasks(&before).then(|| (place.to_owned(), before)))
    }

    /// Returns the directories that use a list of the store.
    pub(crate) fn directories_of(&self, list: &ListId) -> Result<BTreeSet<PathBuf>, Problem> {
        let store = self.address()?.to_string();
        Ok(self.machine()?.map(|machine| machine.directories_of(list, Some(&store))).transpose()?.unwrap_or_default())
    }

    /// Returns the repositories that use a list of the store.
    pub(crate) fn repositories_of(&self, list: &ListId) -> Result<BTreeSet<PathBuf>, Problem> {
        let store = self.address()?.to_string();
        Ok(self.machine()?.map(|machine| machine.repositories_of(list, Some(&store))).transpose()?.unwrap_or_default())
    }

    /// Reads the machine's database. If a newer Taskyard wrote it, a command that only shows files uses what it can
    /// still find there.
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

    /// Returns the database's answer, or `None` if a newer Taskyard wrote it, the command does without it, and the
    /// query no longer works.
    pub(super) fn if_known<T>(&self, answer: Result<T, MachineError>) -> Result<Option<T>, Problem> {
        match answer {
            Err(error) if self.does_without_newer() => {
                tracing::debug!(%error, "unknown: the database is newer");
                Ok(None)
            }
            answer => Ok(Some(answer?)),
        }
    }

    /// Returns whether a list has tasks. An unreadable list counts as having some.
    pub(super) fn has_tasks(&self, name: &str) -> bool {
        let list = match places::data(&self.environment) {
            Ok(data) => Machine::list_named(&data, name, Recording::Nothing).ok(),
            Err(_) => ListId::new(name).ok(),
        };
        let (Some(list), Ok(address), Ok(places)) = (list, self.address(), self.places()) else { return false };
        has_tasks(address, places, &list, || self.store().ok())
    }

    /// Returns the recorder that, on the first write, records that the directory uses its list; `None` if a flag, a
    /// variable, a team or a session chose the list.
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

    /// Returns the callback that, before a write to a list, records that the directory uses it; `None` if a flag, a
    /// variable, a team or a session chose the list.
    #[cfg(feature = "server")]
    pub(crate) fn before_writing(&self) -> Result<Option<taskyard_server::BeforeWriting>, Problem> {
        let recorder = self.recorder()?;
        Ok(recorder
            .map(|recorder| -> taskyard_server::BeforeWriting { Arc::new(move |list: &ListId| recorder.record(list)) }))
    }

    /// Records the directory's use of the list before a command creates tasks. Returns a context to continue with if
    /// another repository took the list in the meantime.
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

    /// Binds the directory to the list it keeps, and reports once what was recorded. Failures are ignored, since the
    /// command has already done its work.
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

/// Returns the name of a repository's directory, without the `.git` of a bare repository.
fn repository_name(checkout: &Checkout) -> Option<String> {
    let name = name_of(&checkout.root)?;
    match name.strip_suffix(".git") {
        Some("") => checkout.root.parent().and_then(name_of),
        Some(name) if checkout.root == checkout.common => Some(name.to_owned()),
        _ => Some(name),
    }
}

/// The setting's name in warnings.
const KEY: &str = "env.CLAUDE_CODE_TASK_LIST_ID";

impl Context {
    /// Returns the list named by the client's settings files.
    pub(super) fn settings_list(&self) -> Result<&SettingsList, Problem> {
        once(&self.settings_list, || self.look_into_settings())
    }

    /// Reads the client's settings files in its order: project local, project, user. A worktree without such files
    /// uses those of the main checkout.
    fn look_into_settings(&self) -> Result<SettingsList, Problem> {
        let client = places::client_config(&self.environment).ok();
        let mut said = SettingsList::default();
        let mut folders: Vec<PathBuf> = self.project().into_iter().map(|top| top.join(".claude")).collect();
        folders.extend(self.checkout().filter(|checkout| checkout.is_worktree()).map(|main| main.root.join(".claude")));
        // In the home directory, these are the user's own files.
        folders.retain(|folder| Some(folder) != client.as_ref());
        for name in ["settings.local.json", "settings.json"] {
            for path in folders.iter().map(|folder| folder.join(name)) {
                match task_list_in(&path, Origin::Project) {
                    Ok(None) => {}
                    Ok(Some(list)) if self.may_be_named(&list)? => {
                        return Ok(SettingsList { list: Some(list), ..said });
                    }
                    Ok(Some(_)) => said.warnings.push(ConfigWarning::Untrusted { path, keys: vec![KEY] }),
                    Err(doubt) => said.warnings.push(ConfigWarning::NotCounted { path, doubt }),
                }
            }
        }
        let of_user = client.map(|client| client.join("settings.json"));
        match of_user.as_ref().map(|path| task_list_in(path, Origin::User)) {
            Some(Ok(list)) => said.list = list,
            Some(Err(doubt)) => {
                said.warnings.extend(of_user.map(|path| ConfigWarning::NotCounted { path, doubt }));
            }
            None => {}
        }
        Ok(said)
    }

    /// Returns whether a file that came with the project may name this list: the user trusts the project, or no other
    /// directory uses the list. Other clones of the same repository do not count.
    fn may_be_named(&self, list: &str) -> Result<bool, Problem> {
        let (Ok(list), Some(here)) = (ListId::new(list), self.project()) else { return Ok(false) };
        let Some(machine) = self.machine()? else { return Ok(true) };
        let Some(used) = self.if_known(machine.directories_of(&list, None))? else { return Ok(false) };
        let is_other = |directory: &PathBuf| match (self.checkout(), Checkout::around(directory)) {
            (Some(own), Some(other)) => own.common != other.common && !own.has_origin_of(&other),
            _ => directory != here,
        };
        let is_free = !used.iter().any(is_other) && !self.is_list_of_other_team(&list, here);
        Ok(is_free || self.trusts(machine, here)?)
    }

    fn trusts(&self, machine: &Machine, here: &Path) -> Result<bool, Problem> {
        let main = self.checkout().map_or(here, |checkout| &checkout.root);
        Ok(machine.is_trusted(here)? || machine.is_trusted(main)?)
    }

    /// Returns whether the list belongs to a team created or joined elsewhere.
    fn is_list_of_other_team(&self, list: &ListId, here: &Path) -> bool {
        let team =
            self.teams().ok().filter(|teams| teams.are_any()).and_then(|teams| teams.team_of(list).ok().flatten());
        let is_elsewhere = |cwd: &String| !Path::new(cwd).starts_with(here);
        team.is_some_and(|team| team.members.iter().filter_map(|member| member.cwd.as_ref()).any(is_elsewhere))
    }
}

impl Context {
    /// Parses the name for a new list. Rejects a name that looks like a path, since it would become a different name.
    pub(crate) fn list_to_be(&self, name: &str) -> Result<ListId, Problem> {
        let list = ListId::new(name)?;
        let is_scoped = name
            .strip_prefix('@')
            .and_then(|rest| rest.split_once('/'))
            .is_some_and(|(scope, package)| !scope.is_empty() && !package.is_empty() && !package.contains('/'));
        let wrong = name.chars().find(|one| matches!(one, '/' | '\\') || one.is_control()).filter(|_| !is_scoped);
        let has_name = || Ok::<_, Problem>(self.list_names()?.values().any(|known| known == name));
        match wrong {
            Some(wrong) if !has_name()? => {
                let why = if wrong.is_control() { "control characters".to_owned() } else { format!("`{wrong}`") };
                Err(Problem::usage("bad_list_name", format!("invalid list name `{name}`: it contains {why}"))
                    .hint(format!("`{}` is a valid name", list.directory())))
            }
            _ => self.list_named(name),
        }
    }

    /// Returns the list named by `--list` if neither it nor any record of it exists.
    fn missing_list(&self) -> Result<Option<ListId>, Problem> {
        if self.globals.list.is_none() {
            return Ok(None);
        }
        let choice = self.choice()?;
        let is_own = || self.list_of_directory().is_ok_and(|own| own.list == choice.list);
        if choice.reason != Reason::Flag || is_own() {
            return Ok(None);
        }
        let store = self.store()?;
        let is_known = store.has(&choice.list).map_err(taskyard::Error::from)?
            || store.care().is_some_and(|care| care.has_memory(&choice.list))
            || self.teams().is_ok_and(|teams| teams.team_of(&choice.list).is_ok_and(|team| team.is_some()));
        Ok((!is_known).then_some(choice.list))
    }

    /// Fails if a read-only command was given a list that does not exist.
    pub(crate) fn must_have_list(&self) -> Result<(), Problem> {
        self.missing_list()?.map_or(Ok(()), |list| Err(self.no_such_list(&list)?))
    }

    /// Asks a person whether to create a list that does not exist. Returns the list if so.
    pub(crate) fn list_to_make(&self, output: &mut Output) -> Result<Option<ListId>, Problem> {
        let Some(list) = self.missing_list()? else { return Ok(None) };
        if output.can_ask() {
            let problem = self.no_such_list(&list)?;
            let report = problem.report();
            let meant = report.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            if !output.ask(&format!("There is no list `{list}`{meant}. Create it?"))? {
                return Err(problem);
            }
        }
        Ok(Some(list))
    }

    /// Returns the problem that a list does not exist, with a suggestion.
    pub(crate) fn no_such_list(&self, list: &ListId) -> Result<Problem, Problem> {
        let names = self.store()?.list_names().map_err(taskyard::Error::from)?;
        let names: Vec<&str> = names.iter().map(ListId::as_str).collect();
        let problem = Problem::new(ProblemKind::NotFound, "list_not_found", format!("there is no list `{list}`"));
        Ok(problem.detail("list", list.as_str()).hint(match nearest(list.as_str(), &names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`taskyard lists` shows all lists".to_owned(),
        }))
    }
}
