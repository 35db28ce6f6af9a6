//! The history of a list, read from its journal, and the data for its charts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Entry, Image, Status, Task, TaskId, Timestamp};

/// The states that charts distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LifeState {
    /// Not started.
    Pending,
    /// An agent is working on it.
    InProgress,
    /// Done.
    Completed,
    /// Cancelled.
    Cancelled,
}

/// A period in which a task had one state and one owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it began, or `None` if that was before the start of the journal.
    pub from: Option<Timestamp>,
    /// When it ended, or `None` if it has not.
    pub until: Option<Timestamp>,
    /// The state.
    pub state: LifeState,
    /// The owner during that time.
    pub owner: Option<String>,
}

/// The states of each task of a list over time. Built from the journal, oldest entry first; keeps only the changes of
/// state and owner.
#[derive(Clone, Debug, Default)]
pub struct ListPast {
    stretches: BTreeMap<TaskId, Vec<Stretch>>,
    begun: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl ListPast {
    /// Processes the next journal entry.
    pub fn note(&mut self, entry: &Entry) {
        // If the clock was set back, an event still does not precede the previous one.
        let at = self.last.map_or(entry.at, |last| last.max(entry.at));
        self.last = Some(at);
        self.begun.get_or_insert(at);
        let stretches = self.stretches.entry(entry.task.clone()).or_default();
        if stretches.is_empty()
            && let Some((state, owner)) = condition(&entry.task, entry.before.as_ref())
        {
            stretches.push(Stretch { from: None, until: None, state, owner });
        }
        go_on(stretches, condition(&entry.task, entry.after.as_ref()), at);
    }

    /// Reconciles the history with the present list. Tasks unknown to the journal are assumed never to have changed,
    /// and tasks that are absent are gone.
    pub fn note_present(&mut self, tasks: &[Task], now: Timestamp) {
        let now = self.last.map_or(now, |last| last.max(now));
        let mut present: BTreeMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
        for (id, stretches) in &mut self.stretches {
            go_on(stretches, present.remove(id).and_then(condition_of), now);
        }
        for (id, task) in present {
            if let Some((state, owner)) = condition_of(task) {
                self.stretches.insert(id.clone(), vec![Stretch { from: None, until: None, state, owner }]);
            }
        }
    }

    /// Returns when the journal begins, or `None` if it is empty.
    pub fn begun(&self) -> Option<Timestamp> {
        self.begun
    }

    /// Returns all tasks that ever existed, each with its stretches in order.
    pub fn tasks(&self) -> impl Iterator<Item = (&TaskId, &[Stretch])> {
        self.stretches.iter().map(|(id, stretches)| (id, stretches.as_slice()))
    }
}

/// The state and owner of a task.
type Condition = (LifeState, Option<String>);

fn go_on(stretches: &mut Vec<Stretch>, next: Option<Condition>, at: Timestamp) {
    let last = stretches.last_mut().filter(|last| last.until.is_none());
    match (last, next) {
        (Some(last), Some((state, owner))) if last.state == state && last.owner == owner => {}
        (last, next) => {
            if let Some(last) = last {
                last.until = Some(at);
            }
            stretches.extend(next.map(|(state, owner)| Stretch { from: Some(at), until: None, state, owner }));
        }
    }
}

fn condition(id: &TaskId, image: Option<&Image>) -> Option<Condition> {
    image.and_then(|image| image.task(id).ok()).as_ref().and_then(condition_of)
}

fn condition_of(task: &Task) -> Option<Condition> {
    let state = match task.status {
        Status::Pending => LifeState::Pending,
        Status::InProgress => LifeState::InProgress,
        Status::Completed if task.is_cancelled() => LifeState::Cancelled,
        Status::Completed => LifeState::Completed,
    };
    (!task.is_internal()).then(|| (state, task.owner().map(str::to_owned)))
}

/// The number of tasks over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BurnUp {
    /// The counts at equal intervals, including the start and the end.
    pub(crate) points: Vec<BurnUpPoint>,
}

/// The number of tasks at one time. Cancelled tasks do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BurnUpPoint {
    pub(crate) at: Timestamp,
    /// Completed tasks.
    pub(crate) done: usize,
    /// Tasks in progress.
    pub(crate) in_progress: usize,
    /// All tasks.
    pub(crate) total: usize,
}

