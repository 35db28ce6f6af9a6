//! When a file holds another task than before, and not the same one changed.

use std::collections::HashSet;

use super::removed::{Absence, Removed};
use crate::dialect::macf::{Block, Subject};
use crate::{Entry, Image, Op, Revision, Status, Task, TaskId, Verdict};

/// The key under which a block of facts says when and where its task was made.
const MADE: &str = "creation_breadcrumb";

/// Tells whether what stands under a number now is another task than the one before: a program that takes no lock gave the number out
/// a second time.
///
/// Nothing of the old one is left in the new one: neither a word of its title nor one of its description, no edge, no
/// metadata, no owner, and what is there has not begun. A program that renames a task, rewrites its text or works on it
/// leaves something as it was. If neither has a description, a new title is a rename, unless the old task had begun.
pub fn is_another_task(before: &Task, after: &Task) -> bool {
    let is_new = after.status == Status::Pending && after.owner().is_none();
    is_new && !shares_texts(before, after) && !shares_life(before, after)
}

/// Tells whether an entry put a different task in the place of the one before: its writer was judged so when it was recorded, or the two
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

/// The tasks in whose place another program put a different one. One that came back since, there or under another number, is none of
/// them.
#[derive(Clone, Debug, Default)]
pub struct Replacements(Vec<Removed>);

impl Replacements {
    /// The verb of the entries that put a task in the place of another.
    pub const OP: Op = Op::ChangedElsewhere;

    /// Takes the next entry of the journal, oldest first.
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

    /// Returns the first revision in which one of them may have come back; none where there is none.
    pub fn first(&self) -> Option<Revision> {
        self.0.iter().map(|removed| removed.since).min()
    }

    /// Takes an entry by which a task came that was not there before. What is made with the same texts is the same task, whichever program
    /// brought it back.
    pub fn add_arrival(&mut self, entry: &Entry) {
        if self.first().is_none_or(|first| entry.revision < first) || entry.before.is_some() {
            return;
        }
        let Some(made) = entry.after.as_ref().and_then(|image| image.task(&entry.task).ok()) else { return };
        self.0.retain(|removed| entry.revision < removed.since || !says_the_same(&removed.task, &made));
    }

    /// Takes what the journal says that their tasks are now.
    pub fn add_last(&mut self, mut now: impl FnMut(&TaskId) -> Option<Image>) {
        self.0.retain(|removed| {
            let id = &removed.task.id;
            let now = now(id).and_then(|image| image.task(id).ok());
            let by = removed.entry.after.as_ref().and_then(|image| image.task(id).ok());
            !now.is_some_and(|now| is_back(&removed.task, by.as_ref(), &now))
        });
    }

    /// Returns the tasks of which a task was replaced.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.0.iter().map(|removed| &removed.task.id)
    }

    /// Returns the tasks, in the order in which they were replaced.
    pub fn into_removed(self) -> Vec<Removed> {
        self.0
    }
}

/// Tells whether a task that was replaced stands under its number again, given the task that replaced it. Its texts show that, unless the two
/// have the same.
pub fn is_back(replaced: &Task, by: Option<&Task>, now: &Task) -> bool {
    let shared = by.is_some_and(|by| says_the_same(replaced, by));
    says_the_same(replaced, now) && (!shared || replaced == now)
}

/// Tells whether two tasks say the same: where one of them was replaced, it is back with the other.
pub fn says_the_same(one: &Task, other: &Task) -> bool {
    one.shown_subject() == other.shown_subject() && one.description == other.description
}

/// Returns a task as it is under another number: what speaks of its own follows.
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

/// Tells whether two tasks have a text in common, or words of one. Descriptions that both say nothing tell nothing apart.
fn shares_texts(one: &Task, other: &Task) -> bool {
    let description = |task: &Task| words(&without_block(&task.description));
    let (old, new) = (description(one), description(other));
    let share = |old: &HashSet<String>, new: &HashSet<String>| old.intersection(new).next().is_some();
    let has_begun = one.status != Status::Pending || one.owner().is_some();
    let say_nothing = !has_begun && old.is_empty() && new.is_empty() && one.description == other.description;
    say_nothing || share(&old, &new) || share(&words(&one.shown_subject()), &words(&other.shown_subject()))
}

/// Tells whether two tasks have an edge, a metadata value or what is shown while they are worked on in common.
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

/// Tells whether two tasks say that they were made in the same moment.
fn shares_making(one: &Task, other: &Task) -> bool {
    let made = |task: &Task| Some(Block::find(&task.description)?.get(MADE)?.to_owned());
    made(one).is_some_and(|made_then| made(other) == Some(made_then))
}

/// Returns a description without the block of facts that every task of some tools has: its keys are the same in all.
fn without_block(description: &str) -> String {
    let Some(block) = Block::find(description) else { return description.to_owned() };
    let (before, after) = block.around();
    format!("{before} {after}")
}

/// Returns the words of a text that say something: small ones are in every text, and count only where there are no others.
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
    use crate::rules::history::removed::Removed;
    use crate::rules::history::restoring::removed;
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
    fn a_change_that_renames_or_rewrites_a_task_leaves_something_of_it() {
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
