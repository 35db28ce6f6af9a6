//! Detects acknowledged values that another program overwrote with stale data, and puts them back.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use serde_json::Value;

use crate::rules::changes::notes::{NOTES, give_notes, keyed, notes_of};
use crate::rules::history::replacing::{is_another_task, replaces};
use crate::{Entry, Image, Loss, Op, Revision, Status, Task, TaskField, TaskId, Timestamp, Verdict};

/// A write that reverts our value this soon, and also changes something else, is certainly stale.
pub(crate) const CERTAIN_WITHIN: Duration = Duration::from_secs(10);

/// Changes acknowledged longer than this before an outside write are never treated as overwritten by stale data. The
/// client's hooks, which it awaits between reading and writing, time out after ten minutes.
pub const LOOKED_BACK: Duration = Duration::from_secs(600);

/// How far the clock of a file system may be behind ours.
const CLOCK_GRAIN: Duration = Duration::from_secs(2);

/// A write by another program to a task's file.
#[derive(Clone, Copy, Debug)]
pub struct OutsideWrite<'a> {
    /// The task in the file.
    pub task: &'a TaskId,
    /// The last known contents.
    pub before: Option<&'a Image>,
    /// The current contents.
    pub after: Option<&'a Image>,
    /// When it was written.
    pub written: Timestamp,
}

/// The effect of an outside write on acknowledged values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The values that it removed, by field.
    pub losses: Vec<Loss>,
    /// Whether the file now contains, or may contain, a different task. Nothing of the old task may be written to it.
    pub is_other_task: bool,
}

/// What is known about an outside write, before considering what else was written with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Judged {
    /// Our values that were reverted, each with the revision that set it.
    taken_back: Vec<Taken>,
    /// Our values that were replaced with different ones.
    replaced: Vec<(TaskField, Revision)>,
    /// Notes that were lost, each with the revision that added it, if known.
    lost_notes: Vec<(TaskField, Revision)>,
    /// Whether the write did anything besides reverting our values.
    does_more: bool,
    /// Whether there is no evidence that the file still contains the same task.
    is_other_task: bool,
    /// Whether the write reset a started task to its initial state, without its notes. If it did nothing else, a new
    /// task with the same texts is as likely as a stale write.
    begins_anew: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Taken {
    field: TaskField,
    revision: Revision,
    /// Whether it may be put back automatically: our value is recent and was not itself put back before.
    is_fresh: bool,
}

/// Returns what an outside write removed of the acknowledged values, by field. `past` are the task's entries, newest
/// first; entries older than [`LOOKED_BACK`] may be omitted.
///
/// A value was reverted if its field has exactly the value from before our change. The other changes show whether the
/// other program knew of ours: a write that changes nothing else is intentional, and so is a value that is new. If the
/// file is not evidently still the same task, it contains another one and nothing was reverted.
pub fn judge(write: &OutsideWrite<'_>, past: &[Entry]) -> Judgement {
    let judged = look(write, past);
    let does_more = judged.does_more;
    judgement(judged, does_more)
}

/// Judges outside writes that belong together, such as those to a file that contains all tasks. All changes were made
/// by the same program, so a change in one task counts for the others too.
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
    // No program removes notes on purpose: the journal owns them, and the file has only a copy.
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
    // For each changed field, the entry of ours that set its last value, once found.
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
        // The state after this entry is usually the state before the next newer one.
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
                    // The value was not ours, so the other program was free to change it.
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
        // An agent that takes a task we released has started it, as the previous owner had.
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

/// Returns those entries, newest first, that concern the present task. Before the last of them its number was unused,
/// or belonged to another task.
fn of_this_task(past: &[Entry]) -> &[Entry] {
    let begins = |entry: &Entry| entry.before.is_none() || entry.after.is_none() || replaces(entry);
    let first = past.iter().position(begins);
    &past[..first.map_or(past.len(), |place| place + 1)]
}

