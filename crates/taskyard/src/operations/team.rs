//! What being in a team means for tasks: who is told of them, who may begin, and what becomes of them when a member leaves.

use crate::operations::Update;
use std::borrow::Cow;
use std::sync::Arc;
use taskyard_core::rules::changes::patching::Field;

use taskyard_core::rules::agents::departing::Departure;
use taskyard_core::rules::agents::naming::is_same_agent;
use taskyard_core::rules::claims::claiming::{ClaimRefusal, judge_start};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{AgentName, ListId, Proof, Status, Task, TaskId, Team};

use super::halt::Halt;
use super::task_message::TaskMessage;
use super::{Claim, Departed, Updated};
use crate::store::{StoreError, Txn};
use crate::teams::{Ghost, Letter, NewTeam, Seat, TeamError, TeamRefusal, TeamShown, Teams};
use crate::{Error, Yard};

/// How many tasks a teammate has in progress where no limit is set.
pub const AT_ONCE: usize = 1;

/// A member that was taken out of its team because it no longer lived, or had said that it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Its name.
    pub name: String,
    /// Why it is gone.
    pub departure: Departure,
    /// What it left behind.
    pub departed: Departed,
}

impl Yard {
    /// Returns where the actor sits in the team whose list this is; none where it is in no such team.
    pub fn seat(&self) -> Result<Option<Seat>, Error> {
        let Some(teams) = self.teams() else { return Ok(None) };
        Ok(teams.seat_on(self.actor(), self.list_id())?)
    }

    /// Returns the same yard for one call: the teams are read at most once in it, unless it changes them itself.
    #[must_use]
    pub fn for_one_call(&self) -> Self {
        let teams = self.teams().map(|teams| Arc::new(teams.for_one_call()));
        teams.map_or_else(|| self.clone(), |teams| self.clone().with_teams(teams))
    }

    /// Returns the same yard for as long as a caller works with it: the teams are read whenever they count.
    #[must_use]
    pub fn lasting(&self) -> Self {
        let teams = self.teams().map(|teams| Arc::new(teams.lasting()));
        teams.map_or_else(|| self.clone(), |teams| self.clone().with_teams(teams))
    }

    /// Returns the yard on the list of the team that the actor works for here; the same yard where it works for none.
    pub fn in_team_list(&self) -> Result<Self, Error> {
        let Some(teams) = self.teams() else { return Ok(self.clone()) };
        let list = teams.chosen_seat(self.actor())?.and_then(|chosen| teams.list_of(&chosen.seat.team.name).ok());
        Ok(list.map_or_else(|| self.clone(), |list| self.on(list)))
    }

