//! Detects whether a file now contains a different task rather than a changed one.

use std::collections::HashSet;

use crate::dialect::macf::{Block, Subject};
use crate::rules::history::vanishing::{Absence, Removed};
use crate::{Entry, Image, Op, Revision, Status, Task, TaskId, Verdict};

/// The key in a facts block that records when and where its task was created.
const MADE: &str = "creation_breadcrumb";

/// Returns whether `after` is a different task than `before`, because a program that takes no lock reused the number.
///
/// They are different if they have nothing in common, neither a word of the title or description nor an edge, metadata
/// value or owner, and if the new task has not been started. A program that renames, rewrites or works on a task leaves
/// something unchanged. If neither has a description, a new title counts as a rename unless the old task had been
/// started.
pub fn is_another_task(before: &Task, after: &Task) -> bool {
    let is_new = after.status == Status::Pending && after.owner().is_none();
    is_new && !shares_texts(before, after) && !shares_life(before, after)
}

/// Returns whether an entry replaced a task with a different one: it was judged so when it was recorded, or the two
/// have nothing in common.
pub fn replaces(entry: &Entry) -> bool {
    if entry.op != Op::ChangedElsewhere {
        return false;
    }
    let read = |image: &Option<Image>| image.as_ref()?.task(&entry.task).ok();
    let is_judged_so = || entry.remark.taken_back.iter().any(|loss| loss.verdict == Verdict::OtherTask);
    match (read(&entry.before), read(&entry.after)) {
        (Some(before), Some(after)) => is_judged_so() || is_another_task(&before, &after),
        _ => false,
    }
}

/// The tasks that another program replaced with different ones. Excludes tasks that have come back since, under the
/// same number or another.
#[derive(Clone, Debug, Default)]
pub struct Replacements(Vec<Removed>);

impl Replacements {
    /// The operation of entries that can replace a task.
    pub const OP: Op = Op::ChangedElsewhere;

    /// Processes the next journal entry. Entries must be given oldest first.
    pub fn add(&mut self, entry: &Entry) {
        if !replaces(entry) {
            return;
        }
        let Some(image) = &entry.before else { return };
        let Ok(task) = image.task(&entry.task) else { return };
        self.0.push(Removed {
            task,
            image: image.clone(),
            absence: Absence::Replaced,
            entry: entry.clone(),
            since: entry.revision,
            last_seen: entry.at,
        });
    }

    /// Returns the first revision in which one of them may have come back, or `None` if there are none.
    pub fn first(&self) -> Option<Revision> {
        self.0.iter().map(|removed| removed.since).min()
    }

    /// Processes an entry that adds a task. A new task with the same texts as a replaced one is the same task,
    /// whichever program added it.
    pub fn add_arrival(&mut self, entry: &Entry) {
        if self.first().is_none_or(|first| entry.revision < first) || entry.before.is_some() {
            return;
        }
        let Some(made) = entry.after.as_ref().and_then(|image| image.task(&entry.task).ok()) else { return };
        self.0.retain(|removed| entry.revision < removed.since || !says_the_same(&removed.task, &made));
    }

    /// Removes the tasks that are back under their own number. `now` returns their current state according to the
    /// journal.
    pub fn add_last(&mut self, mut now: impl FnMut(&TaskId) -> Option<Image>) {
        self.0.retain(|removed| {
            let id = &removed.task.id;
            let now = now(id).and_then(|image| image.task(id).ok());
            let by = removed.entry.after.as_ref().and_then(|image| image.task(id).ok());
            !now.is_some_and(|now| is_back(&removed.task, by.as_ref(), &now))
        });
    }

    /// Returns the ids of the replaced tasks.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.0.iter().map(|removed| &removed.task.id)
    }

    /// Returns the replaced tasks, in the order in which they were replaced.
    pub fn into_removed(self) -> Vec<Removed> {
        self.0
    }
}

/// Returns whether a replaced task is back under its number. `by` is the task that replaced it. The texts decide,
/// unless both tasks have the same; then the whole task must match.
pub fn is_back(replaced: &Task, by: Option<&Task>, now: &Task) -> bool {
    let shared = by.is_some_and(|by| says_the_same(replaced, by));
    says_the_same(replaced, now) && (!shared || replaced == now)
}