/// Counts the tasks of a list at `moments` points in time, but at least two, between `from` and `until`.
pub fn burn_up(past: &ListPast, from: Timestamp, until: Timestamp, moments: usize) -> BurnUp {
    let (count, span) = (moments.max(2), until.0.saturating_sub(from.0).max(0));
    let moment = |number: usize| {
        let (number, last) = (i128::try_from(number).unwrap_or(0), i128::try_from(count - 1).unwrap_or(1));
        Timestamp(from.0.saturating_add(i64::try_from(i128::from(span) * number / last).unwrap_or(0)))
    };
    let mut points: Vec<BurnUpPoint> =
        (0..count).map(|number| BurnUpPoint { at: moment(number), ..BurnUpPoint::default() }).collect();
    // The changes of the counts at the start and after the end of each stretch, so that each stretch is processed once.
    let mut changes = vec![[0_isize; 3]; count + 1];
    for (_, stretches) in past.tasks() {
        for stretch in stretches {
            let counts = match stretch.state {
                LifeState::Pending => [0, 0, 1],
                LifeState::InProgress => [0, 1, 1],
                LifeState::Completed => [1, 0, 1],
                LifeState::Cancelled => continue,
            };
            let first = stretch.from.map_or(0, |from| points.partition_point(|point| point.at < from));
            let behind = stretch.until.map_or(count, |until| points.partition_point(|point| point.at < until));
            for kind in (0..3).filter(|_| first < behind) {
                changes[first][kind] += counts[kind];
                changes[behind][kind] -= counts[kind];
            }
        }
    }
    let mut sums = [0_isize; 3];
    for (point, change) in points.iter_mut().zip(&changes) {
        (0..3).for_each(|kind| sums[kind] += change[kind]);
        let [done, in_progress, total] = sums.map(|sum| usize::try_from(sum).unwrap_or(0));
        *point = BurnUpPoint { done, in_progress, total, ..*point };
    }
    BurnUp { points }
}

/// The working time of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAtWork {
    /// The name of the agent.
    pub agent: String,
    /// The periods with a task in progress, in order and disjoint.
    pub(crate) stretches: Vec<(Timestamp, Timestamp)>,
    /// Number of tasks it had in progress.
    pub tasks: usize,
    /// The total of these periods.
    pub at_work: Duration,
}

/// Returns the agents that had tasks in progress within a period, sorted by when they started.
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

/// Merges overlapping and adjacent spans.
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

/// How long the tasks of a list were in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeInState {
    /// The tasks with the longest time in progress, longest first.
    pub longest: Vec<TaskTimes>,
    /// Number of tasks that were ever in progress.
    pub(crate) count: usize,
    /// The median pending and in-progress times of completed tasks, or `None` if there are none.
    pub(crate) medians: Option<(Duration, Duration)>,
}

/// How long one task was in each state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTimes {
    /// The measured task.
    pub task: TaskId,
    /// The title, as displayed.
    pub(crate) subject: String,
    /// Time pending.
    pub(crate) pending: Duration,
    /// Time in progress.
    pub in_progress: Duration,
    /// Time in progress for each agent, sorted by name. Excludes time without an owner.
    pub agents: Vec<(String, Duration)>,
    /// Whether it is in progress now.
    pub(crate) is_in_progress: bool,
}

/// Sums up the times that the tasks of a list spent in each state. States that precede the journal count from its
/// beginning. `most` limits the number of tasks in the result.
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

