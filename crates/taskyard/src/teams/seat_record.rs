//! What is remembered of a seat: who took it, what that one lives with, and how far its plan came.

use taskyard_core::rules::teams::plan_approval::PlanState;
use taskyard_core::{AgentName, Holder, Team, Timestamp};

/// What is remembered of a seat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeatRecord {
    /// The name that the member there acts under; empty where only a plan is known.
    pub agent: String,
    /// What it lives with.
    pub holder: Option<Holder>,
    /// When it last showed a sign of life; none where only a plan is known.
    pub seen: Option<Timestamp>,
    /// What it did then; empty where it sat down and has done nothing since, none where it never sat down: so members that did are told
    /// from members of the client's of whom something else is remembered.
    pub activity: Option<String>,
    /// How many tools it called.
    pub tool_uses: u64,
    /// How many tokens it used, where that is known.
    pub tokens: Option<u64>,
    /// The request to end that it has not answered.
    pub stop_request: Option<String>,
    /// The plan it showed.
    pub plan: Option<Plan>,
}

/// How far a plan came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The request it was shown with.
    pub request: String,
    /// How far it came.
    pub state: PlanState,
    /// When it came so far.
    pub at: Timestamp,
}

/// A seat that an agent took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatTaken {
    /// The name of the team's directory, as `TeamName::directory` makes it.
    pub directory: String,
    /// When that team was made: another may have its name since.
    pub made: Timestamp,
    /// The name of the member.
    pub member: String,
}

impl SeatRecord {
    /// Has an agent sit down, or sit down again; what was counted there stays.
    pub(super) fn sit(&mut self, agent: &AgentName, holder: Option<Holder>, now: Timestamp) {
        self.agent = agent.to_string();
        self.holder = holder;
        self.seen = Some(now);
        self.activity.get_or_insert_default();
    }

    /// Notes something about a member that may never have sat down.
    pub(super) fn note(&mut self, member: &str, now: Timestamp) {
        if self.seen.is_none() {
            self.agent = member.to_owned();
            self.seen = Some(now);
        }
    }

    /// Notes that a member made calls, and what the last one was.
    pub fn note_calls(&mut self, member: &str, activity: &str, count: u64, now: Timestamp) {
        self.note(member, now);
        self.seen = Some(now);
        self.activity = Some(activity.to_owned());
        self.tool_uses += count;
    }
}

impl SeatTaken {
    /// Tells whether it is a seat of this team.
    pub(super) fn is_in(&self, team: &Team) -> bool {
        self.directory == team.name.directory() && self.made == team.created_at
    }
}