/// Returns whether two tasks have the same title and description, so that one counts as the other restored.
pub fn says_the_same(one: &Task, other: &Task) -> bool {
    one.shown_subject() == other.shown_subject() && one.description == other.description
}

/// Returns the task under another number, with its references to itself updated.
pub fn under_number(task: &Task, id: &TaskId) -> Task {
    let mut moved = Task { id: id.clone(), stated_id: None, ..task.clone() };
    for edge in moved.blocks.iter_mut().chain(&mut moved.blocked_by).filter(|edge| **edge == task.id) {
        *edge = id.clone();
    }
    if Subject::parse(&task.subject).id == Some(task.id.as_str()) {
        moved.subject = task.subject.replacen(&format!("#{}", task.id), &format!("#{id}"), 1);
    }
    moved
}

/// Returns whether two tasks share a word of the title or of the description. Two empty descriptions count as shared
/// unless the old task has been started.
fn shares_texts(one: &Task, other: &Task) -> bool {
    let description = |task: &Task| words(&without_block(&task.description));
    let (old, new) = (description(one), description(other));
    let share = |old: &HashSet<String>, new: &HashSet<String>| old.intersection(new).next().is_some();
    let has_begun = one.status != Status::Pending || one.owner().is_some();
    let say_nothing = !has_begun && old.is_empty() && new.is_empty() && one.description == other.description;
    say_nothing || share(&old, &new) || share(&words(&one.shown_subject()), &words(&other.shown_subject()))
}

/// Returns whether two tasks share an edge, a metadata value, the active form or the moment of creation.
fn shares_life(one: &Task, other: &Task) -> bool {
    let shares_edge = |old: &[TaskId], new: &[TaskId]| {
        let old: HashSet<&TaskId> = old.iter().collect();
        new.iter().any(|id| old.contains(id))
    };
    let shares_metadata = one.metadata.iter().flatten().any(|(key, value)| other.meta(key) == Some(value));
    let shares_form = one.active_form.is_some() && one.active_form == other.active_form;
    shares_edge(&one.blocks, &other.blocks)
        || shares_edge(&one.blocked_by, &other.blocked_by)
        || shares_metadata
        || shares_form
        || shares_making(one, other)
}

/// Returns whether two tasks record the same moment of creation.
fn shares_making(one: &Task, other: &Task) -> bool {
    let made = |task: &Task| Some(Block::find(&task.description)?.get(MADE)?.to_owned());
    made(one).is_some_and(|made_then| made(other) == Some(made_then))
}

/// Returns a description without the facts block that some tools add to every task, because its keys are the same in
/// all of them.
fn without_block(description: &str) -> String {
    let Some(block) = Block::find(description) else { return description.to_owned() };
    let (before, after) = block.around();
    format!("{before} {after}")
}

