//! The status of members, plan approval, and which team's list an agent works on.

use std::fs;
use std::path::{Path, PathBuf};

use taskyard_core::dialect::inbox::{read_protocol, write_protocol};
use taskyard_core::rules::agents::is_same_agent;
use taskyard_core::rules::leases::liveness::Standing;
use taskyard_core::rules::refusal::TeamRefusal;
use taskyard_core::rules::teams::mailing::reads_no_messages_yet;
use taskyard_core::rules::teams::membership::{
    MemberState, PlanState, Signs, after_answer, chooses_a_list, judge_member, may_start, nearest_above,
};
use taskyard_core::view::{AgentRow, HeldTask};
use taskyard_core::{AgentName, ListId, Member, Message, Protocol, Status, Task, TaskId, Team, Timestamp};

use super::TeamError;
use super::register::Teams;
use crate::Outcome;
use crate::teams::members::process_of;
use crate::teams::messages::{Letter, Sent, waiting_in};
use crate::teams::team_store::{Mailbox, Mended, Plan, Seat, SeatRecord, TeamTrouble};

/// A team and the status of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamShown {
    /// The team.
    pub team: Team,
    /// The members, the lead first.
    pub members: Vec<MemberShown>,
}

/// A member and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberShown {
    /// The member.
    pub member: Member,
    /// Its state.
    pub state: MemberState,
    /// Whether its process is alive; `None` if the process is not known.
    pub standing: Option<Standing>,
    /// The process it lives or lived with, if known.
    pub process: Option<u32>,
    /// The tasks it has in progress.
    pub tasks: Vec<(TaskId, String)>,
    /// The number of unacknowledged messages; `None` if its inbox cannot be read.
    pub unread: Option<usize>,
    /// Why its inbox cannot be read.
    pub inbox_problem: Option<String>,
    /// The state of its plan.
    pub plan: PlanState,
    /// When it was last known to be active.
    pub seen: Option<Timestamp>,
    /// Its last activity.
    pub activity: Option<String>,
    /// The number of tool calls, if known.
    pub tool_uses: Option<u64>,
    /// The number of tokens used, if known.
    pub tokens: Option<u64>,
}

impl MemberShown {
    /// Returns the row for boards; `held` looks up the tasks that it holds.
    pub fn row(&self, held: impl Fn(&TaskId) -> Option<HeldTask>) -> AgentRow {
        AgentRow {
            name: self.member.name.clone(),
            colour: self.member.colour().map(str::to_owned),
            state: self.state,
            holds: self.tasks.iter().filter_map(|(id, _)| held(id)).collect(),
            unread: self.unread,
            tool_uses: self.tool_uses,
            tokens: self.tokens,
            activity: self.activity.clone(),
            seen: self.seen,
            joined: Some(self.member.joined_at),
        }
    }
}

impl Teams {
    /// Returns the status of each member of a team, given the tasks of its list.
    pub fn show(&self, team: &Team, tasks: &[Task]) -> Result<TeamShown, TeamError> {
        let mut seats = self.store.seats_in(team)?;
        let show = |member: &Member| self.show_member(team, member, seats.remove(&member.name), tasks);
        Ok(TeamShown { team: team.clone(), members: team.members.iter().map(show).collect() })
    }

    /// Returns whether the program of a member is known not to read messages yet.
    pub fn reads_no_messages_yet(&self, team: &Team, name: &str) -> Result<bool, TeamError> {
        if team.lead_process.is_none() {
            return Ok(false);
        }
        let seats = self.store.seats_in(team)?;
        let has_sat_down = |member: &Member| seats.get(&member.name).is_some_and(|seat| seat.activity.is_some());
        Ok(reads_no_messages_yet(team, name, has_sat_down))
    }

