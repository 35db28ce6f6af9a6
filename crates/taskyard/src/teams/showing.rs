//! What each member of a team is doing.

use taskyard_core::rules::agents::naming::is_same_agent;
use taskyard_core::rules::leases::liveness::Standing;
use taskyard_core::rules::teams::mailing::reads_no_messages_yet;
use taskyard_core::rules::teams::membership::{MemberState, Signs, judge_member};
use taskyard_core::rules::teams::plan_approval::PlanState;
use taskyard_core::view::{AgentRow, HeldTask};
use taskyard_core::{Member, Status, Task, TaskId, Team, Timestamp};

use super::TeamError;
use super::joining::process_of;
use super::planning::plan_after;
use super::receiving::waiting_in;
use super::register::Teams;
use super::seat::Seat;
use super::seat_record::SeatRecord;

/// A team and what its members are doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamShown {
    /// The team.
    pub team: Team,
    /// Its members, the lead first.
    pub members: Vec<MemberShown>,
}

/// A member and what it is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberShown {
    /// The member.
    pub member: Member,
    /// What it is doing.
    pub state: MemberState,
    /// How it stands with what it lives with; none where it is not known which process that is.
    pub standing: Option<Standing>,
    /// The process it lives or lived with, where that is known.
    pub process: Option<u32>,
    /// The tasks it has in progress.
    pub tasks: Vec<(TaskId, String)>,
    /// How many messages it has not acknowledged; none where its inbox cannot be read.
    pub unread: Option<usize>,
    /// Why its inbox cannot be read.
    pub inbox_problem: Option<String>,
    /// How far its plan came.
    pub plan: PlanState,
    /// When it last did something we know of.
    pub seen: Option<Timestamp>,
    /// What that was.
    pub activity: Option<String>,
    /// How many tools it called, where that is known.
    pub tool_uses: Option<u64>,
    /// How many tokens it used, where that is known.
    pub tokens: Option<u64>,
}

impl MemberShown {
    /// Returns the row that boards show of it, given what is known of the tasks it holds.
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
    /// Returns what each member of a team is doing, given its tasks.
    pub fn show(&self, team: &Team, tasks: &[Task]) -> Result<TeamShown, TeamError> {
        let mut seats = self.store.seats_in(team)?;
        let show = |member: &Member| self.show_member(team, member, seats.remove(&member.name), tasks);
        Ok(TeamShown { team: team.clone(), members: team.members.iter().map(show).collect() })
    }

    /// Tells whether the program of a member reads no messages yet, as far as that can be told.
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
