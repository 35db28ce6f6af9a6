//! Merges a user's edits of a task in an editor with the changes that others made in the meantime.

use std::collections::HashSet;
use std::hash::Hash;
use std::time::Duration;

use diffy::{ConflictStyle, MergeOptions};
use serde_json::{Value, json};

use crate::rules::changes::patching::{OwnerChange, Patch};
use crate::rules::changes::recurring::EVERY;
use crate::timing::work_in_full;
use crate::{DEFER, DUE, ESTIMATE, Priority, Status, Task, TaskId, Timestamp};

/// A task as it is shown in an editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// The title.
    pub subject: String,
    /// The status, or `None` for a task that is not created yet.
    pub(crate) status: Option<Status>,
    /// The owner, or `None` if it has none.
    pub owner: Option<String>,
    /// The text shown while the task is in progress.
    pub active_form: Option<String>,
    /// The explicitly set priority.
    pub(crate) priority: Option<Priority>,
    pub(crate) tags: Vec<String>,
    pub(crate) parent: Option<TaskId>,
    /// The due date.
    pub(crate) due: Option<Timestamp>,
    /// The time before which the task must not start.
    pub(crate) defer: Option<Timestamp>,
    /// The estimated duration of the work.
    pub(crate) estimate: Option<Duration>,
    /// Whether it was cancelled rather than completed.
    pub(crate) is_cancelled: bool,
    /// Other fields shown as text: kind, project and recurrence rule, in the order of [`WORDS`].
    pub(crate) words: [Option<String>; 3],
    /// The task's blockers.
    pub blocked_by: Vec<TaskId>,
    /// The tasks that wait for it.
    pub blocks: Vec<TaskId>,
    /// The description of the work.
    pub description: String,
}

/// The metadata keys of [`Draft::words`].
pub(crate) const WORDS: [&str; 3] = ["kind", "project", EVERY];

/// A field that both sides changed in different ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The field's name in the form.
    pub(crate) field: &'static str,
    /// The other side's value, or `None` for the description, which contains both versions.
    pub(crate) theirs: Option<String>,
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedDraft {
    /// The merged draft. A conflicting field has the editor's value; a conflicting description contains both versions.
    pub draft: Draft,
    /// The conflicting fields.
    pub conflicts: Vec<Conflict>,
}

/// The changes that turn one draft into another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftChanges {
    /// Changes of fields.
    pub patch: Patch,
    /// Blockers to add.
    pub add_blocked_by: Vec<TaskId>,
    /// Blockers to remove.
    pub remove_blocked_by: Vec<TaskId>,
    /// Dependents to add.
    pub add_blocks: Vec<TaskId>,
    /// Dependents to remove.
    pub remove_blocks: Vec<TaskId>,
}

/// The line before the first of two conflicting texts.
pub(crate) const YOURS: &str = "<<<<<<< yours";
/// The line after the second of them.
pub(crate) const THEIRS: &str = ">>>>>>> changed in the meantime";
const BETWEEN: &str = "=======";

impl Draft {
    /// Returns the draft of a task.
    pub fn of(task: &Task) -> Self {
        Self {
            subject: task.shown_subject().into_owned(),
            status: Some(task.status),
            owner: task.owner().map(str::to_owned),
            active_form: task.active_form.clone().filter(|text| !text.is_empty()),
            priority: task.stated_priority(),
            tags: task.tags().map(str::to_owned).collect(),
            parent: task.parent(),
            due: task.due(),
            defer: task.defer(),
            estimate: task.estimate(),
            is_cancelled: task.is_cancelled(),
            words: WORDS
                .map(|key| task.meta(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)),
            blocked_by: task.blocked_by.clone(),
            blocks: task.blocks.clone(),
            description: task.description.clone(),
        }
    }

    /// Returns whether the description still contains the conflict markers of a merge.
    pub fn is_undecided(&self) -> bool {
        let has = |line: &str| self.description.lines().any(|other| other == line);
        has(YOURS) && has(THEIRS)
    }