/// Returns the recorded states of a task, newest first, given the last one and the entries of the task.
fn states(task: &TaskId, last: Fields, past: &[Entry]) -> Vec<Fields> {
    let read = |image: &Image| image.task(task).ok().map(|task| fields(&task));
    let mut states = vec![last];
    for (place, entry) in past.iter().enumerate() {
        // The state after an entry is usually the state before the next newer one.
        let newer = place.checked_sub(1).and_then(|place| past[place].before.as_ref());
        states.extend(entry.after.as_ref().filter(|after| Some(*after) != newer).and_then(read));
        states.extend(entry.before.as_ref().filter(|_| !replaces(entry)).and_then(read));
    }
    states
}

/// Returns whether a write assigns a started or completed task to another agent.
fn begins_work(before: &Fields, after: &Fields) -> bool {
    let owner = after.get(&TaskField::Owner);
    let is_begun = after.get(&TaskField::Status).is_some_and(|status| status != Status::Pending.as_str());
    is_begun && owner.is_some() && before.get(&TaskField::Owner) != owner
}

/// Judges a task that exists again after it was removed.
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
    // Never delete it automatically: the program that wrote the task may be working on it.
    let taken = Taken { field: TaskField::Deletion, revision: last.revision, is_fresh: false };
    let taken_back = if is_ours { vec![taken] } else { Vec::new() };
    Judged { does_more: taken_back.is_empty() || !is_unchanged, taken_back, ..Judged::default() }
}

/// Returns whether something was written after our change and at most `longest` later. A file with an older time was
/// not written now: another program put an old file there.
fn is_within(written: Timestamp, ours: Timestamp, longest: Duration) -> bool {
    !is_later(written, ours, longest) && !is_later(ours, written, CLOCK_GRAIN)
}

/// Returns whether `one` is more than `than` later than `other`.
fn is_later(one: Timestamp, other: Timestamp, than: Duration) -> bool {
    one.0.saturating_sub(other.0) > i64::try_from(than.as_millis()).unwrap_or(i64::MAX)
}

/// Values that another program overwrote with stale data and that Taskyard has not put back yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StillLost {
    /// The task that lost them.
    pub task: TaskId,
    /// The entry of the write that removed them. The lost values are in its image before the write.
    pub entry: Entry,
    /// The losses that remain.
    pub losses: Vec<Loss>,
    /// The last recorded state of the task.
    pub last: Task,
    /// The metadata that the task was created with, if known.
    made: Option<Fields>,
}

impl StillLost {
    /// Returns whether `now` is evidently the task that lost these values.
    pub fn is_of(&self, now: &Task) -> bool {
        is_still(now, &self.last, &[&self.entry], self.made.as_ref())
    }
}

/// The overwritten values that have not been put back yet, collected while reading the journal. A later write by
/// Taskyard settles a field, and so does a later replacement by another program.
#[derive(Clone, Debug, Default)]
pub struct OpenLosses {
    open: BTreeMap<TaskId, OfTask>,
    /// The metadata that each task was created with. Metadata added later is evidence that a task is the same.
    made: HashMap<TaskId, Fields>,
}

/// The losses of one task.
#[derive(Clone, Debug)]
struct OfTask {
    lost: BTreeMap<TaskField, (Entry, Loss)>,
    /// The last recorded state of the task.
    last: Task,
}

impl OpenLosses {
    /// Processes the next journal entry. Entries must be given oldest first.
    pub fn add(&mut self, entry: &Entry) {
        let after = entry.after.as_ref().and_then(|image| image.task(&entry.task).ok());
        if let Some(after) = after.as_ref().filter(|_| entry.before.is_none()) {
            let mut made = fields(after);
            made.retain(|field, _| matches!(field, TaskField::Metadata(_)));
            self.made.insert(entry.task.clone(), made);
        }
        if let Some(open) = self.open.get_mut(&entry.task) {
            let made = self.made.get(&entry.task);
            match (&entry.before, &entry.after) {
                (Some(_), Some(_)) if entry.op.is_elsewhere() => {
                    if replaces(entry) || !after.as_ref().is_none_or(|after| open.is_of(after, made)) {
                        open.lost.clear();
                    }
                }
                (Some(before), Some(_)) => match (read(entry, Some(before)), &after) {
                    (Some(before), Some(after)) => {
                        let written = differing(&before, &fields(after));
                        open.lost
                            .retain(|field, _| *field != TaskField::Deletion && written.binary_search(field).is_err());
                    }
                    _ => open.lost.clear(),
                },
                // The file now contains another task, or none.
                _ => open.lost.clear(),
            }
            open.last = after.clone().unwrap_or_else(|| open.last.clone());
            if open.lost.is_empty() {
                self.open.remove(&entry.task);
            }
        }
        let Some(after) = after else { return };
        for loss in &entry.remark.taken_back {
            if loss.verdict.is_accident() {
                let new = || OfTask { lost: BTreeMap::new(), last: after.clone() };
                let open = self.open.entry(entry.task.clone()).or_insert_with(new);
                open.lost.insert(loss.field.clone(), (entry.clone(), loss.clone()));
            } else if let Some(open) = self.open.get_mut(&entry.task) {
                open.lost.remove(&loss.field);
            }
        }
    }

