//! What a member of a team is doing, from the signs there are.

use std::collections::HashMap;

use super::plan_approval::PlanState;
use crate::dialect::inbox::read_protocol;
use crate::rules::agents::naming::{is_same_agent, name_of};
use crate::rules::leases::liveness::Standing;
use crate::{Member, Message, Protocol, Team, Timestamp, inbox_name};

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

/// The signs of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// How it stands with what it lives with; none where it is not known which process that is.
    pub standing: Option<Standing>,
    /// Whether it has tasks in progress.
    pub is_at_work: bool,
    /// Whether a request to end is unanswered.
    pub was_asked_to_end: bool,
    /// How far its plan came.
    pub plan: PlanState,
}

/// Says what a member is doing. The dead come first, then what other members wait for.
pub fn judge_member(member: &Member, signs: &Signs) -> MemberState {
    match *signs {
        Signs { standing: Some(Standing::Ended | Standing::Silent), .. } => MemberState::Ghost,
        Signs { was_asked_to_end: true, .. } => MemberState::Stopping,
        Signs { plan: PlanState::AwaitingApproval, .. } if member.plan_mode_required => MemberState::AwaitingApproval,
        Signs { is_at_work: true, .. } => MemberState::Running,
        Signs { .. } => MemberState::Idle,
    }
}

/// Returns the members who have said that they end, from what lies in the lead's inbox: each wrote it itself, and since it joined. What
/// one of the same name said before is of another one.
pub fn ended_members<'a>(team: &'a Team, lead_mail: &[Message]) -> Vec<&'a Member> {
    let said = announced_ends(lead_mail);
    let has_ended = |member: &&Member| {
        let is_since = |sent: &Timestamp| *sent >= member.joined_at;
        !member.is_lead() && said.get(member.name.as_str()).is_some_and(is_since)
    };
    team.members.iter().filter(has_ended).collect()
}

/// Returns when a member that joins now counts as having joined: after everything that an earlier member of its name said when it ended,
/// whatever clock told the time then.
pub fn joined_after(name: &str, lead_mail: &[Message], now: Timestamp) -> Timestamp {
    let said = announced_ends(lead_mail).remove(name);
    said.map_or(now, |sent| now.max(Timestamp(sent.0.saturating_add(1))))
}

/// Returns which members have said that they end, by name, and when each last did.
fn announced_ends(lead_mail: &[Message]) -> HashMap<String, Timestamp> {
    let mut said = HashMap::new();
    for message in lead_mail {
        let Some(Protocol::ShutdownApproved { from, .. }) = read_protocol(&message.text) else { continue };
        if let Some(sent) = message.sent().filter(|_| is_same_agent(&from, &message.from)) {
            let last = said.entry(name_of(&from).to_owned()).or_insert(sent);
            *last = sent.max(*last);
        }
    }
    said
}

/// Why no agent can join under a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMemberName {
    /// It cannot be the name of a member.
    #[error("`{}` cannot be the name of a member: {why}", .name.escape_debug())]
    Unfit {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Its inbox would be that of another member.
    #[error("`{}` would share its inbox with {with}", .name.escape_debug())]
    SharesInbox {
        /// The name.
        name: String,
        /// The member that has that inbox.
        with: String,
    },
}

/// The longest name of an inbox, so that its lock and what is written beside it have names, too.
const LONGEST_INBOX_NAME: usize = 200;