    /// Returns the changes that turn `now` into this draft.
    pub fn changes_from(&self, now: &Self) -> DraftChanges {
        let text = |mine: &str, theirs: &str| (mine != theirs).then(|| mine.to_owned());
        let mut metadata = serde_json::Map::new();
        let mut set = |key: &str, differs: bool, value: Option<Value>| {
            if differs {
                metadata.insert(key.to_owned(), value.unwrap_or(Value::Null));
            }
        };
        set("priority", self.priority != now.priority, self.priority.map(|priority| json!(priority.as_str())));
        set("tags", self.tags != now.tags, (!self.tags.is_empty()).then(|| json!(self.tags)));
        set("parent", self.parent != now.parent, self.parent.as_ref().map(|parent| json!(parent.as_str())));
        let moment = |moment: Option<Timestamp>| moment.map(|moment| json!(moment.to_string()));
        set(DUE, self.due != now.due, moment(self.due));
        set(DEFER, self.defer != now.defer, moment(self.defer));
        set(ESTIMATE, self.estimate != now.estimate, self.estimate.map(in_seconds));
        set("cancelled", self.is_cancelled != now.is_cancelled, self.is_cancelled.then(|| json!(true)));
        for ((key, mine), theirs) in WORDS.into_iter().zip(&self.words).zip(&now.words) {
            set(key, mine != theirs, mine.as_ref().map(|text| json!(text)));
        }
        let owner = (self.owner != now.owner).then(|| match &self.owner {
            Some(name) => OwnerChange::Set(name.clone()),
            None => OwnerChange::Clear,
        });
        DraftChanges {
            patch: Patch {
                subject: text(&self.subject, &now.subject),
                description: text(&self.description, &now.description),
                active_form: (self.active_form != now.active_form)
                    .then(|| self.active_form.clone().unwrap_or_default()),
                status: self.status.filter(|status| Some(*status) != now.status),
                owner,
                metadata: (!metadata.is_empty()).then_some(metadata),
            },
            add_blocked_by: minus(&self.blocked_by, &now.blocked_by),
            remove_blocked_by: minus(&now.blocked_by, &self.blocked_by),
            add_blocks: minus(&self.blocks, &now.blocks),
            remove_blocks: minus(&now.blocks, &self.blocks),
        }
    }
}

/// Merges the changes made to `base` in an editor (`mine`) with those made by others in the meantime (`now`).
pub fn merge_drafts(base: &Draft, mine: &Draft, now: &Draft) -> MergedDraft {
    let mut conflicts = Vec::new();
    let mut at_odds = |field: &'static str, theirs: Option<String>| conflicts.push(Conflict { field, theirs });
    let words = |value: &Option<String>| Some(value.clone().unwrap_or_default());
    let draft = Draft {
        subject: pick(&base.subject, &mine.subject, &now.subject, || at_odds("subject", Some(now.subject.clone()))),
        status: pick(&base.status, &mine.status, &now.status, || {
            at_odds("status", Some(now.status.map(|status| status.to_string()).unwrap_or_default()));
        }),
        owner: pick(&base.owner, &mine.owner, &now.owner, || at_odds("owner", words(&now.owner))),
        active_form: pick(&base.active_form, &mine.active_form, &now.active_form, || {
            at_odds("activeForm", words(&now.active_form));
        }),
        priority: pick(&base.priority, &mine.priority, &now.priority, || {
            at_odds("priority", Some(now.priority.map(|priority| priority.to_string()).unwrap_or_default()));
        }),
        tags: both(&base.tags, &mine.tags, &now.tags),
        parent: pick(&base.parent, &mine.parent, &now.parent, || {
            at_odds("parent", Some(now.parent.as_ref().map(ToString::to_string).unwrap_or_default()));
        }),
        due: pick(&base.due, &mine.due, &now.due, || at_odds(DUE, moment_words(now.due))),
        defer: pick(&base.defer, &mine.defer, &now.defer, || at_odds(DEFER, moment_words(now.defer))),
        estimate: pick(&base.estimate, &mine.estimate, &now.estimate, || {
            at_odds(ESTIMATE, Some(now.estimate.map(work_in_full).unwrap_or_default()));
        }),
        is_cancelled: if mine.is_cancelled == base.is_cancelled { now.is_cancelled } else { mine.is_cancelled },
        words: std::array::from_fn(|place| {
            let own = [base, mine, now].map(|draft| &draft.words[place]);
            pick(own[0], own[1], own[2], || at_odds(WORDS[place], words(own[2])))
        }),
        blocked_by: both(&base.blocked_by, &mine.blocked_by, &now.blocked_by),
        blocks: both(&base.blocks, &mine.blocks, &now.blocks),
        description: String::new(),
    };
    let (description, is_clear) = merge_texts(&base.description, &mine.description, &now.description);
    if !is_clear {
        at_odds("description", None);
    }
    MergedDraft { draft: Draft { description, ..draft }, conflicts }
}