    fn show_member(&self, team: &Team, member: &Member, row: Option<SeatRecord>, tasks: &[Task]) -> MemberShown {
        let seat = Seat { team: team.clone(), name: member.name.clone() };
        let owns = |task: &&Task| {
            task.status == Status::InProgress
                && !task.is_internal()
                && task.owner().is_some_and(|owner| {
                    is_same_agent(owner, &member.name)
                        || row.as_ref().is_some_and(|row| is_same_agent(owner, &row.agent))
                })
        };
        let tasks: Vec<(TaskId, String)> =
            tasks.iter().filter(owns).map(|task| (task.id.clone(), task.subject.clone())).collect();
        let standing = self.standing_of(team, row.as_ref());
        let (mailbox, inbox_problem) = match self.store.mailbox(&seat.team, &seat.name) {
            Ok(mailbox) => (Some(mailbox), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let unread = mailbox.as_ref().map(|mailbox| waiting_in(mailbox).len());
        let known = row.as_ref().and_then(|row| row.plan.as_ref());
        let plan = plan_after(&seat, known, &mailbox.unwrap_or_default());
        let signs = Signs {
            standing: standing.clone(),
            is_at_work: !tasks.is_empty(),
            was_asked_to_end: row.as_ref().is_some_and(|row| row.stop_request.is_some()),
            plan,
        };
        MemberShown {
            member: member.clone(),
            state: judge_member(member, &signs),
            standing,
            process: process_of(team, row.as_ref()),
            tasks,
            unread,
            inbox_problem,
            plan,
            seen: row.as_ref().and_then(|row| row.seen),
            activity: row.as_ref().and_then(|row| row.activity.clone()).filter(|activity| !activity.is_empty()),
            tool_uses: row.as_ref().map(|row| row.tool_uses).filter(|uses| *uses > 0),
            tokens: row.and_then(|row| row.tokens),
        }
    }
}

impl Teams {
    /// Submits a plan to the lead. An earlier approval no longer counts.
    pub fn show_plan(&self, from: &Seat, plan: &str) -> Result<Outcome<Sent>, TeamError> {
        let now = self.now();
        let request = format!("plan-{}@{}", now.0, from.name);
        let said = Protocol::PlanApprovalRequest {
            request: request.clone(),
            from: from.name.clone(),
            plan: plan.to_owned(),
            timestamp: now.to_string(),
        };
        let plan = Plan { request: request.clone(), state: PlanState::AwaitingApproval, at: now };
        // Recorded before it is sent, because the answer may arrive at once.
        self.store.change_seat(&from.team, &from.name, &mut |seat| seat.plan = Some(plan.clone()))?;
        let sent = self.deliver_to(from, from.team.lead(), &Letter::new(write_protocol(&said)))?;
        Ok(sent.map(|sent| Sent { request: Some(request), ..sent }))
    }

    /// Approves a plan, or rejects it with feedback. Only the lead may do so.
    pub fn answer_plan(
        &self,
        from: &Seat,
        to: &str,
        request: &str,
        rejection: Option<&str>,
    ) -> Result<Outcome<Sent>, TeamError> {
        if !from.is_lead() {
            let (lead, team) = (from.team.lead().to_owned(), from.team.name.to_string());
            return Ok(Outcome::refused(TeamRefusal::NotTheLead { lead, team }));
        }
        let now = self.now();
        let said = Protocol::PlanApprovalResponse {
            request: request.to_owned(),
            approved: rejection.is_none(),
            feedback: rejection.map(str::to_owned),
            timestamp: now.to_string(),
            permission_mode: Some("default".to_owned()),
        };
        let sent = self.send(from, to, &Letter::new(write_protocol(&said)))?;
        if let Outcome::Done(sent) = &sent {
            let member = Seat { team: from.team.clone(), name: sent.to.clone() };
            self.note_answers(&member, std::iter::once(&sent.message))?;
        }
        Ok(sent)
    }

    /// Returns the state of a member's plan, from our record or from an answer in its inbox.
    pub fn plan(&self, seat: &Seat) -> Result<PlanState, TeamError> {
        let known = self.store.seats_in(&seat.team)?.remove(&seat.name).and_then(|record| record.plan);
        if known.as_ref().is_some_and(|plan| plan.state == PlanState::Approved) {
            return Ok(PlanState::Approved);
        }
        Ok(plan_after(seat, known.as_ref(), &self.store.mailbox(&seat.team, &seat.name)?))
    }

    /// Returns whether a member may start a task. A member that must submit a plan may do so once the plan is approved.
    pub fn may_start(&self, seat: &Seat) -> Result<bool, TeamError> {
        let Some(member) = seat.member().filter(|member| member.plan_mode_required) else { return Ok(true) };
        Ok(may_start(member, self.plan(seat)?))
    }

    /// Records the answers to plans among messages, which disappear once they are acknowledged.
    pub(super) fn note_answers<'a>(
        &self,
        seat: &Seat,
        messages: impl Iterator<Item = &'a Message>,
    ) -> Result<(), TeamError> {
        let answers: Vec<&Message> =
            messages.filter(|message| after_answer(message, seat.team.lead()).is_some()).collect();
        if answers.is_empty() {
            return Ok(());
        }
        let now = self.now();
        self.store.change_seat(&seat.team, &seat.name, &mut |record| {
            for message in &answers {
                let Some(state) = answered(message, seat, record.plan.as_ref()) else { continue };
                let request = record.plan.take().map(|plan| plan.request).unwrap_or_default();
                record.plan = Some(Plan { request, state, at: now });
            }
        })
    }
}

/// Returns the state of a plan, given our record of it and its author's mailbox.
pub(super) fn plan_after(seat: &Seat, known: Option<&Plan>, mailbox: &Mailbox) -> PlanState {
    // Acknowledged messages were received and recorded before.
    let is_new = |message: &&Message| !mailbox.acknowledged.contains(&message.key());
    let state = known.map(|plan| plan.state);
    let answer = || mailbox.messages.iter().rev().filter(is_new).find_map(|message| answered(message, seat, known));
    match state {
        Some(PlanState::Approved) => PlanState::Approved,
        state => answer().or(state).unwrap_or_default(),
    }
}

/// Returns the verdict in a message on the plan that we know of; if we know of none, on any plan.
fn answered(message: &Message, seat: &Seat, known: Option<&Plan>) -> Option<PlanState> {
    let state = after_answer(message, seat.team.lead())?;
    let is_of_another = match (read_protocol(&message.text), known) {
        (Some(Protocol::PlanApprovalResponse { request, .. }), Some(plan)) => {
            !plan.request.is_empty() && plan.request != request
        }
        _ => false,
    };
    (!is_of_another).then_some(state)
}

/// A seat in the team whose list an agent uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenSeat {
    /// The seat.
    pub seat: Seat,
    /// Why that team was chosen.
    pub by: ChosenBy,
}

