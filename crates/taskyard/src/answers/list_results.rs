//! Converts results of operations on lists and teams into the answers that programs receive.

use std::collections::BTreeSet;
use std::path::PathBuf;

use taskyard_core::ListId;
use taskyard_core::answers::answer_values::{Ids, Shape, losses};
use taskyard_core::answers::answer_words::Severity;
use taskyard_core::answers::list_answers::{
    AgentTime, Estimate, IgnoredSetting, ListSummary, Merged, Stats, TaskTime, TimeSpent,
};
use taskyard_core::answers::maintenance_answers::Finding;
use taskyard_core::answers::team_answers::{
    Member, Outbox, Sent, SentMessage, SentToAll, SentToOne, TeamLeft, TeamShown,
};
use taskyard_core::rules::leases::liveness::Standing;
use taskyard_core::rules::looking::past::{AgentAtWork, TaskTimes};
use taskyard_core::rules::looking::statistics;

use crate::answers::task_results::{edges, loss, unassigned};
use crate::config::{Config, ConfigWarning};
use crate::operations::{Departed, Fix};
use crate::teams::{DeliveryState, MemberShown, Seat};
use crate::{operations, teams};

/// Returns a list among others. `current` is the list that the caller works on; `name` is the original name of this one
/// if it had to be changed.
pub fn list_summary<'a>(known: &'a operations::KnownList, current: &ListId, name: Option<&'a str>) -> ListSummary<'a> {
    let operations::KnownList { info, gone } = known;
    ListSummary {
        list: info.list.as_str(),
        path: info.path.as_ref().map(|path| path.display().to_string()),
        counts: info.counts.into(),
        changed: info.changed.map(|changed| changed.to_string()),
        current: info.list == *current,
        name,
        gone: gone.as_ref().map(Into::into),
    }
}

/// Returns which keys of a configuration file are ignored; without keys, the whole file is.
pub fn ignored_setting(warning: &ConfigWarning) -> IgnoredSetting<'_> {
    let (path, keys) = match warning {
        ConfigWarning::Untrusted { path, keys } => (path, Some(keys.as_slice())),
        ConfigWarning::TrustUnknown { directory: path, .. } | ConfigWarning::NotCounted { path, .. } => (path, None),
    };
    IgnoredSetting { path: path.display().to_string(), keys, reason: warning.to_string() }
}

/// Returns the statistics of a list. `is_known` says whether the journal could be read.
pub fn stats<'a>(stats: &'a statistics::Stats, spent: &'a operations::TimeSpent, is_known: bool) -> Stats<'a> {
    fn counted(pairs: &[(String, usize)]) -> impl Iterator<Item = (&str, usize)> {
        pairs.iter().map(|(word, count)| (word.as_str(), *count))
    }
    Stats {
        counts: stats.counts.into(),
        ready: stats.ready,
        blocked: stats.blocked,
        cancelled: stats.cancelled,
        overdue: stats.overdue,
        deferred: stats.deferred,
        estimates: stats.estimates.iter().map(estimate).collect(),
        unreadable: stats.unreadable,
        edges: stats.edges,
        longest_chain: Ids(&stats.longest_chain),
        owners: stats.owners.iter().map(|(owner, counts)| (owner.as_str(), (*counts).into())).collect(),
        priorities: counted(&stats.priorities).collect(),
        tags: counted(&stats.tags).collect(),
        revision: is_known.then_some(stats.revision.0),
        time_spent: spent.into(),
        gone: loss(stats.gone.as_ref()),
    }
}

fn estimate(estimate: &statistics::Estimate) -> Estimate<'_> {
    Estimate {
        task: estimate.task.as_str(),
        completed: estimate.is_completed,
        estimate: estimate.expected.as_secs(),
        in_progress: estimate.in_progress.as_secs(),
    }
}