impl Draft {
    /// Returns this draft with the values of `now` in the conflicting fields, as the base of the next merge after its
    /// author has seen the conflicts.
    #[must_use]
    pub fn seeing(mut self, now: &Self, conflicts: &[Conflict]) -> Self {
        for Conflict { field, .. } in conflicts {
            match *field {
                "subject" => self.subject.clone_from(&now.subject),
                "status" => self.status = now.status,
                "owner" => self.owner.clone_from(&now.owner),
                "activeForm" => self.active_form.clone_from(&now.active_form),
                "priority" => self.priority = now.priority,
                "parent" => self.parent.clone_from(&now.parent),
                DUE => self.due = now.due,
                DEFER => self.defer = now.defer,
                ESTIMATE => self.estimate = now.estimate,
                "description" => self.description.clone_from(&now.description),
                word => {
                    if let Some(place) = WORDS.iter().position(|known| *known == word) {
                        self.words[place].clone_from(&now.words[place]);
                    }
                }
            }
        }
        self
    }
}

impl Conflict {
    /// Returns a message with the other side's value of the field.
    pub fn told(&self) -> String {
        match &self.theirs {
            Some(theirs) if theirs.is_empty() => format!("{} was removed", self.field),
            Some(theirs) => format!("{} is `{}` now", self.field, theirs.escape_debug()),
            None => format!("{} was changed", self.field),
        }
    }
}

fn moment_words(moment: Option<Timestamp>) -> Option<String> {
    Some(moment.map(|moment| moment.to_string()).unwrap_or_default())
}

/// Returns a duration as stored in metadata: in seconds, as an integer if possible.
fn in_seconds(span: Duration) -> Value {
    if span.subsec_nanos() == 0 { json!(span.as_secs()) } else { json!(span.as_secs_f64()) }
}

/// Merges two texts derived from `base`, line by line. Returns the text and whether it is free of conflicts; if not, it
/// contains both versions between conflict markers.
fn merge_texts(base: &str, mine: &str, now: &str) -> (String, bool) {
    if mine == base || mine == now {
        return (now.to_owned(), true);
    }
    if now == base {
        return (mine.to_owned(), true);
    }
    let [base, mine, now] = [base, mine, now].map(|text| format!("{text}\n"));
    let merged = MergeOptions::new().set_conflict_style(ConflictStyle::Merge).merge(&base, &mine, &now);
    let is_clear = merged.is_ok();
    let text = merged.unwrap_or_else(|both| {
        let label = |line: &str| match line {
            "<<<<<<< ours" => YOURS.to_owned(),
            ">>>>>>> theirs" => THEIRS.to_owned(),
            line => line.to_owned(),
        };
        let lines: Vec<String> = both.lines().map(label).collect();
        debug_assert!(lines.iter().any(|line| line == BETWEEN));
        lines.join("\n") + "\n"
    });
    (text.strip_suffix('\n').unwrap_or(&text).to_owned(), is_clear)
}

fn pick<T: Clone + PartialEq>(base: &T, mine: &T, now: &T, at_odds: impl FnOnce()) -> T {
    if mine == base {
        return now.clone();
    }
    if now != base && now != mine {
        at_odds();
    }
    mine.clone()
}

/// Applies the change from `base` to `mine` to the list `now`: additions are added, removals are removed.
fn both<T: Clone + Eq + Hash>(base: &[T], mine: &[T], now: &[T]) -> Vec<T> {
    let removed: HashSet<T> = minus(base, mine).into_iter().collect();
    let added = minus(&minus(mine, base), now);
    now.iter().filter(|one| !removed.contains(one)).cloned().chain(added).collect()
}

