//! Teams and tasks: messages, plan approval, and members that leave.

use std::borrow::Cow;
use std::sync::Arc;

use taskyard_core::rules::agents::{Departure, is_same_agent, name_of};
use taskyard_core::rules::changes::patching::Field;
use taskyard_core::rules::claims::claiming::judge_start;
use taskyard_core::rules::refusal::{ClaimRefusal, Refusal, TeamRefusal};
use taskyard_core::{AgentName, ListId, Proof, Status, Task, TaskId, Team};

use super::{Claim, Departed, Updated};
use crate::operations::Update;
use crate::operations::outcome::Halt;
use crate::operations::staged_tasks::TaskMessage;
use crate::store::{StoreError, Txn};
use crate::teams::{Ghost, Letter, NewTeam, Seat, TeamError, TeamShown, Teams};
use crate::{Error, Outcome, Yard};

/// How many tasks a teammate may have in progress by default.
pub const AT_ONCE: usize = 1;

/// A member that was removed from its team because its process ended or it announced that it would end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// The name of the member.
    pub name: String,
    /// Why it was removed.
    pub departure: Departure,
    /// What it left behind.
    pub departed: Departed,
}

impl Yard {
    /// Returns the actor's seat in the team that owns this list; `None` if it is not in that team.
    pub fn seat(&self) -> Result<Option<Seat>, Error> {
        let Some(teams) = self.teams() else { return Ok(None) };
        Ok(teams.seat_on(self.actor(), self.list_id())?)
    }

    /// Returns the same yard for one call. It reads the teams at most once, unless it changes them itself.
    #[must_use]
    pub fn for_one_call(&self) -> Self {
        let teams = self.teams().map(|teams| Arc::new(teams.for_one_call()));
        teams.map_or_else(|| self.clone(), |teams| self.clone().with_teams(teams))
    }

    /// Returns the same yard for long-term use. It reads the teams again whenever they are needed.
    #[must_use]
    pub fn lasting(&self) -> Self {
        let teams = self.teams().map(|teams| Arc::new(teams.lasting()));
        teams.map_or_else(|| self.clone(), |teams| self.clone().with_teams(teams))
    }

    /// Returns the yard on the list of the team that the actor works for here, or the same yard if there is none.
    pub fn in_team_list(&self) -> Result<Self, Error> {
        let Some(teams) = self.teams() else { return Ok(self.clone()) };
        let list = teams.chosen_seat(self.actor())?.and_then(|chosen| teams.list_of(&chosen.seat.team.name).ok());
        Ok(list.map_or_else(|| self.clone(), |list| self.on(list)))
    }