/// Returns how long each agent had a task in progress.
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
    use super::{LifeState, ListPast, Stretch};
    use crate::dialect::native;
    use crate::rules::samples::{entry, id};
    use crate::{Image, Rules, Status, Task, Timestamp};

    /// Returns the contents of a task file: the status by its first letter, followed by the owner.
    pub(crate) fn image(number: u64, words: &str) -> Option<Image> {
        let (status, owner) = words.split_once(' ').unwrap_or((words, ""));
        let status = match status {
            "p" => Status::Pending,
            "i" => Status::InProgress,
            "c" => Status::Completed,
            _ => return None,
        };
        let owner = (!owner.is_empty()).then(|| owner.into());
        let task = Task { status, owner, ..Task::new(id(number), format!("task {number}")) };
        native::write(None, &task, Rules::Strict).ok()
    }

    /// Returns the history of a list. Each entry is a time, a task, and its new state.
    pub(crate) fn past(entries: &[(u64, u64, &str)]) -> ListPast {
        let mut past = ListPast::default();
        for (at, task, words) in entries {
            past.note(&entry(*at, *task, None, image(*task, words)));
        }
        past
    }

    fn stretch(from: i64, until: Option<i64>, state: LifeState, owner: Option<&str>) -> Stretch {
        let (from, until) = (Some(Timestamp(from)), until.map(Timestamp));
        Stretch { from, until, state, owner: owner.map(str::to_owned) }
    }

    #[test]
    fn time_stretch_ends_only_where_status_or_owner_changes() {
        let past = past(&[(1, 1, "p"), (5, 1, "i ana"), (6, 1, "i ana"), (7, 1, "i bo"), (9, 1, "")]);
        let (_, stretches) = past.tasks().next().unwrap();
        let expected = [
            stretch(1, Some(5), LifeState::Pending, None),
            stretch(5, Some(7), LifeState::InProgress, Some("ana")),
            stretch(7, Some(9), LifeState::InProgress, Some("bo")),
        ];
        assert_eq!(stretches, expected);
        assert_eq!(past.begun(), Some(Timestamp(1)));
    }

    #[test]
    fn history_before_the_journal_is_inferred_from_the_list() {
        let mut past = ListPast::default();
        past.note(&entry(10, 1, image(1, "p"), image(1, "i ana")));
        past.note(&entry(12, 2, None, image(2, "p")));
        past.note_present(&[Task::new(id(3), "never changed")], Timestamp(20));
        let stretches: Vec<Vec<Stretch>> = past.tasks().map(|(_, stretches)| stretches.to_vec()).collect();
        assert_eq!(stretches[0][0], Stretch { from: None, ..stretch(0, Some(10), LifeState::Pending, None) });
        assert_eq!(stretches[0][1], stretch(10, Some(20), LifeState::InProgress, Some("ana")));
        assert_eq!(stretches[1], [stretch(12, Some(20), LifeState::Pending, None)]);
        assert_eq!(stretches[2], [Stretch { from: None, ..stretch(0, None, LifeState::Pending, None) }]);
    }

    #[test]
    fn a_clock_that_was_set_back_turns_nothing_around() {
        let past = past(&[(50, 1, "p"), (20, 1, "i ana"), (30, 1, "c ana")]);
        for (_, stretches) in past.tasks() {
            assert!(stretches.iter().all(|stretch| stretch.until.is_none_or(|until| stretch.from <= Some(until))));
        }
    }
}

#[cfg(test)]
mod burn_up_tests {
    use super::burn_up;
    use super::tests::past;
    use crate::Timestamp;

    #[test]
    fn every_moment_counts_what_there_was() {
        let past = past(&[(0, 1, "p"), (10, 2, "p"), (20, 1, "i ana"), (30, 1, "c ana"), (35, 2, "")]);
        let counts = |until: i64, moments: usize| -> Vec<[usize; 3]> {
            let points = burn_up(&past, Timestamp(0), Timestamp(until), moments).points;
            points.iter().map(|point| [point.done, point.in_progress, point.total]).collect()
        };
        assert_eq!(counts(40, 5), [[0, 0, 1], [0, 0, 2], [0, 1, 2], [1, 0, 2], [1, 0, 1]]);
        assert_eq!(counts(40, 2), [[0, 0, 1], [1, 0, 1]]);
        assert_eq!(counts(0, 3), [[0, 0, 1]; 3], "a time without length is a moment");
        assert_eq!(burn_up(&past, Timestamp(0), Timestamp(40), 3).points[1].at, Timestamp(20));
    }
}

#[cfg(test)]
mod agents_at_work_tests {
    use std::time::Duration;

    use super::tests::past;
    use super::{AgentAtWork, agents_at_work};
    use crate::Timestamp;

    #[test]
    fn parallel_tasks_are_one_stretch_and_outside_is_cut() {
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

#[cfg(test)]
mod time_in_state_tests {
    use std::time::Duration;

    use super::tests::past;
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
    fn longest_comes_first_and_medians_are_of_completed() {
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
