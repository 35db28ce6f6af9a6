//! Which list is meant: by the acting agent, and by the directory itself.

use std::collections::BTreeMap;

use taskyard::core::rules::lists::list_choice::{self, Candidates, Choice};
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::machine::Machine;
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
            Ok(data) => Ok(Machine::list_named(&data, name, self.recording)?),
            Err(_) => Ok(ListId::new(name)?),
        }
    }

    /// Returns the names of lists that had to be changed, by the directories they have.
    pub(crate) fn list_names(&self) -> Result<BTreeMap<String, String>, Problem> {
        let Ok(data) = places::data(&self.environment) else { return Ok(BTreeMap::new()) };
        let machine = self.without_newer(Machine::look(&data))?.flatten();
        Ok(machine.map(|machine| machine.list_names()).transpose()?.unwrap_or_default())
    }

    /// Returns a choice with the list that its name means.
    fn meant(&self, choice: Choice) -> Result<Choice, Problem> {
        let name = choice.list.as_str();
        let list = match (choice.reason.is_of_client(), places::data(&self.environment)) {
            (false, _) => self.list_named(name)?,
            (true, Ok(data)) => Machine::client_list_named(&data, name)?,
            (true, Err(_)) => return Ok(choice),
        };
        Ok(Choice { list, ..choice })
    }

    fn choose(&self, flag: Option<&String>) -> Result<Choice, Problem> {
        let rules = self.rules()?;
        let mut candidates = candidates::said(flag, &self.environment);
        if !candidates::is_enough(&candidates) {
            self.look_for_team(&mut candidates, rules)?;
            candidates::look_around(&mut candidates, &self.environment, self.config()?, self.directory()?);
            candidates.binding = self.bound_list()?;
            if *self.address()? == Address::Documents {
                candidates = candidates.of_the_project();
            }
        }
        self.meant(list_choice::choose(&candidates, rules)?)
    }

    /// Returns the list that the acting agent works on here once it has made or joined a team, whatever list this command was given. `None`
    /// for a person if teams count: a person is told of the team's list, and works on the directory's.
    pub(crate) fn list_of_member(&self) -> Result<Option<ListId>, Problem> {
        let is_person = self.named_agent().is_none() && self.session_agent().is_none();
        if is_person && self.has_teams(self.rules()?) {
            return Ok(None);
        }
        Ok(Some(self.choose(None)?.list))
    }

    /// Returns the list of the directory itself, and why it is that: the one that a person works on here who says nothing of a
    /// list, whatever flags, variables, teams and sessions say to this command.
    pub(crate) fn list_of_directory(&self) -> Result<Choice, Problem> {
        // Nothing needs to be looked for where that was the one chosen.
        if let Some(choice) = self.choice.get().filter(|choice| choice.reason.is_of_directory()) {
            return Ok(choice.clone());
        }
        let look = || {
            let mut candidates = Candidates::default();
            candidates::look_around(&mut candidates, &self.environment, self.config()?, self.directory()?);
            candidates.binding = self.bound_list()?;
            self.meant(list_choice::choose(&candidates, Rules::Strict)?)
        };
        once(&self.list_of_directory, look).cloned()
    }

    /// Returns the list that the directory, or one above it, is bound to. Where a newer Taskyard says so, a command that only shows files
    /// takes that for a hint: what was bound before is still to be found there.
    fn bound_list(&self) -> Result<Option<String>, Problem> {
        let (Ok(data), directory) = (places::data(&self.environment), self.directory()?) else { return Ok(None) };
        Ok(match self.without_newer(Machine::look(&data))? {
            Some(machine) => machine.map(|machine| machine.binding(directory)).transpose()?.flatten(),
            None => Machine::glance(&data).and_then(|machine| machine.binding(directory).ok()).flatten(),
        }
        .map(|binding| binding.list))
    }

    /// Returns the agent that the client's own team environment says acts: teams are switched on, and the environment names the
    /// agent. A name in a flag says nothing of that; subagents have such names, and projects that know nothing of each other have
    /// agents of one name.
    pub(super) fn client_teammate(&self) -> Option<AgentName> {
        let is_on = self.environment.client_teams == Some(true) && self.globals.agent.is_none();
        let named = self.environment.agent.as_deref().filter(|_| is_on).and_then(|name| AgentName::new(name).ok());
        named.or_else(|| self.session_agent().filter(|_| is_on))
    }

    /// Looks for the list of the team that the acting agent works for here. An agent with no name but the user's is
    /// there as a person, and works on the list of the directory.
    fn look_for_team(&self, candidates: &mut Candidates, rules: Rules) -> Result<(), Problem> {
        let is_agent = self.named_agent().is_some() || self.session_agent().is_some();
        if !is_agent || !self.has_teams(rules) {
            return Ok(());
        }
        let Ok(teams) = self.teams() else { return Ok(()) };
        let chosen = self.without_newer(teams.chosen_seat(&self.actor()?))?.flatten();
        let Some(chosen) = chosen else { return Ok(()) };
        let list = teams.list_of(&chosen.seat.team.name).ok().map(|list| list.as_str().to_owned());
        match chosen.by {
            ChosenBy::Client => candidates.client_team = list,
            ChosenBy::Directory => candidates.team = list,
        }
        Ok(())
    }
}
