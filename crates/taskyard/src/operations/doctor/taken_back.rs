//! Finding what other programs took back without knowing, and putting it back.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use taskyard_core::rules::changes::notes::read_note;
use taskyard_core::rules::health::FindingCode;
use taskyard_core::rules::history::removed::Removed;
use taskyard_core::rules::history::taking_back::{
    LostValue, OpenLosses, StillLost, is_still_taken, lost_values, put_back,
};
use taskyard_core::{Image, Loss, Task, TaskField, TaskId};

use super::finding::{Finding, Fix};
use crate::Yard;
use crate::store::{StoreError, Txn};

/// So much of a value is shown in a message.
const SHOWN: usize = 60;

impl Yard {
    /// Returns a finding for every write of another program that took back something of ours which is still lost.
    pub(super) fn taken_back(&self, losses: &OpenLosses, tasks: &[Task]) -> Vec<Finding> {
        let present: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
        let lost = losses.standing(&present).into_iter();
        lost.map(|lost| Finding::of_taken_back(self.file_name(&lost.task), lost)).collect()
    }
}

impl Finding {
    fn of_taken_back(file: String, lost: StillLost) -> Self {
        let task = lost.task.clone();
        let values = lost_values(&lost.entry, &lost.losses);
        let is_back = values.iter().any(|value| value.loss.field == TaskField::Deletion);
        let number = task.as_str().escape_debug();
        let message = match values.first().filter(|_| is_back) {
            Some(value) => format!(
                "task {number} is there again: a write of another program (revision {}) did not know that revision {} deleted it",
                lost.entry.revision, value.loss.revision
            ),
            None => {
                let values: Vec<String> = values.iter().map(in_words).collect();
                format!(
                    "a write of another program to task {number} (revision {}) took back {}",
                    lost.entry.revision,
                    values.join("; ")
                )
            }
        };
        let fix = Some(Fix::PutBack(Box::new(lost)));
        Self { code: FindingCode::TakenBack, task: Some(task), file: Some(file), message, fix }
    }

    /// Tells of a task in whose place another program put a different one.
    pub(super) fn of_replaced(replaced: &Removed) -> Self {
        let task = &replaced.task;
        Self {
            code: FindingCode::ReplacedTask,
            task: Some(task.id.clone()),
            file: None,
            message: format!(
                "another program put a different task in the place of task {} ({}), in revision {}",
                task.id,
                task.shown_subject(),
                replaced.since
            ),
            fix: Some(Fix::Restore(vec![task.id.clone()])),
        }
    }
}

/// Puts back in the tasks of a list what is still lost, and returns which of them change and whether nothing is lost any more. A task that
/// is to go is staged and taken out of them.
pub(super) fn mend_taken_back(
    txn: &mut dyn Txn,
    tasks: &mut BTreeMap<TaskId, Task>,
    lost: &StillLost,
) -> Result<(BTreeSet<TaskId>, bool), StoreError> {
    let read = |image: &Option<Image>| image.as_ref()?.task(&lost.task).ok();
    let mut changed = BTreeSet::new();
    if tasks.get(&lost.task).is_some_and(|now| !lost.is_of(now)) {
        return Ok((changed, false));
    }
    if lost.losses.iter().any(|loss| loss.field == TaskField::Deletion) {
        let Some(gone) = tasks.remove(&lost.task) else { return Ok((changed, true)) };
        txn.remove(&gone.id)?;
        for (id, task) in tasks.iter_mut().filter(|(_, task)| is_tied(task, &gone.id)) {
            task.blocks.retain(|other| *other != gone.id);
            task.blocked_by.retain(|other| *other != gone.id);
            changed.insert(id.clone());
        }
        return Ok((changed, true));
    }
    let (Some(found), Some(left)) = (read(&lost.entry.before), read(&lost.entry.after)) else {
        return Ok((changed, false));
    };
    let leads_somewhere = |loss: &&Loss| match &loss.field {
        TaskField::Blocks(id) | TaskField::BlockedBy(id) => tasks.contains_key(id) || !is_tied(&found, id),
        _ => true,
    };
    let losses: Vec<Loss> = lost.losses.iter().filter(leads_somewhere).cloned().collect();
    let Some(now) = tasks.get_mut(&lost.task) else { return Ok((changed, false)) };
    if let Some(back) = put_back(now, &losses, &found, &left) {
        *now = back;
        changed.insert(lost.task.clone());
    }
    let is_whole = !lost.losses.iter().any(|loss| is_still_taken(loss, now, &left));
    Ok((changed, is_whole))
}

fn is_tied(task: &Task, other: &TaskId) -> bool {
    task.blocks.contains(other) || task.blocked_by.contains(other)
}

fn in_words(value: &LostValue) -> String {
    let shown = |value: &Option<Value>| match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => cut(&text.escape_debug().to_string()),
        Some(value) => cut(&value.to_string()),
    };
    let LostValue { loss, lost, now } = value;
    if let (TaskField::Note(_), Some(note)) = (&loss.field, lost) {
        return format!("the note {:?}", cut(&read_note(note).text));
    }
    let field = loss.field.to_string();
    format!("{} {} of revision {} (it says {} now)", field.escape_debug(), shown(lost), loss.revision, shown(now))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
