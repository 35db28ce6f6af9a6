//! Lists as a whole: which there are, the numbers of one, and lists that became one.

use taskyard_core::ListId;
use taskyard_core::answers::lists::{
    AgentTime, Estimate, IgnoredSetting, ListSummary, Merged, Stats, TaskTime, TimeSpent,
};
use taskyard_core::answers::values::{Ids, Shape};
use taskyard_core::rules::looking::past::{AgentAtWork, TaskTimes};
use taskyard_core::rules::looking::statistics;

use super::history::edges;
use super::tasks::loss;
use crate::config::ConfigWarning;
use crate::operations;

/// Returns a list among others. `current` is the list that the caller works on, and `name` what this one was called if it had to be changed.
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

/// Returns what of a configuration file does not count; without keys, the whole file.
pub fn ignored_setting(warning: &ConfigWarning) -> IgnoredSetting<'_> {
    let (path, keys) = match warning {
        ConfigWarning::Untrusted { path, keys } => (path, Some(keys.as_slice())),
        ConfigWarning::TrustUnknown { directory: path, .. } | ConfigWarning::NotCounted { path, .. } => (path, None),
    };
    IgnoredSetting { path: path.display().to_string(), keys, reason: warning.to_string() }
}

/// Returns a list in numbers. `is_known` says whether the journal could be read.
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
