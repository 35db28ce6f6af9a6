//! Which list is meant: by the acting agent, and by the directory itself.

use std::collections::BTreeMap;

use taskyard::core::rules::lists::list_choice::{self, Candidates, Choice, Reason};
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::machine::{Machine, Recording};
use taskyard::opening::Address;
use taskyard::teams::ChosenBy;

use super::{Context, once};
use crate::candidates;
use crate::places;
use crate::problem::Problem;

impl Context {
    /// Returns the list that is meant, and why.
    pub(crate) fn choice(&self) -> Result<Choice, Problem> {
        once(&self.choice, || self.choose(self.globals.list.as_ref())).cloned()
    }

    /// Returns the list that a flag names, where one does.
    pub(crate) fn named_list(&self) -> Result<Option<ListId>, Problem> {
        self.globals.list.as_deref().map(|name| self.list_named(name)).transpose()
    }

    /// Returns the list that a name means which a person or a program gave us: every such name goes through here.
    pub(crate) fn list_named(&self, name: &str) -> Result<ListId, Problem> {
        match places::data(&self.environment) {
            Ok(data) => Ok(Machine::list_named(&data, name, Recording::Keeps)?),
            Err(_) => Ok(ListId::new(name)?),
        }
    }

    /// Returns the names of lists that had to be changed, by the directories they have.
    pub(crate) fn list_names(&self) -> Result<BTreeMap<String, String>, Problem> {
        let names = self.machine()?.map(|machine| self.if_known(machine.list_names())).transpose()?;
        Ok(names.flatten().unwrap_or_default())
    }

    /// Returns a choice with the list that its name means; that of the branch, if every branch has one.
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

    /// Returns the name that the list of a repository has on a branch; `None` if it has its plain one. Lists that a flag, a variable, the client,
    /// a team or a binding chooses are the same on all branches.
    fn name_on_branch(&self, choice: &Choice) -> Result<Option<String>, Problem> {
        let is_of_repository =
            matches!(choice.reason, Reason::Config | Reason::Repository | Reason::PackageName | Reason::GitFolder);
        let Some(checkout) = self.checkout().filter(|_| is_of_repository) else { return Ok(None) };
        if !self.config()?.is_per_branch() {
            return Ok(None);
        }
        Ok(checkout.side_branch().map(|branch| format!("{}@{branch}", choice.list.as_str())))
    }

    /// Returns the list of a branch. A list that has the directory of that name already, under this very name, is another one, unless machines
    /// share the store: there another machine's clone may have made it, and only that machine has recorded the name.
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

    /// Returns the list that is meant unless a team has another one, without looking for teams.
    pub(crate) fn list_without_team(&self) -> Result<ListId, Problem> {
        Ok(self.choose_with(self.globals.list.as_ref(), |_, _| Ok(()))?.list)
    }

    fn choose_with(
        &self,
        flag: Option<&String>,
        look_for_team: impl FnOnce(&mut Candidates, Rules) -> Result<(), Problem>,
    ) -> Result<Choice, Problem> {
        let rules = self.rules()?;
        let mut candidates = candidates::said(flag, &self.environment);
        if !candidates::is_enough(&candidates) {
            candidates.settings.clone_from(&self.settings_list()?.list);
            look_for_team(&mut candidates, rules)?;
            candidates::look_around(&mut candidates, &self.environment, self.config()?);
            self.directory_lists()?.add_to(&mut candidates);
            if *self.address()? == Address::Documents {
                candidates = candidates.of_the_project();
            }
        }
        self.meant(list_choice::choose(&candidates, rules)?)
    }

    /// Returns the list that the acting agent works on here once it has made or joined a team, whatever list this command was given.
    pub(crate) fn list_of_member(&self) -> Result<ListId, Problem> {
        Ok(self.choose(None)?.list)
    }

    /// Returns the list of the directory itself, and why it is that: the one that a person works on here who says nothing of a
    /// list, whatever flags, variables, teams and sessions say to this command.
    pub(crate) fn list_of_directory(&self) -> Result<Choice, Problem> {
        // Nothing needs to be looked for where that was the one chosen.
        if let Some(choice) = self.choice.get().filter(|choice| choice.reason.is_of_directory()) {
            return Ok(choice.clone());
        }
        let look = || {
            let mut candidates = Candidates { settings: self.settings_list()?.list.clone(), ..Candidates::default() };
            candidates::look_around(&mut candidates, &self.environment, self.config()?);
            self.directory_lists()?.add_to(&mut candidates);
            self.meant(list_choice::choose(&candidates, Rules::Strict)?)
        };
        once(&self.list_of_directory, look).cloned()
    }

    /// Returns the agent that the client's own team environment says acts: teams are switched on, and the environment names the
    /// agent. A name in a flag says nothing of that; subagents have such names, and projects that know nothing of each other have
    /// agents of one name.
    pub(super) fn client_teammate(&self) -> Option<AgentName> {
        let is_on = self.environment.client_teams == Some(true) && self.globals.agent.is_none();
        let named = self.environment.agent.as_deref().filter(|_| is_on).and_then(|name| AgentName::new(name).ok());
        named.or_else(|| self.session_agent().filter(|_| is_on))
    }

    /// Looks for the list of the team that the acting agent, or person, leads or has joined here. The client knows of no person in a team.
    fn look_for_team(&self, candidates: &mut Candidates, rules: Rules) -> Result<(), Problem> {
        let is_agent = self.named_agent().is_some() || self.session_agent().is_some();
        if (rules.is_client() && !is_agent) || !self.has_teams(rules) {
            return Ok(());
        }
        // Most machines have no team at all, and people ask for their list all the time.
        let Some(teams) = self.teams().ok().filter(|teams| is_agent || teams.are_any()) else { return Ok(()) };
        let chosen = match self.without_newer(teams.chosen_seat(&self.actor()?)) {
            // A person is in few teams, and should not be kept from the list of the directory by the files of others.
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