/// Why a team was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The client's environment or its rules determine it.
    Client,
    /// The team was joined in the caller's directory or an ancestor of it.
    Directory,
}

impl Teams {
    /// Returns the seat of an agent in the team whose list it uses in the caller's directory; `None` if it uses the
    /// directory's list.
    ///
    /// In strict rules, a name alone does not determine the list in another directory. The team is the one that was
    /// joined in the directory or its nearest ancestor, or the only team of an agent that the client's environment
    /// names as a teammate.
    pub fn chosen_seat(&self, agent: &AgentName) -> Result<Option<ChosenSeat>, TeamError> {
        let mut seats = self.seats_of(agent)?;
        if self.rules().is_client() {
            return Ok(only(seats).map(|seat| ChosenSeat { seat, by: ChosenBy::Client }));
        }
        seats.retain(|seat| seat.member().is_some_and(|member| chooses_a_list(&seat.team, member)));
        if seats.len() == 1 && self.caller.client_teammate.as_ref() == Some(agent) {
            return Ok(only(seats).map(|seat| ChosenSeat { seat, by: ChosenBy::Client }));
        }
        let Some(here) = self.caller.directory.as_deref().filter(|_| !seats.is_empty()) else { return Ok(None) };
        let joined: Vec<Option<PathBuf>> = seats.iter().map(joined_in).collect();
        let joined: Vec<Option<&Path>> = joined.iter().map(Option::as_deref).collect();
        let nearest = nearest_above(&joined, &behind_links(here));
        Ok(nearest.map(|number| ChosenSeat { seat: seats.swap_remove(number), by: ChosenBy::Directory }))
    }

    /// Returns whether a member joined its team in the caller's directory or an ancestor of it.
    pub(crate) fn joined_around_here(&self, seat: &Seat) -> bool {
        let here = self.caller.directory.as_deref().map(behind_links);
        here.is_some_and(|here| nearest_above(&[joined_in(seat).as_deref()], &here).is_some())
    }

    /// Returns the seat of an agent in the team with this list; `None` if it is in no such team, or in several.
    pub fn seat_on(&self, agent: &AgentName, list: &ListId) -> Result<Option<Seat>, TeamError> {
        let mut seats = self.seats_of(agent)?;
        seats.retain(|seat| self.list_of(&seat.team.name).is_ok_and(|of_team| of_team == *list));
        Ok(only(seats))
    }

    /// Returns the team with this list, or `None`. Teams that cannot be read are skipped.
    pub fn team_of(&self, list: &ListId) -> Result<Option<Team>, TeamError> {
        let is_its = |team: &Team| self.list_of(&team.name).is_ok_and(|of_team| of_team == *list);
        Ok(self.list()?.into_iter().find(is_its))
    }
}

fn only(seats: Vec<Seat>) -> Option<Seat> {
    <[Seat; 1]>::try_from(seats).ok().map(|[seat]| seat)
}

/// Returns the directory in which a member joined. A relative path is ignored, because its base is unknown.
fn joined_in(seat: &Seat) -> Option<PathBuf> {
    let joined = Path::new(seat.member()?.cwd.as_deref()?);
    joined.is_absolute().then(|| behind_links(joined))
}

/// Resolves links in a path; returns the path unchanged if it no longer exists.
fn behind_links(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

impl Teams {
    /// Finds unreadable files, if teams are stored in files, and members whose process has ended, sorted by path and
    /// name.
    pub fn find_trouble(&self) -> Result<Vec<TeamTrouble>, TeamError> {
        let found = self.look_around()?;
        let mut ghosts = Vec::new();
        for team in &found.teams {
            let is_member = |name: &str| name != team.lead();
            ghosts.extend(self.ghosts(team)?.into_iter().filter(|ghost| is_member(&ghost.name)).map(|ghost| {
                TeamTrouble::Ghost { team: team.name.to_string(), name: ghost.name, process: ghost.process }
            }));
        }
        let mut troubles = self.care().map_or_else(Vec::new, |care| care.find_trouble(found));
        troubles.append(&mut ghosts);
        Ok(troubles)
    }

    /// Repairs a file, as [`super::TeamFileCare::mend`] does.
    pub fn mend(&self, trouble: &TeamTrouble) -> Result<Mended, TeamError> {
        self.care().map_or(Ok(Mended::BeyondMending), |care| care.mend(trouble))
    }
}
