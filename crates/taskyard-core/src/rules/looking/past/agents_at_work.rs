//! Which agents were at work when.

use std::collections::BTreeMap;
use std::time::Duration;

use super::list_past::{LifeState, ListPast};
use crate::Timestamp;

/// When an agent was at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAtWork {
    /// Its name.
    pub agent: String,
    /// The times in which it had a task in progress, in order; none touches another.
    pub(crate) stretches: Vec<(Timestamp, Timestamp)>,
    /// How many tasks it had in progress.
    pub tasks: usize,
    /// How long it was at work in all.
    pub at_work: Duration,
}

/// Returns which agents had tasks in progress within a time, those that began first first.
pub fn agents_at_work(past: &ListPast, from: Timestamp, until: Timestamp) -> Vec<AgentAtWork> {
    let mut spans: BTreeMap<&str, Vec<(Timestamp, Timestamp)>> = BTreeMap::new();
    let mut tasks: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, stretches) in past.tasks() {
        let mut counted: Vec<&str> = Vec::new();
        for stretch in stretches.iter().filter(|stretch| stretch.state == LifeState::InProgress) {
            let Some(owner) = stretch.owner.as_deref() else { continue };
            let begun = stretch.from.map_or(from, |begun| begun.max(from));
            let ended = stretch.until.map_or(until, |ended| ended.min(until));
            if begun >= ended {
                continue;
            }
            spans.entry(owner).or_default().push((begun, ended));
            if !counted.contains(&owner) {
                counted.push(owner);
                *tasks.entry(owner).or_default() += 1;
            }
        }
    }
    let mut agents: Vec<AgentAtWork> = spans
        .into_iter()
        .map(|(agent, spans)| {
            let stretches = joined(spans);
            let length = |(from, until): &(Timestamp, Timestamp)| u64::try_from(until.0 - from.0).unwrap_or(0);
            let at_work = Duration::from_millis(stretches.iter().map(length).sum());
            AgentAtWork { agent: agent.to_owned(), stretches, tasks: tasks[agent], at_work }
        })
        .collect();
    agents.sort_by_key(|agent| agent.stretches.first().copied());
    agents
}

/// Returns spans as those that none of the others touches.
fn joined(mut spans: Vec<(Timestamp, Timestamp)>) -> Vec<(Timestamp, Timestamp)> {
    spans.sort_unstable();
    let mut joined: Vec<(Timestamp, Timestamp)> = Vec::with_capacity(spans.len());
    for (from, until) in spans {
        match joined.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = last.1.max(until),
            None => joined.push((from, until)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::list_past::tests::past;
    use super::{AgentAtWork, agents_at_work};
    use crate::Timestamp;

    #[test]
    fn two_tasks_at_once_are_one_stretch_and_what_is_outside_is_cut_off() {
        let past = past(&[
            (5, 1, "i bo"),
            (20, 2, "i ana"),
            (30, 3, "i ana"),
            (40, 2, "c ana"),
            (50, 3, "c ana"),
            (60, 2, "i ana"),
            (61, 4, "i"),
        ]);
        let agents = agents_at_work(&past, Timestamp(10), Timestamp(100));
        let at = |from: i64, until: i64| (Timestamp(from), Timestamp(until));
        let millis = Duration::from_millis;
        let bo = AgentAtWork { agent: "bo".into(), stretches: vec![at(10, 100)], tasks: 1, at_work: millis(90) };
        let ana = AgentAtWork {
            agent: "ana".into(),
            stretches: vec![at(20, 50), at(60, 100)],
            tasks: 2,
            at_work: millis(70),
        };
        assert_eq!(agents, [bo, ana]);
        assert!(agents_at_work(&past, Timestamp(0), Timestamp(5)).is_empty());
    }
}
