//! Which state each task of a list was in, from when until when.

use std::collections::BTreeMap;

use crate::{Entry, Image, Status, Task, TaskId, Timestamp};

/// The states that charts tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LifeState {
    /// No agent works on it.
    Pending,
    /// An agent works on it.
    InProgress,
    /// It is done.
    Completed,
    /// It is not to be done any more.
    Cancelled,
}

/// A time for which a task was in one state and in one agent's hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it began; none where the journal begins later.
    pub from: Option<Timestamp>,
    /// When it ended; none where it lasts.
    pub until: Option<Timestamp>,
    /// The state.
    pub state: LifeState,
    /// The owner at that time.
    pub owner: Option<String>,
}

/// Which state each task of a list was in, from when until when. It is told the entries of a journal, the oldest first, and keeps of them
/// only where a task went from one state or hand to another.
#[derive(Clone, Debug, Default)]
pub struct ListPast {
    stretches: BTreeMap<TaskId, Vec<Stretch>>,
    begun: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl ListPast {
    /// Takes the next entry of the journal.
    pub fn note(&mut self, entry: &Entry) {
        // A clock that was set back makes nothing happen before what it followed.
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

    /// Takes the list as it is: tasks that the journal says nothing of were ever as they are, and those it does not have are gone.
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

    /// Returns when the journal begins; none where it is empty.
    pub fn begun(&self) -> Option<Timestamp> {
        self.begun
    }

    /// Returns the tasks there ever were, each with its stretches in order.
    pub fn tasks(&self) -> impl Iterator<Item = (&TaskId, &[Stretch])> {
        self.stretches.iter().map(|(id, stretches)| (id, stretches.as_slice()))
    }
}

/// What charts look at of a task.
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

#[cfg(test)]
pub(super) mod tests {
    use super::{LifeState, ListPast, Stretch};
    use crate::dialect::native;
    use crate::rules::samples::{entry, id};
    use crate::{Image, Rules, Status, Task, Timestamp};

    /// Returns what a file holds: the status by its first letter, and the owner behind it.
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

    /// Returns the past of a list: each entry is a moment, a task, and what it became.
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
    fn a_stretch_ends_where_the_state_or_the_hand_changes_and_nowhere_else() {
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
    fn what_was_there_before_the_journal_began_was_ever_there_and_the_list_as_it_is_has_the_last_word() {
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
