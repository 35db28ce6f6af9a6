//! How long tasks waited, and how long they took.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::list_past::{LifeState, ListPast, Stretch};
use crate::{Task, TaskId, Timestamp};

/// How long the tasks of a list were in which state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeInState {
    /// The tasks that were in progress for longest, the longest first.
    pub longest: Vec<TaskTimes>,
    /// How many tasks were ever in progress.
    pub(crate) count: usize,
    /// How long half of the completed tasks waited at most, and how long half of them took; none where none is completed.
    pub(crate) medians: Option<(Duration, Duration)>,
}

/// How long one task was in which state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTimes {
    /// The task.
    pub task: TaskId,
    /// Its title, as displays show it.
    pub(crate) subject: String,
    /// How long it was pending.
    pub(crate) pending: Duration,
    /// How long it was in progress.
    pub in_progress: Duration,
    /// How long each agent had it in progress, by name. Time without an owner is in none of them.
    pub agents: Vec<(String, Duration)>,
    /// Whether it is in progress still.
    pub(crate) is_in_progress: bool,
}

/// Sums up how long the tasks that are in a list were in which state. What the journal does not know the beginning of counts from where it
/// begins.
pub fn time_in_state(past: &ListPast, tasks: &[Task], now: Timestamp, most: usize) -> TimeInState {
    let tasks: BTreeMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    let begun = past.begun().unwrap_or(now);
    let mut all = Vec::new();
    let mut finished = Vec::new();
    for (id, stretches) in past.tasks() {
        let Some(task) = tasks.get(id) else { continue };
        let sum = |state: LifeState| {
            let spans =
                stretches.iter().filter(|stretch| stretch.state == state).map(|stretch| length(stretch, begun, now));
            spans.sum::<Duration>()
        };
        let (pending, in_progress) = (sum(LifeState::Pending), sum(LifeState::InProgress));
        let state = stretches.last().map(|stretch| stretch.state);
        if state == Some(LifeState::Completed) {
            finished.push((pending, in_progress));
        }
        if stretches.iter().any(|stretch| stretch.state == LifeState::InProgress) {
            let is_in_progress = state == Some(LifeState::InProgress);
            all.push(TaskTimes {
                task: id.clone(),
                subject: task.shown_subject().into_owned(),
                pending,
                in_progress,
                agents: by_agent(stretches, begun, now),
                is_in_progress,
            });
        }
    }
    let count = all.len();
    all.sort_by_key(|times| Reverse(times.in_progress));
    all.truncate(most);
    let median = |mut spans: Vec<Duration>| {
        spans.sort_unstable();
        spans.get(spans.len() / 2).copied()
    };
    let (waited, took) = finished.into_iter().unzip();
    TimeInState { longest: all, count, medians: median(waited).zip(median(took)) }
}

/// Sums up how long each agent had a task in progress.
fn by_agent(stretches: &[Stretch], begun: Timestamp, now: Timestamp) -> Vec<(String, Duration)> {
    let mut agents: BTreeMap<&str, Duration> = BTreeMap::new();
    for stretch in stretches.iter().filter(|stretch| stretch.state == LifeState::InProgress) {
        if let Some(owner) = stretch.owner.as_deref() {
            *agents.entry(owner).or_default() += length(stretch, begun, now);
        }
    }
    agents.into_iter().map(|(agent, time)| (agent.to_owned(), time)).collect()
}

fn length(stretch: &Stretch, begun: Timestamp, now: Timestamp) -> Duration {
    let (from, until) = (stretch.from.unwrap_or(begun), stretch.until.unwrap_or(now));
    Duration::from_millis(u64::try_from(until.0.saturating_sub(from.0)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::list_past::tests::past;
    use super::time_in_state;
    use crate::Timestamp;
    use crate::rules::samples::{id, task};

    #[test]
    fn each_agent_has_the_time_in_which_the_task_was_its() {
        let past =
            past(&[(0, 1, "i ana"), (10, 1, "p"), (20, 1, "i bo"), (50, 1, "i ana"), (55, 1, "i"), (60, 1, "c")]);
        let times = time_in_state(&past, &[task(1, &[], &[])], Timestamp(100), 1).longest.remove(0);
        let span = Duration::from_millis;
        assert_eq!(times.agents, [("ana".to_owned(), span(15)), ("bo".to_owned(), span(30))]);
        assert_eq!(times.in_progress, span(50));
    }

    #[test]
    fn what_took_longest_comes_first_and_medians_are_of_what_is_done() {
        let past = past(&[
            (0, 1, "p"),
            (0, 2, "p"),
            (0, 3, "p"),
            (0, 4, "p"),
            (10, 1, "i ana"),
            (15, 1, "c ana"),
            (20, 2, "i bo"),
            (50, 3, "i bo"),
            (60, 3, "c bo"),
        ]);
        let tasks = [1, 2, 3, 4].map(|number| task(number, &[], &[]));
        let times = time_in_state(&past, &tasks, Timestamp(100), 2);
        let longest: Vec<_> = times.longest.iter().map(|times| (times.task.clone(), times.in_progress)).collect();
        let span = Duration::from_millis;
        assert_eq!(longest, [(id(2), span(80)), (id(3), span(10))]);
        assert_eq!((times.count, times.medians), (3, Some((span(50), span(10)))));
        assert!(times.longest[0].is_in_progress && !times.longest[1].is_in_progress);
        assert_eq!(time_in_state(&past, &tasks[..1], Timestamp(100), 2).count, 1, "what is gone has no row");
        assert_eq!(time_in_state(&past, &tasks[1..2], Timestamp(100), 2).medians, None);
    }
}