    /// Creates a team led by the actor. Tasks already in its list stay unless `resets` is set; with client rules they
    /// are always cleared.
    pub fn create_team(&self, teams: &Teams, new: &NewTeam, resets: bool) -> Result<Outcome<(Seat, ListId)>, Error> {
        let seat = match teams.create(new, self.actor())? {
            Outcome::Done(seat) => seat,
            Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
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
        Ok(Outcome::Done((seat, list)))
    }

    /// Removes a member from its team: its open tasks are released, and the remaining members are notified. A second
    /// call finishes what an interrupted one left undone.
    pub fn leave_team(&self, teams: &Teams, seat: &Seat, departure: Departure) -> Result<Outcome<Departed>, Error> {
        Ok(self.leave_telling(teams, seat, departure, |_| true)?.map(|(departed, _)| departed))
    }

    /// Like [`Self::leave_team`], but notifies only members for which `is_told` holds. Also returns whether this call
    /// removed the member.
    pub(super) fn leave_telling(
        &self,
        teams: &Teams,
        seat: &Seat,
        departure: Departure,
        is_told: impl Fn(&str) -> bool,
    ) -> Result<Outcome<(Departed, bool)>, Error> {
        if seat.is_lead() {
            let (name, team) = (seat.name.clone(), seat.team.name.to_string());
            return Ok(Outcome::refused(TeamRefusal::LeadStays { name, team }));
        }
        teams.must_be_leavable(&seat.team)?;
        let name = AgentName::new(seat.name.clone()).unwrap_or_else(|_| AgentName::elsewhere());
        let list = teams.list_of(&seat.team.name).unwrap_or_else(|_| self.list_id().clone());
        let mut departed = self.on(list.clone()).give_back_all(&name, departure)?;
        if *self.list_id() != list && self.works_on_this_list(teams, seat, &name)? {
            departed = departed.with(self.give_back_all(&name, departure)?, &name, departure);
        }
        match teams.leave(seat)? {
            Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            // Another process removed the member just now, and notifies the others.
            Outcome::Done(false) => return Ok(Outcome::Done((departed, false))),
            Outcome::Done(true) => {}
        }
        let letter = Letter::new(departed.notice.clone());
        let mut told = seat.clone();
        told.team.members.retain(|member| member.name == seat.name || is_told(&member.name));
        if let Outcome::Done((_, failed)) = teams.broadcast(&told, &letter)? {
            for (name, error) in failed {
                tracing::warn!(%name, %error, "could not be told that a member left");
            }
        }
        Ok(Outcome::Done((departed, true)))
    }

    /// Returns whether a member that joined its team here nevertheless works on the list of this yard.
    fn works_on_this_list(&self, teams: &Teams, seat: &Seat, name: &AgentName) -> Result<bool, TeamError> {
        if !teams.joined_around_here(seat) {
            return Ok(false);
        }
        // Without teams every member does; with teams only an agent that joined two of them in one directory.
        let is_actor = is_same_agent(self.actor().as_str(), &seat.name);
        Ok(self.teams().is_none() || (is_actor && teams.chosen_seat(name)?.is_none()))
    }

    /// Ends a team: the tasks of its members are released, and its inboxes are deleted. Its tasks remain.
    pub fn end_team(&self, teams: &Teams, team: &Team) -> Result<(), Error> {
        teams.must_be_deletable(team)?;
        // This must come first, while there are members to notify.
        for member in team.members.iter().filter(|member| !member.is_lead()) {
            let seat = Seat { team: team.clone(), name: member.name.clone() };
            // Only the lead is refused.
            let _ = self.leave_team(teams, &seat, Departure::Terminated)?;
        }
        Ok(teams.delete(team)?)
    }

    /// Removes the members whose process has ended from a team, as if each had left.
    pub fn prune_team(&self, teams: &Teams, team: &Team) -> Result<Vec<Pruned>, Error> {
        self.prune(teams, team, team.lead())
    }

    /// Like [`Self::prune_team`], for a member that is known to be alive because it acts.
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
            if let Outcome::Done(departed) = self.leave_team(teams, &seat, Departure::Terminated)? {
                pruned.push(Pruned { name, departure: Departure::Terminated, departed });
            }
        }
        Ok(pruned)
    }

    /// Returns what each member of a team is doing.
    pub fn show_team(&self, teams: &Teams, team: &Team) -> Result<TeamShown, Error> {
        let list = teams.list_of(&team.name).unwrap_or_else(|_| self.list_id().clone());
        let mut tasks = self.store().read(&list)?.tasks()?;
        // Without teams, the members work on the list that everybody else works on.
        if self.teams().is_none() && list != *self.list_id() {
            tasks.extend(self.store().read(self.list_id())?.tasks()?);
        }
        Ok(teams.show(team, &tasks)?)
    }

    /// Returns why a change is refused: it starts a task, and the actor's plan is not approved.
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

    /// Refuses a change that starts a task while the actor has as many in progress as allowed: the configured limit, or
    /// one for a teammate without a limit. Tasks that are changed together count as staged.
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

    /// Returns a claim on a task, or on the next one, adapted to the actor's team and run, or why the actor may not
    /// claim. A teammate whose plan is
    /// not approved may not start anything; by default it must finish its task in progress first.
    pub(super) fn as_teammate<'a>(
        &self,
        claim: &'a Claim,
        id: Option<&TaskId>,
    ) -> Result<Outcome<Cow<'a, Claim>>, Error> {
        // The client has a busy check, but never uses it.
        let seat = if self.rules().is_client() { None } else { self.seat()? };
        let claim = match self.run() {
            Some(_) => Cow::Owned(Claim { limit: Some(AT_ONCE), ..claim.clone() }),
            None => Cow::Borrowed(claim),
        };
        let Some(seat) = seat else { return Ok(Outcome::Done(claim)) };
        if !claim.reserve && !self.may_begin(&seat)? {
            let reason = ClaimRefusal::PlanNotApproved { lead: seat.team.lead().to_owned() };
            return Ok(Outcome::Refused(Refusal::claim(id, reason, None)));
        }
        if let Some(teams) = self.teams() {
            // Tasks of dead members become available to agents that look for work.
            self.prune_team_of(teams, &seat)?;
        }
        if seat.is_lead() || claim.limit.is_some() {
            return Ok(Outcome::Done(claim));
        }
        Ok(Outcome::Done(Cow::Owned(Claim { limit: Some(AT_ONCE), ..claim.into_owned() })))
    }

    fn may_begin(&self, seat: &Seat) -> Result<bool, TeamError> {
        self.teams().map_or(Ok(true), |teams| teams.may_start(seat))
    }

    /// Notifies the new owner of a task, if it has one and the actor is in a team. With strict rules an agent is not
    /// notified of its own action.
    pub(super) fn told_owner(&self, updated: Updated, seat: Option<&Seat>) -> Updated {
        let (Some(seat), Some(teams)) = (seat, self.teams()) else { return updated };
        let owner = updated.task.owner().filter(|_| updated.updated.contains(&Field::Owner)).map(str::to_owned);
        let is_own = |to: &String| !self.rules().is_client() && is_same_agent(to, &seat.name);
        let owner_message =
            owner.filter(|to| !is_own(to)).and_then(|to| match teams.assign(seat, &to, &updated.task) {
                Ok(Outcome::Done(_)) => Some(TaskMessage::Sent { to }),
                // The owner is not a member, so it cannot be notified.
                Ok(Outcome::Refused(_)) => None,
                Err(error) => Some(TaskMessage::Failed { to, why: error.to_string() }),
            });
        Updated { is_by_teammate: !seat.is_lead(), owner_message, ..updated }
    }
}

