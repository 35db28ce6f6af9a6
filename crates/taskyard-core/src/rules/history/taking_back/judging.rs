//! Judging one write of another program.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::evidence::{is_as_made, is_evident};
use super::fields::{Fields, differing, fields};
use crate::rules::history::replacing::{is_another_task, replaces};
use crate::{Entry, Image, Loss, Op, Revision, Status, TaskField, TaskId, Timestamp, Verdict};

/// A write that takes a value back so soon after ours, and changes something else, did not know of ours.
pub(crate) const CERTAIN_WITHIN: Duration = Duration::from_secs(10);

/// What was acknowledged longer ago than this no write takes back without knowing: the client's hooks, for which it waits between
/// reading and writing, end after ten minutes.
pub const LOOKED_BACK: Duration = Duration::from_secs(600);

/// How far the clock of a file system may be behind ours.
const CLOCK_GRAIN: Duration = Duration::from_secs(2);

/// What another program did to a task's file.
#[derive(Clone, Copy, Debug)]
pub struct OutsideWrite<'a> {
    /// The task.
    pub task: &'a TaskId,
    /// What was last known to be there.
    pub before: Option<&'a Image>,
    /// What is there now.
    pub after: Option<&'a Image>,
    /// When it was written.
    pub written: Timestamp,
}

/// What one outside write did to what we had acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What it took away, by field.
    pub losses: Vec<Loss>,
    /// Whether the file holds a different task now, or may hold one: nothing of the old task belongs to it.
    pub is_other_task: bool,
}

/// What is known of an outside write before it is known what else was written with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Judged {
    /// Values of ours that the write took back, each with the revision it came with.
    taken_back: Vec<Taken>,
    /// Values of ours in whose place the write put others.
    replaced: Vec<(TaskField, Revision)>,
    /// Notes that the write lost, each with the revision it came with, where that is known.
    lost_notes: Vec<(TaskField, Revision)>,
    /// Whether the write did anything besides taking ours back.
    does_more: bool,
    /// Whether nothing shows that the file still holds the same task.
    is_other_task: bool,
    /// Whether the write left a task that had begun as it was made, without its notes. If it did nothing else, a new task that says the same
    /// is as likely as a stale one.
    begins_anew: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Taken {
    field: TaskField,
    revision: Revision,
    /// Whether it can be put back without asking: ours is fresh, and we did not put it back before.
    is_fresh: bool,
}

/// Returns what one outside write took away from what we had acknowledged, by field, given the entries of the task, newest first. Entries
/// that are older than [`LOOKED_BACK`] may be left out.
///
/// Ours was taken back where a field has exactly the value that it had before ours. Whether the other program knew that is told by
/// what else it did: a write that changes nothing else is meant, and so is a value that was not there before. A file that is not evidently
/// the same task any more took nothing back: it holds another one.
pub fn judge(write: &OutsideWrite<'_>, past: &[Entry]) -> Judgement {
    let judged = look(write, past);
    let does_more = judged.does_more;
    judgement(judged, does_more)
}

/// Judges outside writes that are one: those of a file that holds all tasks. Whatever changed in one task was written by the program that
/// took back something in another.
pub fn judge_together<'a>(writes: impl IntoIterator<Item = (OutsideWrite<'a>, &'a [Entry])>) -> Vec<Judgement> {
    let judged: Vec<Judged> = writes.into_iter().map(|(write, past)| look(&write, past)).collect();
    let does_more = judged.iter().any(|judged| judged.does_more);
    judged.into_iter().map(|judged| judgement(judged, does_more)).collect()
}

fn judgement(judged: Judged, does_more: bool) -> Judgement {
    let is_other_task = judged.is_other_task || (judged.begins_anew && !does_more);
    let verdict = |verdict: Verdict| if is_other_task { Verdict::OtherTask } else { verdict };
    let taken = judged.taken_back.into_iter().map(|taken| {
        let known = match (does_more, taken.is_fresh) {
            (false, _) => Verdict::Meant,
            (true, true) => Verdict::Certain,
            (true, false) => Verdict::Likely,
        };
        Loss { field: taken.field, revision: taken.revision, verdict: verdict(known) }
    });
    let by = |verdict: Verdict| move |(field, revision)| Loss { field, revision, verdict };
    let replaced = judged.replaced.into_iter().map(by(verdict(Verdict::Replaced)));
    // No program knows of notes what it takes for one to go: the journal has them, and the file is their copy.
    let notes = judged.lost_notes.into_iter().map(by(verdict(Verdict::Certain)));
    let mut losses: Vec<Loss> = taken.chain(replaced).chain(notes).collect();
    losses.sort_unstable_by(|one, other| one.field.cmp(&other.field));
    Judgement { losses, is_other_task }
}