    /// Returns the remaining losses, sorted by task and then by revision. `present` are the existing tasks.
    pub fn standing(&self, present: &HashMap<&TaskId, &Task>) -> Vec<StillLost> {
        let mut still = Vec::new();
        for (task, open) in &self.open {
            let Some(present) = present.get(task) else { continue };
            let now = fields(present);
            let mut by_entry: BTreeMap<_, (&Entry, Vec<Loss>)> = BTreeMap::new();
            for (entry, loss) in open.lost.values() {
                by_entry.entry(entry.revision).or_insert((entry, Vec::new())).1.push(loss.clone());
            }
            for (entry, losses) in by_entry.into_values() {
                let Some(stale) = read(entry, entry.after.as_ref()) else { continue };
                let losses: Vec<Loss> = losses.into_iter().filter(|loss| stands(loss, &now, &stale)).collect();
                let (last, made) = (open.last.clone(), self.made.get(task).cloned());
                let lost = StillLost { task: task.clone(), entry: entry.clone(), losses, last, made };
                if !lost.losses.is_empty() && lost.is_of(present) {
                    still.push(lost);
                }
            }
        }
        still
    }
}

impl OfTask {
    fn is_of(&self, now: &Task, made: Option<&Fields>) -> bool {
        let mut entries: Vec<&Entry> = self.lost.values().map(|(entry, _)| entry).collect();
        entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.revision));
        entries.dedup_by_key(|entry| entry.revision);
        is_still(now, &self.last, &entries, made)
    }
}

/// Returns whether `now` is evidently the same task as in its last recorded state or in one of these writes, which are
/// given newest first.
fn is_still(now: &Task, last: &Task, writes: &[&Entry], made: Option<&Fields>) -> bool {
    let images = writes.iter().flat_map(|entry| [&entry.after, &entry.before]).flatten();
    let states = images.filter_map(|image| image.task(&last.id).ok()).map(|task| fields(&task));
    let recorded: Vec<Fields> = std::iter::once(fields(last)).chain(states).chain(made.cloned()).collect();
    is_evident(&fields(now), &recorded, &HashSet::new())
}

/// A lost value and its replacement.
#[derive(Clone, Debug, PartialEq)]
pub struct LostValue {
    /// The lost field, the revision that set it, and the verdict.
    pub loss: Loss,
    /// The lost value, or `None` if the field was absent.
    pub lost: Option<Value>,
    /// The value that the write stored, or `None` if the field is absent.
    pub now: Option<Value>,
}

/// Returns the losses caused by the entry's write, each with both values.
pub fn lost_values(entry: &Entry, losses: &[Loss]) -> Vec<LostValue> {
    if losses.is_empty() {
        return Vec::new();
    }
    let (before, after) = (read(entry, entry.before.as_ref()), read(entry, entry.after.as_ref()));
    let value = |fields: &Option<Fields>, field: &TaskField| fields.as_ref()?.get(field).cloned();
    let of = |loss: &Loss| {
        let (lost, now) = (value(&before, &loss.field), value(&after, &loss.field));
        LostValue { loss: loss.clone(), lost, now }
    };
    losses.iter().map(of).collect()
}

/// Returns whether a task still has what the write left in place of a lost value. `left` is the state after the write.
pub fn is_still_taken(loss: &Loss, now: &Task, left: &Task) -> bool {
    stands(loss, &fields(now), &fields(left))
}

