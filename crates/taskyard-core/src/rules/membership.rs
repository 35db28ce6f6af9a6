//! What a member of a team is doing, from the signs there are.

use super::plan_approval::PlanState;
use crate::Member;

/// What a member is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It works on something.
    Running,
    /// It has nothing to do.
    Idle,
    /// It was asked to end.
    Stopping,
    /// Its plan waits for the lead.
    AwaitingApproval,
    /// It is in the team's file, and what it lived with has ended.
    Ghost,
}

impl MemberState {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Stopping => "stopping",
            Self::AwaitingApproval => "awaiting approval",
            Self::Ghost => "ghost",
        }
    }
}

/// Whether a member lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Liveness {
    /// What it lives with is there.
    Alive,
    /// What it lived with has ended.
    Dead,
    /// Nobody said what it lives with.
    #[default]
    Unknown,
}

/// The signs of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// Whether it lives.
    pub liveness: Liveness,
    /// Whether it has tasks in progress.
    pub is_at_work: bool,
    /// Whether a request to end is unanswered.
    pub was_asked_to_end: bool,
    /// How far its plan came.
    pub plan: PlanState,
}

/// Says what a member is doing. The dead come first, then what others wait for.
pub fn judge_member(member: &Member, signs: Signs) -> MemberState {
    match signs {
        Signs { liveness: Liveness::Dead, .. } => MemberState::Ghost,
        Signs { was_asked_to_end: true, .. } => MemberState::Stopping,
        Signs { plan: PlanState::AwaitingApproval, .. } if member.plan_mode_required => MemberState::AwaitingApproval,
        Signs { is_at_work: true, .. } => MemberState::Running,
        Signs { .. } => MemberState::Idle,
    }
}

#[cfg(test)]
mod tests {
    use super::{Liveness, MemberState, Signs, judge_member};
    use crate::Member;
    use crate::rules::plan_approval::PlanState;

    #[test]
    fn the_dead_are_ghosts_and_what_others_wait_for_comes_before_work() {
        let member = Member { name: "bob".into(), plan_mode_required: true, ..Member::default() };
        let all = Signs {
            liveness: Liveness::Dead,
            is_at_work: true,
            was_asked_to_end: true,
            plan: PlanState::AwaitingApproval,
        };
        let alive = Signs { liveness: Liveness::Alive, ..all };
        let not_ending = Signs { was_asked_to_end: false, ..alive };
        let approved = Signs { plan: PlanState::Approved, ..not_ending };
        let idle = Signs { is_at_work: false, liveness: Liveness::Unknown, ..approved };
        for (signs, state) in [
            (all, MemberState::Ghost),
            (alive, MemberState::Stopping),
            (not_ending, MemberState::AwaitingApproval),
            (approved, MemberState::Running),
            (idle, MemberState::Idle),
        ] {
            assert_eq!(judge_member(&member, signs), state, "{signs:?}");
        }
        let free = Member { plan_mode_required: false, ..member };
        assert_eq!(judge_member(&free, not_ending), MemberState::Running);
    }
}