fn look(write: &OutsideWrite<'_>, past: &[Entry]) -> Judged {
    let Some(after) = write.after.and_then(|image| image.task(write.task).ok()) else {
        return Judged { does_more: true, ..Judged::default() };
    };
    let Some(before) = write.before else { return look_at_return(write, past) };
    let Ok(before) = before.task(write.task) else { return Judged { does_more: true, ..Judged::default() } };
    let is_another = is_another_task(&before, &after);
    let past = of_this_task(past);
    let (before, after) = (fields(&before), fields(&after));
    let is_lost_note = |field: &TaskField| matches!(field, TaskField::Note(_)) && !after.contains_key(field);
    let (notes, others): (Vec<TaskField>, Vec<TaskField>) =
        differing(&before, &after).into_iter().partition(is_lost_note);
    // Of each field that the write changed: the entry of ours that its last value came with, once that is found.
    let mut open: HashMap<TaskField, Option<&Entry>> = others.into_iter().map(|field| (field, None)).collect();
    let mut lost_notes: HashMap<TaskField, Revision> = notes.into_iter().map(|field| (field, Revision(0))).collect();
    let mut unknown = lost_notes.len();
    let mut judged = Judged { does_more: !open.is_empty(), ..Judged::default() };
    let mut newer: Option<(&Image, Fields)> = None;
    let mut theirs = 0;
    for entry in past.iter().take_while(|entry| !is_later(write.written, entry.at, LOOKED_BACK)) {
        let (Some(old), Some(new)) = (&entry.before, &entry.after) else { break };
        if replaces(entry) {
            break;
        }
        let Ok(old_task) = old.task(write.task) else { break };
        let old_fields = fields(&old_task);
        // What this entry left is, as a rule, what the newer one found.
        let new_fields = match newer.take() {
            Some((image, fields)) if image == new => fields,
            _ => match new.task(write.task) {
                Ok(task) => fields(&task),
                Err(_) => break,
            },
        };
        open.retain(|field, ours| {
            let value = old_fields.get(field);
            if value == new_fields.get(field) {
                return true;
            }
            let given_by = match *ours {
                Some(given_by) => given_by,
                None if entry.op.is_elsewhere() => {
                    // It was their own value, and theirs to change.
                    theirs += 1;
                    return false;
                }
                None => entry,
            };
            *ours = Some(given_by);
            if value != after.get(field) {
                return true;
            }
            let is_fresh = is_within(write.written, given_by.at, CERTAIN_WITHIN) && given_by.op != Op::PutBack;
            judged.taken_back.push(Taken { field: field.clone(), revision: given_by.revision, is_fresh });
            false
        });
        if unknown > 0 {
            let came = |field: &TaskField| new_fields.contains_key(field) && !old_fields.contains_key(field);
            for (_, revision) in lost_notes.iter_mut().filter(|(field, of)| **of == Revision(0) && came(field)) {
                *revision = entry.revision;
                unknown -= 1;
            }
        }
        newer = Some((old, old_fields));
        if open.is_empty() && unknown == 0 {
            break;
        }
    }
    judged.lost_notes = lost_notes.into_iter().collect();
    judged.does_more = theirs > 0 || !open.is_empty();
    let replaced = open.into_iter().filter_map(|(field, ours)| Some((field, ours?)));
    let fresh = replaced.filter(|(_, ours)| is_within(write.written, ours.at, CERTAIN_WITHIN));
    judged.replaced = fresh.map(|(field, ours)| (field, ours.revision)).collect();
    let is_taken = |field: &TaskField| judged.taken_back.iter().any(|taken| taken.field == *field);
    if begins_work(&before, &after) && !is_taken(&TaskField::Owner) {
        // An agent that takes a task that we gave back has begun, as its owner before had.
        let (status, others) = judged.taken_back.into_iter().partition(|taken| taken.field == TaskField::Status);
        judged.taken_back = others;
        judged.replaced.extend(Vec::into_iter(status).map(|taken| (taken.field, taken.revision)));
    }
    let taken_back = judged.taken_back.iter().map(|taken| &taken.field);
    let taken_back: HashSet<TaskField> =
        taken_back.chain(judged.lost_notes.iter().map(|(field, _)| field)).cloned().collect();
    judged.begins_anew = !judged.lost_notes.is_empty() && !is_as_made(&before) && is_as_made(&after);
    judged.is_other_task =
        is_another || (!taken_back.is_empty() && !is_evident(&after, &states(write.task, before, past), &taken_back));
    judged
}

