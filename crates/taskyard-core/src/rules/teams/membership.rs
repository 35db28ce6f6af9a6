//! Team membership: what a member is doing, whether it may start a task, valid member names, and which team's list
//! applies.

use std::collections::HashMap;
use std::path::Path;

use crate::dialect::inbox::read_protocol;
use crate::rules::agents::{is_same_agent, name_of};
use crate::rules::leases::liveness::Standing;
use crate::rules::lists::short_session_list;
use crate::{Member, Message, Protocol, Team, Timestamp, inbox_name};

/// What a member is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It has a task in progress.
    Running,
    /// It is idle.
    Idle,
    /// It was asked to shut down.
    Stopping,
    /// Its plan awaits the lead's approval.
    AwaitingApproval,
    /// It is still listed in the team file, but its process has ended or been silent for too long.
    Ghost,
}

impl MemberState {
    /// Returns the name of the state.
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

/// What is known about a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// The state of the process that the member lives with, or `None` if that process is not known.
    pub standing: Option<Standing>,
    /// Whether it has tasks in progress.
    pub is_at_work: bool,
    /// Whether a shutdown request is unanswered.
    pub was_asked_to_end: bool,
    /// The state of its plan.
    pub plan: PlanState,
}

/// Returns what a member is doing. A dead process takes precedence, then the states that other members wait for.
pub fn judge_member(member: &Member, signs: &Signs) -> MemberState {
    match *signs {
        Signs { standing: Some(Standing::Ended | Standing::Silent), .. } => MemberState::Ghost,
        Signs { was_asked_to_end: true, .. } => MemberState::Stopping,
        Signs { plan: PlanState::AwaitingApproval, .. } if member.plan_mode_required => MemberState::AwaitingApproval,
        Signs { is_at_work: true, .. } => MemberState::Running,
        Signs { .. } => MemberState::Idle,
    }
}

/// Returns the members who have announced their end, according to the lead's inbox. An announcement counts only if the
/// member itself sent it after it joined; an older one comes from an earlier member of the same name.
pub fn ended_members<'a>(team: &'a Team, lead_mail: &[Message]) -> Vec<&'a Member> {
    let said = announced_ends(lead_mail);
    let has_ended = |member: &&Member| {
        let is_since = |sent: &Timestamp| *sent >= member.joined_at;
        !member.is_lead() && said.get(member.name.as_str()).is_some_and(is_since)
    };
    team.members.iter().filter(has_ended).collect()
}

/// Returns the join time for a member that joins now. It is later than any announcement of an earlier member of the
/// same name, even if that member's clock was ahead.
pub fn joined_after(name: &str, lead_mail: &[Message], now: Timestamp) -> Timestamp {
    let said = announced_ends(lead_mail).remove(name);
    said.map_or(now, |sent| now.max(Timestamp(sent.0.saturating_add(1))))
}

/// Returns the members who have announced their end, by name, with the time of their last announcement.
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

/// Why a name cannot be used to join a team.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMemberName {
    /// It is not a valid member name.
    #[error("`{}` cannot be the name of a member: {why}", .name.escape_debug())]
    Unfit {
        /// The given name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It would share its inbox with another member.
    #[error("`{}` would share its inbox with {with}", .name.escape_debug())]
    SharesInbox {
        /// The given name.
        name: String,
        /// The member that owns the inbox.
        with: String,
    },
}

/// Maximum length of an inbox name. Leaves room for the names of its lock and temporary files.
const LONGEST_INBOX_NAME: usize = 200;

/// Judges whether an agent can join a team under a name. The name must be unambiguous and its inbox must not belong to
/// another member.
pub fn judge_member_name(team: &Team, name: &str) -> Result<(), BadMemberName> {
    let inbox = inbox_name(name);
    let unfit = |why| Err(BadMemberName::Unfit { name: name.to_owned(), why });
    if name.trim().is_empty() {
        return unfit("it is empty");
    }
    if name == "*" {
        return unfit("it addresses everybody");
    }
    if name.chars().any(char::is_control) {
        return unfit("it contains unprintable characters");
    }
    if inbox.len() > LONGEST_INBOX_NAME {
        return unfit("it is too long");
    }
    // Some file systems ignore case.
    let shares = |other: &&Member| other.name != name && inbox_name(&other.name).eq_ignore_ascii_case(&inbox);
    match team.members.iter().find(shares) {
        Some(other) => Err(BadMemberName::SharesInbox { name: name.to_owned(), with: other.name.clone() }),
        None => Ok(()),
    }
}

/// The state of an agent's plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanState {
    /// No plan was submitted.
    #[default]
    NotShown,
    /// The lead has not answered yet.
    AwaitingApproval,
    /// The lead rejected the plan.
    Rejected,
    /// The lead approved the plan.
    Approved,
}

/// Returns whether a member may start a task.
pub fn may_start(member: &Member, plan: PlanState) -> bool {
    !member.plan_mode_required || member.is_lead() || plan == PlanState::Approved
}