/// Returns the items of `one` that are not in `other`, in order.
fn minus<T: Clone + Eq + Hash>(one: &[T], other: &[T]) -> Vec<T> {
    let other: HashSet<&T> = other.iter().collect();
    one.iter().filter(|item| !other.contains(item)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::{Conflict, Draft, THEIRS, YOURS, merge_drafts};
    use crate::{Priority, Status, TaskId, Timestamp};

    fn base() -> Draft {
        Draft {
            subject: "Parser".into(),
            status: Some(Status::Pending),
            tags: vec!["a".into(), "b".into()],
            description: "one\ntwo\nthree\nfour\nfive".into(),
            ..Draft::default()
        }
    }

    #[test]
    fn what_both_sides_changed_holds_where_they_are_not_at_odds() {
        let mine = Draft {
            subject: "A parser".into(),
            tags: vec!["a".into(), "mine".into()],
            description: "ONE\ntwo\nthree\nfour\nfive".into(),
            ..base()
        };
        let now = Draft {
            status: Some(Status::InProgress),
            owner: Some("ana".into()),
            tags: vec!["a".into(), "b".into(), "theirs".into()],
            description: "one\ntwo\nthree\nfour\nFIVE".into(),
            ..base()
        };
        let merged = merge_drafts(&base(), &mine, &now);
        assert_eq!(merged.conflicts, []);
        assert_eq!(merged.draft.description, "ONE\ntwo\nthree\nfour\nFIVE");
        assert_eq!(merged.draft.tags, ["a", "theirs", "mine"]);
        assert_eq!((merged.draft.subject.as_str(), merged.draft.status), ("A parser", Some(Status::InProgress)));
        let changes = merged.draft.changes_from(&now);
        assert_eq!(changes.patch.subject.as_deref(), Some("A parser"));
        assert_eq!((changes.patch.status, changes.patch.owner), (None, None));
        assert_eq!(changes.patch.metadata, json!({"tags": ["a", "theirs", "mine"]}).as_object().cloned());
    }

    #[test]
    fn where_they_are_at_odds_both_are_told() {
        let mine =
            Draft { subject: "Mine".into(), description: "mine".into(), priority: Some(Priority::Low), ..base() };
        let now =
            Draft { subject: "Theirs".into(), description: "theirs".into(), priority: Some(Priority::Low), ..base() };
        let merged = merge_drafts(&base(), &mine, &now);
        let subject = Conflict { field: "subject", theirs: Some("Theirs".into()) };
        assert_eq!(merged.conflicts, [subject, Conflict { field: "description", theirs: None }]);
        assert_eq!(merged.draft.subject, "Mine");
        assert_eq!(merged.draft.description, format!("{YOURS}\nmine\n=======\ntheirs\n{THEIRS}"));
        assert!(merged.draft.is_undecided());
        // After the user has resolved the conflicts they saw, the other side's version becomes the new base.
        let decided = merge_drafts(&now, &mine, &now);
        assert_eq!((decided.conflicts, decided.draft), (Vec::new(), mine));
    }

    #[test]
    fn edges_come_and_go_by_themselves() {
        let ids = |numbers: &[u64]| numbers.iter().copied().map(TaskId::number).collect::<Vec<_>>();
        let base = Draft { blocked_by: ids(&[1, 2]), ..Draft::default() };
        let mine = Draft { blocked_by: ids(&[2, 3]), ..Draft::default() };
        let now = Draft { blocked_by: ids(&[1, 2, 4]), ..Draft::default() };
        let changes = merge_drafts(&base, &mine, &now).draft.changes_from(&now);
        assert_eq!((changes.add_blocked_by, changes.remove_blocked_by), (ids(&[3]), ids(&[1])));
    }

    #[test]
    fn times_are_merged_one_by_one() {
        let hours = |hours: u64| Some(Duration::from_secs(hours * 3600));
        let base = Draft { due: Some(Timestamp(1000)), estimate: hours(1), ..Draft::default() };
        let mine = Draft { due: None, estimate: hours(2), ..base.clone() };
        let now = Draft { defer: Some(Timestamp(0)), estimate: hours(3), ..base.clone() };
        let merged = merge_drafts(&base, &mine, &now);
        assert_eq!(merged.conflicts, [Conflict { field: "estimate", theirs: Some("3h".into()) }]);
        assert_eq!((merged.draft.due, merged.draft.defer), (None, Some(Timestamp(0))));
        let changes = merged.draft.changes_from(&now);
        assert_eq!(changes.patch.metadata, json!({"due": null, "estimate": 7200}).as_object().cloned());
        let moved = Draft { due: Some(Timestamp(1)), ..Draft::default() }.changes_from(&Draft::default());
        assert_eq!(moved.patch.metadata, json!({"due": "1970-01-01T00:00:00.001Z"}).as_object().cloned());
    }
}