    /// Makes a team that the actor leads. Tasks that its list has already stay, unless they are to go; the client's rules have them go.
    pub fn create_team(
        &self,
        teams: &Teams,
        new: &NewTeam,
        resets: bool,
    ) -> Result<Result<(Seat, ListId), TeamRefusal>, Error> {
        let seat = match teams.create(new, self.actor())? {
            Ok(seat) => seat,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let list = teams.list_of(&seat.team.name).unwrap_or_else(|_| self.list_id().clone());
        let yard = self.on(list.clone());
        let exists = self.store().read(&list)?.exists()?;
        if (resets || self.rules().is_client()) && exists {
            yard.clear()?;
        }
        if self.rules().is_client() {
            teams.make_list(&list)?;
        }
        Ok(Ok((seat, list)))
    }

    /// Lets a member go: its open tasks come back, it leaves the team, and the members that remain are told. A second time does what was
    /// left undone.
    pub fn leave_team(
        &self,
        teams: &Teams,
        seat: &Seat,
        departure: Departure,
    ) -> Result<Result<Departed, TeamRefusal>, Error> {
        Ok(self.leave_telling(teams, seat, departure, |_| true)?.map(|(departed, _)| departed))
    }

    /// Does the same, and tells only some of the members that remain. Returns also whether it was this call that took the member out.
    pub(super) fn leave_telling(
        &self,
        teams: &Teams,
        seat: &Seat,
        departure: Departure,
        is_told: impl Fn(&str) -> bool,
    ) -> Result<Result<(Departed, bool), TeamRefusal>, Error> {
        if seat.is_lead() {
            let (name, team) = (seat.name.clone(), seat.team.name.to_string());
            return Ok(Err(TeamRefusal::LeadStays { name, team }));
        }
        teams.must_be_leavable(&seat.team)?;
        let name = AgentName::new(seat.name.clone()).unwrap_or_else(|_| AgentName::elsewhere());
        let list = teams.list_of(&seat.team.name).unwrap_or_else(|_| self.list_id().clone());
        let mut departed = self.on(list.clone()).give_back_all(&name, departure)?;
        if *self.list_id() != list && self.works_on_this_list(teams, seat, &name)? {
            departed = departed.with(self.give_back_all(&name, departure)?, &name, departure);
        }
        match teams.leave(seat)? {
            Err(refusal) => return Ok(Err(refusal)),
            // Another process took it out this moment, and tells the other members.
            Ok(false) => return Ok(Ok((departed, false))),
            Ok(true) => {}
        }
        let letter = Letter::new(departed.notice.clone());
        let mut told = seat.clone();
        told.team.members.retain(|member| member.name == seat.name || is_told(&member.name));
        if let Ok((_, failed)) = teams.broadcast(&told, &letter)? {
            for (name, error) in failed {
                tracing::warn!(%name, %error, "could not be told that a member left");
            }
        }
        Ok(Ok((departed, true)))
    }

    /// Tells whether a member that joined its team here works on the list of this yard all the same.
    fn works_on_this_list(&self, teams: &Teams, seat: &Seat, name: &AgentName) -> Result<bool, TeamError> {
        if !teams.joined_around_here(seat) {
            return Ok(false);
        }
        // If teams do not count, everybody does; if they do, an agent that joined two of them in one directory.
        let is_actor = is_same_agent(self.actor().as_str(), &seat.name);
        Ok(self.teams().is_none() || (is_actor && teams.chosen_seat(name)?.is_none()))
    }

    /// Ends a team: what its members were at comes back, and its inboxes go. Its tasks stay.
    pub fn end_team(&self, teams: &Teams, team: &Team) -> Result<(), Error> {
        teams.must_be_deletable(team)?;
        // While there are members to tell.
        for member in team.members.iter().filter(|member| !member.is_lead()) {
            let seat = Seat { team: team.clone(), name: member.name.clone() };
            // Only the lead is refused.
            let _ = self.leave_team(teams, &seat, Departure::Terminated)?;
        }
        Ok(teams.delete(team)?)
    }

    /// Takes the members out of a team that no longer live, as if each had left.
    pub fn prune_team(&self, teams: &Teams, team: &Team) -> Result<Vec<Pruned>, Error> {
        self.prune(teams, team, team.lead())
    }

    /// Does the same for a member, which lives: it acts.
    pub fn prune_team_of(&self, teams: &Teams, seat: &Seat) -> Result<Vec<Pruned>, Error> {
        self.prune(teams, &seat.team, &seat.name)
    }

    fn prune(&self, teams: &Teams, team: &Team, living: &str) -> Result<Vec<Pruned>, Error> {
        let mut pruned = Vec::new();
        if !teams.may_have_ghosts_besides(team, living)? {
            return Ok(pruned);
        }
        let mut team = team.clone();
        for Ghost { name, .. } in teams.ghosts(&team)? {
            let seat = Seat { team: team.clone(), name: name.clone() };
            if seat.is_lead() || name == living {
                continue;
            }
            team.members.retain(|other| other.name != name);
            if let Ok(departed) = self.leave_team(teams, &seat, Departure::Terminated)? {
                pruned.push(Pruned { name, departure: Departure::Terminated, departed });
            }
        }
        Ok(pruned)
    }

    /// Returns what each member of a team is doing.
    pub fn show_team(&self, teams: &Teams, team: &Team) -> Result<TeamShown, Error> {
        let list = teams.list_of(&team.name).unwrap_or_else(|_| self.list_id().clone());
        let mut tasks = self.store().read(&list)?.tasks()?;
        // If teams do not count, its members work on the list that everybody else works on.
        if self.teams().is_none() && list != *self.list_id() {
            tasks.extend(self.store().read(self.list_id())?.tasks()?);
        }
        Ok(teams.show(team, &tasks)?)
    }

    /// Returns why a change may not be made: it starts a task, and the plan of the actor is not approved.
    pub(super) fn forbidden_by_plan(
        &self,
        seat: Option<&Seat>,
        update: &Update,
        task: &Task,
    ) -> Result<Option<Refusal>, Error> {
        let starts = update.patch.status == Some(Status::InProgress) && task.status != Status::InProgress;
        let Some(seat) = seat.filter(|_| starts && !self.rules().is_client()) else { return Ok(None) };
        Ok(if self.may_begin(seat)? {
            None
        } else {
            Some(Refusal::PlanNotApproved { agent: seat.name.clone(), lead: seat.team.lead().to_owned() })
        })
    }

    /// Refuses a change by which the actor begins a task while it has as much in progress as it may have: the limit that is set, and one
    /// task where a teammate has no limit. Tasks that are changed together count as they are staged.
    pub(super) fn respect_limit(
        &self,
        txn: &dyn Txn,
        before: &Task,
        after: &Task,
        seat: Option<&Seat>,
        together: &[TaskId],
    ) -> Result<(), Halt> {
        let of_teammate = || seat.filter(|seat| !seat.is_lead()).map(|_| AT_ONCE);
        let of_run = self.run().map(|_| AT_ONCE);
        let limit = of_run.or_else(|| self.limit()).or_else(of_teammate).filter(|_| self.proof() != Proof::Force);
        let Some(limit) = limit.filter(|_| after.status == Status::InProgress) else { return Ok(()) };
        let seated_as = seat.map_or(self.actor().as_str(), |seat| &seat.name);
        let names = [self.actor().as_str(), seated_as];
        let owned = txn.live()?.map(|live| live.held(|owner| names.iter().any(|name| is_same_agent(owner, name))));
        let tasks = match owned {
            None => txn.open_tasks_of(&names)?,
            Some(mut owned) => {
                owned.extend(together.iter().filter(|id| !owned.contains(id)).cloned().collect::<Vec<_>>());
                let found = owned.iter().map(|id| Ok(txn.find(id)?.task()));
                found.collect::<Result<Vec<_>, StoreError>>()?.into_iter().flatten().collect()
            }
        };
        Ok(judge_start(&tasks, before, after, &names, limit)?)
    }

    /// Returns the terms on which the actor makes a claim, or why it may not make it at all. A teammate whose plan is not approved starts
    /// nothing, and one that has a task in progress finishes that first, unless a limit says otherwise.
    pub(super) fn as_teammate<'a>(&self, claim: &'a Claim) -> Result<Result<Cow<'a, Claim>, ClaimRefusal>, Error> {
        // The client has a busy check, and nothing in it asks for it.
        let seat = if self.rules().is_client() { None } else { self.seat()? };
        let claim = match self.run() {
            Some(_) => Cow::Owned(Claim { limit: Some(AT_ONCE), ..claim.clone() }),
            None => Cow::Borrowed(claim),
        };
        let Some(seat) = seat else { return Ok(Ok(claim)) };
        if !claim.reserve && !self.may_begin(&seat)? {
            return Ok(Err(ClaimRefusal::PlanNotApproved { lead: seat.team.lead().to_owned() }));
        }
        if let Some(teams) = self.teams() {
            // What the dead had in hand is for agents that look for work.
            self.prune_team_of(teams, &seat)?;
        }
        if seat.is_lead() || claim.limit.is_some() {
            return Ok(Ok(claim));
        }
        Ok(Ok(Cow::Owned(Claim { limit: Some(AT_ONCE), ..claim.into_owned() })))
    }

    fn may_begin(&self, seat: &Seat) -> Result<bool, TeamError> {
        self.teams().map_or(Ok(true), |teams| teams.may_start(seat))
    }

    /// Tells the new owner of a task, where it has one and the actor is in a team. No agent is told what it did itself; in the client's
    /// rules it is told.
    pub(super) fn told_owner(&self, updated: Updated, seat: Option<&Seat>) -> Updated {
        let (Some(seat), Some(teams)) = (seat, self.teams()) else { return updated };
        let owner = updated.task.owner().filter(|_| updated.updated.contains(&Field::Owner)).map(str::to_owned);
        let is_own = |to: &String| !self.rules().is_client() && is_same_agent(to, &seat.name);
        let owner_message =
            owner.filter(|to| !is_own(to)).and_then(|to| match teams.assign(seat, &to, &updated.task) {
                Ok(Ok(_)) => Some(TaskMessage::Sent { to }),
                // The owner is no member: it cannot be told.
                Ok(Err(_)) => None,
                Err(error) => Some(TaskMessage::Failed { to, why: error.to_string() }),
            });
        Updated { is_by_teammate: !seat.is_lead(), owner_message, ..updated }
    }
}