/// Returns those of a task's entries, newest first, that are about the task that is there now: before the last of them its number was not in
/// use, or was another's.
fn of_this_task(past: &[Entry]) -> &[Entry] {
    let begins = |entry: &Entry| entry.before.is_none() || entry.after.is_none() || replaces(entry);
    let first = past.iter().position(begins);
    &past[..first.map_or(past.len(), |place| place + 1)]
}

/// Returns the states of a task that are on record, newest first, given the last one and the entries of this task.
fn states(task: &TaskId, last: Fields, past: &[Entry]) -> Vec<Fields> {
    let read = |image: &Image| image.task(task).ok().map(|task| fields(&task));
    let mut states = vec![last];
    for (place, entry) in past.iter().enumerate() {
        // What an entry left is, as a rule, what the newer one found.
        let newer = place.checked_sub(1).and_then(|place| past[place].before.as_ref());
        states.extend(entry.after.as_ref().filter(|after| Some(*after) != newer).and_then(read));
        states.extend(entry.before.as_ref().filter(|_| !replaces(entry)).and_then(read));
    }
    states
}

/// Tells whether a write gives a task that is being worked on, or done, to another agent.
fn begins_work(before: &Fields, after: &Fields) -> bool {
    let owner = after.get(&TaskField::Owner);
    let is_begun = after.get(&TaskField::Status).is_some_and(|status| status != Status::Pending.as_str());
    is_begun && owner.is_some() && before.get(&TaskField::Owner) != owner
}

/// Looks at a task that is there again after it was gone.
fn look_at_return(write: &OutsideWrite<'_>, past: &[Entry]) -> Judged {
    let another = Judged { does_more: true, is_other_task: true, ..Judged::default() };
    let read = |image: Option<&Image>| image.and_then(|image| image.task(write.task).ok());
    let Some(last) = past.first().filter(|last| last.after.is_none()) else { return another };
    let (Some(gone), Some(there)) = (read(last.before.as_ref()), read(write.after)) else { return another };
    let (gone, there) = (fields(&gone), fields(&there));
    let is_unchanged = gone == there;
    if !is_evident(&there, &states(write.task, gone, of_this_task(&past[1..])), &HashSet::new()) {
        return another;
    }
    let is_ours = matches!(last.op, Op::Delete | Op::Clear) && !is_later(write.written, last.at, LOOKED_BACK);
    // Nothing is removed without asking: the program that wrote the task may be at work on it.
    let taken = Taken { field: TaskField::Deletion, revision: last.revision, is_fresh: false };
    let taken_back = if is_ours { vec![taken] } else { Vec::new() };
    Judged { does_more: taken_back.is_empty() || !is_unchanged, taken_back, ..Judged::default() }
}

/// Tells whether something was written after ours, and no longer than this after it. What looks older than ours was not written now:
/// another program put an old file there.
fn is_within(written: Timestamp, ours: Timestamp, longest: Duration) -> bool {
    !is_later(written, ours, longest) && !is_later(ours, written, CLOCK_GRAIN)
}

/// Tells whether one moment lies more than so long after another.
fn is_later(one: Timestamp, other: Timestamp, than: Duration) -> bool {
    one.0.saturating_sub(other.0) > i64::try_from(than.as_millis()).unwrap_or(i64::MAX)
}