impl Yard {
    /// Removes the members that announced to their lead that they would end, in all teams led with Taskyard: their
    /// tasks are released, and every other member except the actor is notified once. If no mail has arrived for a lead,
    /// this costs only one look at their inboxes.
    pub fn take_out_ended(&self) -> Result<Vec<Pruned>, Error> {
        let Some((teams, mail)) = self.teams().and_then(|teams| Some((teams, teams.new_lead_mail()?))) else {
            return Ok(Vec::new());
        };
        let mut taken_out = Vec::new();
        for team in teams.list()? {
            taken_out.append(&mut self.take_out_ended_of(teams, &team)?);
        }
        teams.lead_mail_was_read(&mail);
        Ok(taken_out)
    }

    /// Like [`Self::take_out_ended`], but only logs failures. For commands that wait or run for a long time.
    pub(crate) fn take_out_ended_meanwhile(&self) {
        if let Err(error) = self.take_out_ended() {
            tracing::warn!(%error, "those who have ended stay in their teams");
        }
    }

    /// Does this for one team. Several processes may do it at once; one of them notifies the other members.
    fn take_out_ended_of(&self, teams: &Teams, team: &Team) -> Result<Vec<Pruned>, Error> {
        let ended = teams.ended(team).unwrap_or_else(|error| {
            // An unreadable inbox is read again when it changes; `doctor` reports it.
            tracing::warn!(%error, "what has come for a lead cannot be read");
            Vec::new()
        });
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        // Another process may have removed a member since the team was read, and a new one may have the same name.
        let Outcome::Done(mut team) = teams.lasting().find(team.name.as_str())? else { return Ok(Vec::new()) };
        let actor = teams.seat(self.actor(), Some(team.name.as_str()))?.done().ok();
        let is_told = |member: &str| actor.as_ref().is_none_or(|actor| actor.name != member);
        let mut taken_out = Vec::new();
        for name in teams.ended(&team)? {
            let seat = Seat { team: team.clone(), name: name.clone() };
            team.members.retain(|member| member.name != name);
            if let Outcome::Done((departed, true)) = self.leave_telling(teams, &seat, Departure::Shutdown, is_told)? {
                taken_out.push(Pruned { name, departure: Departure::Shutdown, departed });
            }
        }
        Ok(taken_out)
    }
}

impl Yard {
    /// Notifies the members of the list's team about the tasks of a member that is gone, except that member and the
    /// actor that ended it. With client rules no member is notified, as in the client.
    ///
    /// Failures are only logged: the tasks are released, and every member can see that.
    pub(crate) fn tell_remaining(&self, gone: &AgentName, notice: &str, ended_by: Option<&AgentName>) {
        if self.rules().is_client() {
            return;
        }
        let attempt = || -> Result<(), TeamError> {
            let Some(team) = self.team_of_list()? else { return Ok(()) };
            let from = self.seat_in(&team, gone)?;
            let ended_by = ended_by.map(|agent| self.seat_in(&team, agent)).transpose()?.map(|seat| seat.name);
            let mut remaining = team.clone();
            remaining.members.retain(|member| Some(&member.name) != ended_by.as_ref());
            let Some(teams) = self.teams() else { return Ok(()) };
            if let Outcome::Done((_, failed)) =
                teams.broadcast(&Seat { team: remaining, ..from }, &Letter::new(notice))?
            {
                for (name, error) in failed {
                    tracing::warn!(%name, %error, "could not be told that a member is gone");
                }
            }
            Ok(())
        };
        if let Err(error) = attempt() {
            tracing::warn!(%error, "those who remain could not be told that a member is gone");
        }
    }

    /// Returns the team that owns this list.
    fn team_of_list(&self) -> Result<Option<Team>, TeamError> {
        let Some(teams) = self.teams().filter(|teams| teams.are_any()) else { return Ok(None) };
        teams.team_of(self.list_id())
    }

    /// Returns the seat of an agent in a team. An agent that is not a member is named after itself.
    fn seat_in(&self, team: &Team, agent: &AgentName) -> Result<Seat, TeamError> {
        let seat = self.teams().map(|teams| teams.seat(agent, Some(team.name.as_str()))).transpose()?;
        let named = || team.members.iter().find(|member| is_same_agent(&member.name, agent.as_str()));
        let name = || named().map_or_else(|| name_of(agent.as_str()).to_owned(), |member| member.name.clone());
        Ok(seat.and_then(|seat| seat.done().ok()).unwrap_or_else(|| Seat { team: team.clone(), name: name() }))
    }
}