/// Returns the significant words of a text. Short words occur in every text and count only if there are no others.
fn words(text: &str) -> HashSet<String> {
    let all = || text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let long: HashSet<String> = all().filter(|word| word.chars().count() > 3).map(str::to_lowercase).collect();
    if long.is_empty() { all().map(str::to_lowercase).collect() } else { long }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::{is_another_task, under_number};
    use crate::dialect::native;
    use crate::rules::history::restoring::removed;
    use crate::rules::history::vanishing::Removed;
    use crate::{AgentName, Entry, Op, Remark, Revision, Rules, Status, Task, TaskId, Timestamp};

    fn task(subject: &str, description: &str) -> Task {
        Task { description: description.into(), ..Task::new(TaskId::number(5), subject) }
    }

    #[test]
    fn a_task_of_which_no_word_is_left_is_another() {
        let ours = Task {
            status: Status::InProgress,
            owner: Some("ana".into()),
            metadata: json!({"priority": "high"}).as_object().cloned(),
            ..task("Write the parser", "For the new grammar")
        };
        assert!(is_another_task(&ours, &task("Deploy docs", "To the staging server")));
        assert!(is_another_task(&task("Write the parser", ""), &task("Deploy docs", "To the staging server")));
    }

    #[test]
    fn renaming_or_rewriting_keeps_part_of_the_task() {
        let old = Task { active_form: Some("Writing".into()), ..task("Write the parser", "For the new grammar") };
        let renamed = |after: Task| assert!(!is_another_task(&old, &after), "{after:?}");
        renamed(Task { active_form: None, ..task("Deploy docs", "For the new grammar") });
        renamed(Task { active_form: None, ..task("A parser, rewritten", "Other text altogether") });
        renamed(Task { subject: "Deploy docs".into(), description: "Other text".into(), ..old.clone() });
        renamed(Task { status: Status::InProgress, ..task("Deploy docs", "Other text") });
        renamed(Task { owner: Some("ben".into()), ..task("Deploy docs", "Other text") });
        let bare = task("Alpha", "");
        assert!(!is_another_task(&bare, &task("Beta", "")), "a title alone says too little");
        let done = Task { status: Status::Completed, ..bare };
        assert!(is_another_task(&done, &task("Beta", "")), "a rename leaves the status");
        let waiting = Task { blocked_by: vec![TaskId::number(1)], ..task("Alpha", "one") };
        assert!(!is_another_task(&waiting, &Task { blocked_by: vec![TaskId::number(1)], ..task("Beta", "two") }));
        assert!(is_another_task(&waiting, &task("Beta", "two")));
    }

    #[test]
    fn a_task_under_another_number_speaks_of_itself_by_that() {
        let mut old = task("\u{1b}[2m#5\u{1b}[0m Write #5", "");
        old.blocks = vec![TaskId::number(5), TaskId::number(6)];
        let moved = under_number(&old, &TaskId::number(9));
        assert_eq!(moved.subject, "\u{1b}[2m#9\u{1b}[0m Write #5");
        assert_eq!(moved.blocks, [TaskId::number(9), TaskId::number(6)]);
        let plain = task("Of #5", "");
        assert_eq!(under_number(&plain, &TaskId::number(9)).subject, "Of #5");
    }

    fn entry(revision: u64, op: Op, number: u64, before: Option<&Task>, after: Option<&Task>) -> Entry {
        let image = |task: &Task| native::write(None, task, Rules::Strict).unwrap();
        Entry {
            revision: Revision(revision),
            at: Timestamp(0),
            actor: AgentName::elsewhere(),
            op,
            task: TaskId::number(number),
            before: before.map(image),
            after: after.map(image),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        }
    }

    fn replaced(journal: &[Entry]) -> Vec<Removed> {
        removed(journal, &journal.iter().map(|entry| entry.task.clone()).collect::<HashSet<_>>())
    }

    #[test]
    fn a_replaced_task_is_offered_until_it_is_back() {
        let (old, new) = (task("Write the parser", "For the grammar"), task("Deploy docs", "To staging"));
        let mut journal = vec![
            entry(1, Op::Create, 5, None, Some(&old)),
            entry(2, Op::ChangedElsewhere, 5, Some(&old), Some(&new)),
            entry(3, Op::Update, 5, Some(&new), Some(&Task { status: Status::Completed, ..new.clone() })),
        ];
        let offered = replaced(&journal);
        assert_eq!((offered.len(), &offered[0].task, offered[0].since), (1, &old, Revision(2)));
        let elsewhere = under_number(&old, &TaskId::number(9));
        journal.push(entry(4, Op::Restore, 9, None, Some(&elsewhere)));
        assert_eq!(replaced(&journal), []);
        journal.pop();
        journal.push(entry(4, Op::Undo, 5, Some(&new), Some(&old)));
        assert_eq!(replaced(&journal), []);
    }

    #[test]
    fn what_we_change_ourselves_replaces_nothing() {
        let (old, new) = (task("Write the parser", "For the grammar"), task("Deploy docs", "To staging"));
        let journal = [entry(1, Op::Create, 5, None, Some(&old)), entry(2, Op::Update, 5, Some(&old), Some(&new))];
        assert_eq!(replaced(&journal), []);
    }

    #[test]
    fn what_every_task_of_a_tool_says_is_nothing_in_common() {
        let macf = |number: u64, title: &str, made: &str| {
            let block =
                format!("<macf_task_metadata version=\"1.0\">\ncreation_breadcrumb: {made}\n</macf_task_metadata>");
            task(&format!("\u{1b}[2m#{number}\u{1b}[0m {title}"), &block)
        };
        assert!(is_another_task(&macf(5, "Write the parser", "s_1/c_1"), &macf(5, "Deploy docs", "s_2/c_9")));
        assert!(!is_another_task(&macf(5, "Write the parser", "s_1/c_1"), &macf(5, "Deploy docs", "s_1/c_1")));
    }
}