/// Judges whether an agent can join a team under a name: it must say who is meant, and the inbox must be its own.
pub fn judge_member_name(team: &Team, name: &str) -> Result<(), BadMemberName> {
    let inbox = inbox_name(name);
    let unfit = |why| Err(BadMemberName::Unfit { name: name.to_owned(), why });
    if name.trim().is_empty() {
        return unfit("it is empty");
    }
    if name == "*" {
        return unfit("it stands for everybody");
    }
    if name.chars().any(char::is_control) {
        return unfit("it holds characters that cannot be shown");
    }
    if inbox.len() > LONGEST_INBOX_NAME {
        return unfit("it is too long");
    }
    // Not every file system tells capitals from small letters.
    let shares = |other: &&Member| other.name != name && inbox_name(&other.name).eq_ignore_ascii_case(&inbox);
    match team.members.iter().find(shares) {
        Some(other) => Err(BadMemberName::SharesInbox { name: name.to_owned(), with: other.name.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{BadMemberName, MemberState, Signs, ended_members, joined_after, judge_member, judge_member_name};
    use crate::rules::leases::liveness::Standing;
    use crate::rules::samples::team;
    use crate::rules::teams::plan_approval::PlanState;
    use crate::{Member, Message, Timestamp};

    #[test]
    fn a_member_that_says_that_it_ends_has_ended_and_no_other() {
        let mut team = team(&["team-lead", "ana", "bob", "cyd"]);
        let at = |moment: &str| Timestamp::parse(moment).unwrap();
        team.members.iter_mut().for_each(|member| member.joined_at = at("2026-11-16T04:00:00.000Z"));
        let says = |sender: &str, kind: &str, from: &str, time: &str| Message {
            from: sender.into(),
            text: format!(
                r#"{{"type":"{kind}","requestId":"shutdown-1@{from}","from":"{from}","reason":"r","timestamp":"{time}"}}"#
            ),
            summary: None,
            timestamp: time.into(),
            color: None,
            msg_id: None,
            read: true,
        };
        let later = "2026-11-16T04:00:00.001Z";
        let mail = [
            says("bob", "shutdown_approved", "bob", later),
            says("ana", "shutdown_rejected", "ana", later),
            says("ana", "shutdown_approved", "cyd", later),
            says("cyd", "shutdown_approved", "cyd", "2026-11-16T03:59:59.999Z"),
            says("team-lead", "shutdown_approved", "team-lead", later),
            says("eve", "shutdown_approved", "eve", later),
        ];
        let ended: Vec<&str> = ended_members(&team, &mail).iter().map(|member| member.name.as_str()).collect();
        assert_eq!(ended, ["bob"]);
        // One that comes back under the name is not the one that ended, though a clock was ahead then.
        team.members[2].joined_at = joined_after("bob", &mail, at("2026-11-16T03:00:00.000Z"));
        assert_eq!(ended_members(&team, &mail), [] as [&Member; 0]);
        assert_eq!(joined_after("dan", &mail, at(later)), at(later));
    }

    #[test]
    fn the_dead_are_ghosts_and_what_others_wait_for_comes_before_work() {
        let member = Member { name: "bob".into(), plan_mode_required: true, ..Member::default() };
        let all = Signs {
            standing: Some(Standing::Ended),
            is_at_work: true,
            was_asked_to_end: true,
            plan: PlanState::AwaitingApproval,
        };
        let silent = Signs { standing: Some(Standing::Silent), ..all.clone() };
        let alive = Signs { standing: Some(Standing::Lives), ..all.clone() };
        let not_ending = Signs { was_asked_to_end: false, ..alive.clone() };
        let approved = Signs { plan: PlanState::Approved, ..not_ending.clone() };
        let idle = Signs { is_at_work: false, standing: None, ..approved.clone() };
        for (signs, state) in [
            (all, MemberState::Ghost),
            (silent, MemberState::Ghost),
            (alive, MemberState::Stopping),
            (not_ending.clone(), MemberState::AwaitingApproval),
            (approved, MemberState::Running),
            (idle, MemberState::Idle),
        ] {
            assert_eq!(judge_member(&member, &signs), state, "{signs:?}");
        }
        let free = Member { plan_mode_required: false, ..member };
        assert_eq!(judge_member(&free, &not_ending), MemberState::Running);
    }

    #[test]
    fn a_name_says_who_is_meant_and_has_an_inbox_of_its_own() {
        let team = team(&["team-lead", "a-b"]);
        for name in ["a-b", "bob", "é", "a_b", ".."] {
            assert_eq!(judge_member_name(&team, name), Ok(()), "{name}");
        }
        for name in ["", " ", "*", "a\nb", "\u{1b}[31m", &"x".repeat(300)] {
            assert!(matches!(judge_member_name(&team, name), Err(BadMemberName::Unfit { .. })), "{name}");
        }
        for name in ["a b", "a/b", "A-B", "Team-Lead"] {
            assert!(matches!(judge_member_name(&team, name), Err(BadMemberName::SharesInbox { .. })), "{name}");
        }
    }
}