/// Returns the state of the plan after a message. Returns `None` if the message is not from the lead or is not about a
/// plan.
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

/// Returns whether membership in the team determines the list that the member works on.
///
/// The newest client creates a team for every session automatically. An agent that the client itself put into such a
/// team works on the project's list, as the users do. An agent that joined it did so by choice.
pub fn chooses_a_list(team: &Team, member: &Member) -> bool {
    let is_made_by_itself =
        team.lead_session.as_deref().is_some_and(|session| team.name.as_str() == short_session_list(session));
    // The client records a prompt for the members that it started.
    !is_made_by_itself || !(member.is_lead() || member.prompt.is_some())
}

/// Returns the index of the joined directory that applies in `here`: `here` itself, or its nearest ancestor. Returns
/// `None` if none is an ancestor, or if two teams were joined in the nearest one.
///
/// All paths must have their symbolic links resolved. Relative paths are ignored.
pub fn nearest_above(joined: &[Option<&Path>], here: &Path) -> Option<usize> {
    let depth = |path: &Path| path.components().count();
    let above = joined.iter().enumerate().filter_map(|(number, path)| {
        let path = (*path)?;
        (path.is_absolute() && here.starts_with(path)).then(|| (number, depth(path)))
    });
    let above: Vec<(usize, usize)> = above.collect();
    let nearest = above.iter().map(|(_, depth)| *depth).max()?;
    let mut nearest = above.iter().filter(|(_, depth)| *depth == nearest);
    match (nearest.next(), nearest.next()) {
        (Some((number, _)), None) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::PlanState;
    use super::{BadMemberName, MemberState, Signs, ended_members, joined_after, judge_member, judge_member_name};
    use crate::rules::leases::liveness::Standing;
    use crate::rules::samples::team;
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
        // The member that rejoins under the name is not the one that ended, even though the clock was ahead then.
        team.members[2].joined_at = joined_after("bob", &mail, at("2026-11-16T03:00:00.000Z"));
        assert_eq!(ended_members(&team, &mail), [] as [&Member; 0]);
        assert_eq!(joined_after("dan", &mail, at(later)), at(later));
    }

    #[test]
    fn ghosts_are_reported_and_awaited_tasks_come_first() {
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

#[cfg(test)]
mod plan_approval_tests {
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

#[cfg(test)]
mod team_choice_tests {
    use std::path::Path;

    use super::{chooses_a_list, nearest_above};
    use crate::{Member, Team, TeamName, Timestamp};

    fn nearest(joined: &[&str], here: &str) -> Option<usize> {
        let joined: Vec<Option<&Path>> = joined.iter().map(|path| Some(Path::new(*path))).collect();
        nearest_above(&joined, Path::new(here))
    }

    #[test]
    fn a_team_counts_where_it_was_joined_and_below() {
        for here in ["/w/shop", "/w/shop/src", "/w/shop/.claude/worktrees/one"] {
            assert_eq!(nearest(&["/w/shop"], here), Some(0), "{here}");
        }
        for here in ["/w", "/w/shopping", "/w/shop-2/src", "/", "/w/other"] {
            assert_eq!(nearest(&["/w/shop"], here), None, "{here}");
        }
    }

    #[test]
    fn nearest_joined_team_counts_and_a_tie_gives_none() {
        assert_eq!(nearest(&["/w", "/w/shop"], "/w/shop/src"), Some(1));
        assert_eq!(nearest(&["/w", "/w/shop"], "/w/other"), Some(0));
        assert_eq!(nearest(&["/w/shop", "/w/shop"], "/w/shop"), None);
        assert_eq!(nearest(&["/w", "/w/shop", "/w/shop"], "/w/shop"), None);
    }

    #[test]
    fn what_names_no_place_counts_nowhere() {
        assert_eq!(nearest(&["shop", ".", ""], "/w/shop"), None);
        assert_eq!(nearest_above(&[None], Path::new("/w/shop")), None);
    }

    #[test]
    fn implicit_client_team_counts_only_for_those_who_joined() {
        let member = |name: &str, prompt: Option<&str>| Member {
            name: name.into(),
            prompt: prompt.map(str::to_owned),
            ..Member::default()
        };
        let team = |name: &str| Team {
            name: TeamName::new(name).unwrap(),
            description: None,
            created_at: Timestamp(0),
            lead_session: Some("0123abcd-1111-2222".into()),
            lead_process: None,
            members: Vec::new(),
        };
        let (lead, theirs, ours) = (member("team-lead", None), member("bob", Some("do it")), member("zed", None));
        let chosen = |name: &str| [&lead, &theirs, &ours].map(|member| chooses_a_list(&team(name), member));
        assert_eq!(chosen("session-0123abcd"), [false, false, true]);
        assert_eq!(chosen("shop"), [true, true, true]);
    }
}