/// Returns the task with lost values put back in the fields that still have what the write left there, or `None` if
/// there is nothing to put back. `found` is the state before the write, `left` the state after it.
pub fn put_back(now: &Task, losses: &[Loss], found: &Task, left: &Task) -> Option<Task> {
    let (present, left) = (fields(now), fields(left));
    let standing = losses.iter().filter(|loss| stands(loss, &present, &left)).map(|loss| &loss.field);
    let mut task = now.clone();
    give(&mut task, standing, found);
    (task != *now).then_some(task)
}

fn stands(loss: &Loss, now: &Fields, left: &Fields) -> bool {
    loss.field == TaskField::Deletion || now.get(&loss.field) == left.get(&loss.field)
}

fn read(entry: &Entry, image: Option<&Image>) -> Option<Fields> {
    Some(fields(&image?.task(&entry.task).ok()?))
}

/// The fields of a task. Absent fields have no entry.
pub(crate) type Fields = HashMap<TaskField, Value>;

/// Returns the fields of a task. Keys that the client does not know are left out, because it drops them on every write.
pub(crate) fn fields(task: &Task) -> Fields {
    let mut fields = Fields::new();
    fields.insert(TaskField::Subject, task.subject.as_str().into());
    fields.insert(TaskField::Description, task.description.as_str().into());
    fields.insert(TaskField::Status, task.status.as_str().into());
    fields.extend(task.active_form.as_deref().map(|text| (TaskField::ActiveForm, text.into())));
    fields.extend(task.owner().map(|owner| (TaskField::Owner, owner.into())));
    fields.extend(task.blocks.iter().map(|id| (TaskField::Blocks(id.clone()), true.into())));
    fields.extend(task.blocked_by.iter().map(|id| (TaskField::BlockedBy(id.clone()), true.into())));
    fields.extend(keyed(notes_of(task)).into_iter().map(|(key, note)| (TaskField::Note(key), note.clone())));
    let metadata = task.metadata.iter().flatten().filter(|(key, _)| *key != NOTES);
    fields.extend(metadata.map(|(key, value)| (TaskField::Metadata(key.clone()), value.clone())));
    fields
}

/// Returns the fields that differ between two states, sorted.
pub(super) fn differing(one: &Fields, other: &Fields) -> Vec<TaskField> {
    let lost = one.iter().filter(|(field, value)| other.get(field) != Some(value)).map(|(field, _)| field);
    let gained = other.keys().filter(|field| !one.contains_key(field));
    let mut differing: Vec<TaskField> = lost.chain(gained).cloned().collect();
    differing.sort_unstable();
    differing
}

/// Sets fields of a task to their values in `from`. Fields absent there are removed.
fn give<'a>(task: &mut Task, given: impl Iterator<Item = &'a TaskField>, from: &Task) {
    let values = fields(from);
    let (mut notes_given, mut notes_taken) = (HashSet::new(), HashSet::new());
    let mut blocks = EdgeChange::default();
    let mut blocked_by = EdgeChange::default();
    for field in given {
        let value = values.get(field);
        let text = || value.and_then(Value::as_str).map(str::to_owned);
        match field {
            TaskField::Subject => task.subject = text().unwrap_or_default(),
            TaskField::Description => task.description = text().unwrap_or_default(),
            TaskField::ActiveForm => task.active_form = text(),
            TaskField::Owner => task.owner = text(),
            TaskField::Status => task.status = text().and_then(|word| word.parse().ok()).unwrap_or(Status::Pending),
            TaskField::Blocks(id) => blocks.note(id, value.is_some()),
            TaskField::BlockedBy(id) => blocked_by.note(id, value.is_some()),
            TaskField::Metadata(key) => match value {
                Some(value) => drop(task.metadata.get_or_insert_default().insert(key.clone(), value.clone())),
                None => drop(task.metadata.as_mut().and_then(|metadata| metadata.shift_remove(key))),
            },
            TaskField::Note(key) => {
                let notes = if value.is_some() { &mut notes_given } else { &mut notes_taken };
                notes.insert(key.clone());
            }
            TaskField::Deletion => {}
        }
    }
    blocks.make(&mut task.blocks);
    blocked_by.make(&mut task.blocked_by);
    if !notes_given.is_empty() || !notes_taken.is_empty() {
        give_notes(task, &notes_given, &notes_taken, notes_of(from));
    }
}

