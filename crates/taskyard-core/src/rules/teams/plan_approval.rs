//! Whether an agent that has to show its plan first may begin.

use crate::dialect::inbox::read_protocol;
use crate::rules::agents::naming::is_same_agent;
use crate::{Member, Message, Protocol};

/// How far the plan of an agent came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanState {
    /// It has shown none.
    #[default]
    NotShown,
    /// The lead has not answered.
    AwaitingApproval,
    /// The lead wants another one.
    Rejected,
    /// The lead has approved it.
    Approved,
}

/// Tells whether a member may start a task.
pub fn may_start(member: &Member, plan: PlanState) -> bool {
    !member.plan_mode_required || member.is_lead() || plan == PlanState::Approved
}

/// Returns how far a plan is after a message of the lead's; none where the message says nothing of plans, or is not the lead's.
pub fn after_answer(message: &Message, lead: &str) -> Option<PlanState> {
    if !is_same_agent(&message.from, lead) {
        return None;
    }
    match read_protocol(&message.text)? {
        Protocol::PlanApprovalResponse { approved: true, .. } => Some(PlanState::Approved),
        Protocol::PlanApprovalResponse { approved: false, .. } => Some(PlanState::Rejected),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{PlanState, after_answer, may_start};
    use crate::{Member, Message};

    #[test]
    fn only_who_must_plan_waits_and_only_for_an_approval() {
        let member = |name: &str, plan| Member { name: name.into(), plan_mode_required: plan, ..Member::default() };
        assert!(may_start(&member("bob", false), PlanState::NotShown));
        assert!(may_start(&member("team-lead", true), PlanState::NotShown));
        for plan in [PlanState::NotShown, PlanState::AwaitingApproval, PlanState::Rejected] {
            assert!(!may_start(&member("bob", true), plan), "{plan:?}");
        }
        assert!(may_start(&member("bob", true), PlanState::Approved));
    }

    #[test]
    fn only_the_leads_answer_counts() {
        let answer = |from: &str, approved: bool| Message {
            from: from.into(),
            text: format!(
                r#"{{"type":"plan_approval_response","requestId":"r","approved":{approved},"timestamp":"t"}}"#
            ),
            summary: None,
            timestamp: String::new(),
            color: None,
            msg_id: None,
            read: false,
        };
        assert_eq!(after_answer(&answer("team-lead", true), "team-lead"), Some(PlanState::Approved));
        assert_eq!(after_answer(&answer("team-lead@alpha", false), "team-lead"), Some(PlanState::Rejected));
        assert_eq!(after_answer(&answer("bob", true), "team-lead"), None);
        assert_eq!(after_answer(&Message { text: "go".into(), ..answer("team-lead", true) }, "team-lead"), None);
    }
}
