//! Teams and messages.

use taskyard_core::answers::teams::{Member, Outbox, Sent, SentMessage, SentToAll, SentToOne, TeamLeft, TeamShown};
use taskyard_core::rules::leases::liveness::Standing;

use super::claims::unassigned;
use crate::operations::Departed;
use crate::teams::{self, DeliveryState, MemberShown, Seat};

impl<'a> From<&'a teams::TeamShown> for TeamShown<'a> {
    fn from(shown: &'a teams::TeamShown) -> Self {
        Self {
            team: shown.team.name.as_str(),
            description: shown.team.description.as_deref(),
            members: shown.members.iter().map(Into::into).collect(),
        }
    }
}

impl<'a> From<&'a MemberShown> for Member<'a> {
    fn from(shown: &'a MemberShown) -> Self {
        let member = &shown.member;
        Self {
            name: &member.name,
            lead: member.is_lead(),
            color: member.colour(),
            state: shown.state,
            alive: match shown.standing {
                Some(Standing::Lives) => Some(true),
                Some(Standing::Ended | Standing::Lapses(_)) => Some(false),
                Some(Standing::LivesUnseen(_) | Standing::Silent) | None => None,
            },
            leaves_at: match &shown.standing {
                Some(Standing::Lapses(end) | Standing::LivesUnseen(end)) => Some(end.wall.to_string()),
                _ => None,
            },
            process: shown.process,
            tasks: shown.tasks.iter().map(|(id, _)| id.as_str()).collect(),
            unread: shown.unread,
            inbox_problem: shown.inbox_problem.as_deref(),
            plan_mode_required: member.plan_mode_required,
            plan: shown.plan,
            joined_at: member.joined_at.to_string(),
            seen: shown.seen.map(|seen| seen.to_string()),
            activity: shown.activity.as_deref(),
            tool_uses: shown.tool_uses,
            tokens: shown.tokens,
        }
    }
}

/// Returns what a member leaves behind that has left its team.
pub fn team_left<'a>(seat: &'a Seat, departed: &'a Departed) -> TeamLeft<'a> {
    TeamLeft {
        team: seat.team.name.as_str(),
        agent: &seat.name,
        unassigned_tasks: unassigned(departed),
        notification_message: &departed.notice,
    }
}

impl<'a> From<&'a teams::Sent> for Sent<'a> {
    fn from(sent: &'a teams::Sent) -> Self {
        Self { message: sent.into(), request: sent.request.as_deref() }
    }
}

impl<'a> From<&'a teams::Sent> for SentToOne<'a> {
    fn from(sent: &'a teams::Sent) -> Self {
        let (id, timestamp) = (sent.message.msg_id.as_deref(), sent.message.timestamp.as_str());
        Self { to: &sent.to, id, timestamp, state: DeliveryState::Sent }
    }
}

/// Returns a message to all: those it was sent to, and those it did not reach, with the reason.
pub fn broadcast<'a>(sent: &'a [teams::Sent], missed: &'a [String]) -> SentToAll<'a> {
    SentToAll { reached: sent.len(), sent: sent.iter().map(Into::into).collect(), missed }
}

/// Returns what a member has sent, and how far each message came.
pub fn outbox<'a>(seat: &'a Seat, outbox: &'a teams::Outbox) -> Outbox<'a> {
    fn message(sent: &teams::SentMessage) -> SentMessage<'_> {
        let timestamp = sent.at.to_string();
        SentMessage { id: &sent.key, to: &sent.to, timestamp, summary: &sent.summary, state: sent.state }
    }
    Outbox { team: seat.team.name.as_str(), agent: &seat.name, messages: outbox.messages.iter().map(message).collect() }
}