/// Edge changes that are applied together, since a task may have thousands of edges.
#[derive(Default)]
struct EdgeChange {
    added: Vec<TaskId>,
    removed: HashSet<TaskId>,
}

impl EdgeChange {
    fn note(&mut self, id: &TaskId, is_there: bool) {
        if is_there {
            self.added.push(id.clone());
        } else {
            self.removed.insert(id.clone());
        }
    }

    fn make(self, edges: &mut Vec<TaskId>) {
        if !self.removed.is_empty() {
            edges.retain(|id| !self.removed.contains(id));
        }
        if !self.added.is_empty() {
            let there: HashSet<TaskId> = edges.iter().cloned().collect();
            edges.extend(self.added.into_iter().filter(|id| !there.contains(id)));
        }
    }
}

/// Returns whether `now` is evidently the task whose `recorded` states are given, newest first. In doubt it is not:
/// values acknowledged for one task must not be written to another.
pub fn is_same_task(now: &Task, recorded: &[&Task]) -> bool {
    let recorded: Vec<Fields> = recorded.iter().map(|task| fields(task)).collect();
    is_evident(&fields(now), &recorded, &HashSet::new())
}

/// Does the same as [`is_same_task`], given the fields in which the file has an older value.
///
/// A client that writes stale data leaves the file in a recorded state, apart from its intentional changes. Evidence is
/// any of the following:
/// - The file equals a recorded state, apart from the reverted fields.
/// - It has the title and description of a recorded state, and the description is not empty or the task is no longer in
///   its initial state.
/// - It has one of the two texts, and something that the task only acquired during its life.
///
/// A title alone is not evidence: two tasks may have the same title.
fn is_evident(now: &Fields, recorded: &[Fields], taken_back: &HashSet<TaskField>) -> bool {
    let Some(oldest) = recorded.last() else { return false };
    let says_something = text(now, &TaskField::Description).is_some_and(|text| !text.trim().is_empty());
    recorded.iter().any(|state| {
        let has_title = now.get(&TaskField::Subject) == state.get(&TaskField::Subject);
        let has_description = now.get(&TaskField::Description) == state.get(&TaskField::Description);
        let has_both = has_title && has_description && (says_something || !is_as_made(now));
        let has_one = has_title || (has_description && says_something);
        has_both || (has_one && carries_life(now, state, oldest)) || is_equal(now, state, taken_back)
    })
}

/// Returns whether a task is in the initial state: pending, without an owner or edges.
fn is_as_made(fields: &Fields) -> bool {
    let is_tie = |field: &TaskField| matches!(field, TaskField::Blocks(_) | TaskField::BlockedBy(_));
    let is_pending = text(fields, &TaskField::Status) == Some(Status::Pending.as_str());
    is_pending && !fields.contains_key(&TaskField::Owner) && !fields.keys().any(is_tie)
}

/// Returns whether a file shares something with a recorded state that tasks are not created with: its owner, a note, or
/// a metadata value that the oldest state did not have.
fn carries_life(now: &Fields, state: &Fields, oldest: &Fields) -> bool {
    now.iter().filter(|(field, value)| state.get(field) == Some(value)).any(|(field, value)| match field {
        TaskField::Owner | TaskField::Note(_) => true,
        TaskField::Metadata(_) => oldest.get(field) != Some(value),
        _ => false,
    })
}

fn is_equal(now: &Fields, state: &Fields, taken_back: &HashSet<TaskField>) -> bool {
    let without = |fields: &Fields| fields.keys().filter(|field| !taken_back.contains(*field)).count();
    let is_kept = |(field, value): (&TaskField, &Value)| taken_back.contains(field) || state.get(field) == Some(value);
    now.iter().all(is_kept) && without(now) == without(state)
}