impl<'a> From<&'a operations::TimeSpent> for TimeSpent<'a> {
    fn from(spent: &'a operations::TimeSpent) -> Self {
        fn agent(agent: &AgentAtWork) -> AgentTime<'_> {
            AgentTime { agent: &agent.agent, seconds: agent.at_work.as_secs(), tasks: agent.tasks }
        }
        fn task(times: &TaskTimes) -> TaskTime<'_> {
            TaskTime {
                task: times.task.as_str(),
                seconds: times.in_progress.as_secs(),
                agents: times.agents.iter().map(|(agent, time)| (agent.as_str(), time.as_secs())).collect(),
            }
        }
        Self { agents: spent.agents.iter().map(agent).collect(), tasks: spent.tasks.iter().map(task).collect() }
    }
}

/// Returns the tasks that moved from one list to another.
pub fn merged<'a>(merged: &'a operations::Merged, from: &'a ListId, into: &'a ListId) -> Merged<'a> {
    Merged {
        from: from.as_str(),
        into: into.as_str(),
        mapping: merged.mapping.iter().map(|(old, new)| (old.as_str(), new.as_str())).collect(),
        tasks: merged.tasks.iter().map(Shape).collect(),
        dropped_edges: edges(&merged.dropped_edges),
    }
}

impl From<&operations::Finding> for Finding {
    fn from(finding: &operations::Finding) -> Self {
        Self {
            code: finding.code.as_str(),
            task: finding.task.as_ref().map(ToString::to_string),
            file: finding.file.clone(),
            message: finding.message.clone(),
            means: finding.code.meaning(),
            fix: finding.fix.as_ref().map(Fix::describe),
            severity: finding.code.is_warning().then_some(Severity::Warning),
            lost: match &finding.fix {
                Some(Fix::PutBack(lost)) => Some(losses(&lost.entry, &lost.losses)),
                _ => None,
            },
        }
    }
}

/// Returns the unknown keys of configuration files, as findings.
pub fn unknown_settings(config: &Config) -> Vec<Finding> {
    let unknown = config.layers.iter().flat_map(|layer| layer.unknown.iter().map(|key| (&layer.path, key)));
    unknown
        .map(|(path, key)| {
            let path = path.display().to_string();
            let message = format!("unknown key `{key}` in {path}");
            let means = "it is ignored; check the spelling";
            Finding { file: Some(path), ..not_of_a_task("unknown_setting", message, means) }
        })
        .collect()
}

/// Returns the finding that several repositories share one list, if there is more than one root.
pub fn shared_list(list: &ListId, roots: &BTreeSet<PathBuf>) -> Option<Finding> {
    if roots.len() < 2 {
        return None;
    }
    let roots: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    let message = format!(
        "{} share list {list}; `taskyard use LIST` in one of them gives it a list of its own",
        roots.join(" and ")
    );
    let means = "several repositories share a list, from before each repository had its own";
    Some(Finding { severity: Some(Severity::Warning), ..not_of_a_task("shared_list", message, means) })
}

fn not_of_a_task(code: &'static str, message: String, means: &'static str) -> Finding {
    Finding { code, task: None, file: None, message, means, fix: None, severity: None, lost: None }
}

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

/// Returns what a member that left its team left behind.
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

/// Returns a broadcast: the recipients it reached, and those it did not reach with the reason.
pub fn broadcast<'a>(sent: &'a [teams::Sent], missed: &'a [String]) -> SentToAll<'a> {
    SentToAll { reached: sent.len(), sent: sent.iter().map(Into::into).collect(), missed }
}

/// Returns the messages that a member has sent, with their delivery state.
pub fn outbox<'a>(seat: &'a Seat, outbox: &'a teams::Outbox) -> Outbox<'a> {
    fn message(sent: &teams::SentMessage) -> SentMessage<'_> {
        let timestamp = sent.at.to_string();
        SentMessage { id: &sent.key, to: &sent.to, timestamp, summary: &sent.summary, state: sent.state }
    }
    Outbox { team: seat.team.name.as_str(), agent: &seat.name, messages: outbox.messages.iter().map(message).collect() }
}