fn text<'a>(fields: &'a Fields, field: &TaskField) -> Option<&'a str> {
    fields.get(field).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{differing, fields, give};
    use crate::{Status, Task, TaskField, TaskId};

    #[test]
    fn giving_every_differing_field_makes_one_task_of_the_other() {
        let one = Task::new(TaskId::number(1), "old");
        let other = Task {
            subject: "new".into(),
            description: "text".into(),
            active_form: Some("doing".into()),
            owner: Some("ana".into()),
            status: Status::Completed,
            blocks: vec![TaskId::number(2), TaskId::number(3)],
            blocked_by: vec![TaskId::number(4)],
            metadata: json!({"a": {"b": [1]}, "c": null, "notes": ["one", {"text": "two"}]}).as_object().cloned(),
            ..one.clone()
        };
        let changed = differing(&fields(&one), &fields(&other));
        assert_eq!(changed.len(), 12);
        let (mut there, mut back) = (one.clone(), other.clone());
        give(&mut there, changed.iter(), &other);
        assert_eq!(there, other);
        give(&mut back, changed.iter(), &one);
        assert_eq!(Task { metadata: None, ..back }, one);
    }

    #[test]
    fn an_empty_owner_is_nobody() {
        let one = Task::new(TaskId::number(1), "x");
        let other = Task { owner: Some(String::new()), ..one.clone() };
        assert_eq!(differing(&fields(&one), &fields(&other)), [] as [TaskField; 0]);
    }
}

#[cfg(test)]
mod evidence_tests {
    use serde_json::json;

    use super::is_same_task;
    use crate::{Status, Task, TaskId};

    fn task(subject: &str, description: &str) -> Task {
        Task { description: description.into(), ..Task::new(TaskId::number(1), subject) }
    }

    fn with_metadata(task: Task, metadata: &serde_json::Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..task }
    }

    #[test]
    fn a_new_task_is_another_whatever_it_shares() {
        let old = task("Fix tests", "");
        for new in [
            task("Buy milk", ""),
            task("Fix tests", "The slow ones"),
            Task { active_form: Some("Fixing tests".into()), ..old.clone() },
            with_metadata(old.clone(), &json!({"priority": "high"})),
        ] {
            assert!(!is_same_task(&new, &[&Task { status: Status::Completed, ..old.clone() }, &old]), "{new:?}");
        }
        let told = with_metadata(task("Fix tests", "All of them"), &json!({"priority": "high"}));
        assert!(!is_same_task(&Task { subject: "Buy milk".into(), ..told.clone() }, &[&told]));
        assert!(!is_same_task(&Task { description: "The slow ones".into(), ..told.clone() }, &[&told]));
    }

    #[test]
    fn both_texts_show_that_it_is_the_same() {
        let old = task("Fix tests", "All of them");
        let changed = Task { active_form: Some("Fixing".into()), ..with_metadata(old.clone(), &json!({"theirs": 1})) };
        assert!(is_same_task(&changed, &[&Task { subject: "Ours".into(), ..old.clone() }, &old]));
        // Without a description, something acquired later must be the evidence.
        let bare = task("Fix tests", " ");
        assert!(is_same_task(&bare, &[&bare]));
        assert!(is_same_task(&Task { status: Status::InProgress, ..bare.clone() }, &[&bare]));
        assert!(is_same_task(&Task { blocks: vec![TaskId::number(2)], ..bare.clone() }, &[&bare]));
    }

    #[test]
    fn what_a_task_got_in_its_life_shows_that_it_is_the_same() {
        let made = with_metadata(task("Fix tests", ""), &json!({"priority": "high"}));
        let later = with_metadata(made.clone(), &json!({"priority": "high", "branch": "main"}));
        let told = Task { description: "The slow ones".into(), ..later.clone() };
        assert!(is_same_task(&told, &[&later, &made]));
        assert!(!is_same_task(&Task { subject: "Buy milk".into(), ..told.clone() }, &[&later, &made]));
        let noted = with_metadata(made.clone(), &json!({"notes": ["one"]}));
        let told = with_metadata(task("Fix tests", "The slow ones"), &json!({"notes": ["one", "two"]}));
        assert!(is_same_task(&told, &[&noted]));
        let owned = Task { owner: Some("ana".into()), ..made.clone() };
        assert!(is_same_task(&Task { description: "The slow ones".into(), ..owned.clone() }, &[&owned]));
    }
}
