//! Recovery: completes commits that a dead writer left in the journal but not in the files, and finds and removes
//! litter.
//!
//! Another program may have taken the name of a new task between our journal write and our file write. This happens
//! only to a writer that was killed, or was overtaken by a program that ignores the lock, and only to a chosen name
//! rather than a generated one: that of a restored task. Their task is kept; ours keeps everything but its name, and a
//! further revision records the change.
//!
//! Litter are temporary files of dead writers. Preserved old versions are not litter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use taskyard_core::dialect::native;
use taskyard_core::rules::changes::patching::rebase_by;
use taskyard_core::{Entry, Image, Revision, Rules, Task, TaskId};

use super::dialect_files::{Changes, DialectFiles};
use super::looking::{Progress, keep_rewrite, note_applied};
use crate::failpoint::reach;
use crate::liveness::is_seen_dead;
use crate::regular_file::special_at;
use crate::store::dialects::dialect_files::{DialectTurn, OpenList};
use crate::store::dialects::looking;
use crate::store::dialects::looking::{FoundChange, read_anew};
use crate::store::engine::ListFiles as _;
use crate::store::journal::{Formed, Journal, Move, NewEntry};
use crate::store::{Litter, Signature, StoreError};
use crate::system;

/// Maximum number of attempts while a program that ignores the lock keeps writing.
const TRIES: u32 = 20;

/// Completes unfinished commits, if there are any. Requires the turn.
pub(super) fn repair<F: DialectFiles>(
    open_list: &OpenList<F>,
    turn: &mut DialectTurn<F>,
    journal: &mut Journal,
) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        turn.keep_held(&*open_list.files.dialect, &open_list.files.path)?;
        if finish(open_list, turn, journal)? {
            return Ok(());
        }
    }
    Err(StoreError::Conflict { task: TaskId::number(0) })
}

/// Writes what is in the journal but not in the files. Returns false if another program wrote at the same moment.
fn finish<F: DialectFiles>(
    open_list: &OpenList<F>,
    turn: &mut DialectTurn<F>,
    journal: &mut Journal,
) -> Result<bool, StoreError> {
    let Progress { mut applied, newest, rewrite } = Progress::of(journal)?;
    if applied == newest {
        return Ok(true);
    }
    if let Some((revision, rewrite)) = rewrite
        && open_list.files.dialect.finish_rewrite(&open_list.files.path, turn.held(), &rewrite)?
    {
        tracing::info!(revision = revision.0, "finished a commit that its writer did not finish");
        note_applied(journal, revision)?;
        applied = revision;
    }
    let pending = newest_of_each(journal, applied)?;
    if pending.is_empty() {
        return Ok(true);
    }
    tracing::info!(tasks = pending.len(), "finishing a commit that its writer did not finish");
    let dialect = &*open_list.files.dialect;
    let raw = dialect.load(&open_list.files.path)?;
    let known = journal.forms()?;
    let forms = raw.as_ref().map(|raw| dialect.forms(raw)).unwrap_or_default();
    let mut changes = Changes::new();
    let mut rebased: BTreeMap<TaskId, (Option<Image>, Image)> = BTreeMap::new();
    let mut renamed = RenamedTasks::default();
    for entry in &pending {
        let is_done = match known.get(&entry.task) {
            Some(formed) => formed.form.as_ref() == forms.get(&entry.task),
            None => !forms.contains_key(&entry.task),
        };
        if is_done {
            continue;
        }
        let task = entry.after.as_ref().and_then(|image| image.task(&entry.task).ok());
        let now = raw.as_ref().filter(|_| forms.contains_key(&entry.task));
        let now = now.and_then(|raw| dialect.read(raw, &entry.task).ok());
        let before = entry.before.as_ref().and_then(|image| image.task(&entry.task).ok());
        if entry.before.is_none() && entry.after.is_some() && forms.contains_key(&entry.task) {
            let is_ours = |now: &Task| task.as_ref().is_some_and(|task| task.subject == now.subject);
            if now.as_ref().is_some_and(is_ours) {
                // It was written, and another program has changed it since.
                continue;
            }
            renamed.add(open_list, raw.as_ref(), &entry.task);
        }
        let task = match (task, now, before) {
            // Another program has written since: apply our change to what it wrote.
            (Some(after), Some(now), Some(before)) if now != before && now != after => {
                let merged = rebase_by(entry.op, &before, &after, &now);
                if merged != after
                    && let Ok(image) = native::write(entry.after.as_ref(), &merged, Rules::Strict)
                {
                    rebased.insert(entry.task.clone(), (entry.after.clone(), image));
                }
                Some(merged)
            }
            (task, _, _) => task,
        };
        changes.insert(entry.task.clone(), task);
    }
    for task in renamed.apply(&mut changes) {
        let before = pending.iter().find(|entry| entry.task == task).and_then(|entry| entry.after.clone());
        if let (Some(Some(written)), Some(image)) = (changes.get(&task), &before)
            && let Ok(image) = native::write(Some(image), written, Rules::Strict)
        {
            rebased.insert(task, (before, image));
        }
    }
    let after = dialect.change(raw.as_ref(), &changes, system::now());
    if !dialect.prepare(&open_list.files.path, turn.held(), raw.as_ref(), &after)? {
        return Ok(false);
    }
    let written = dialect.forms(&after);
    let transaction = journal.begin()?;
    for (task, form) in &written {
        // This includes tasks that change only because of another task, unless another program changed them.
        let follows = |formed: &Formed| formed.form.as_ref() == forms.get(task) && formed.form.as_ref() != Some(form);
        if let Some(formed) = known.get(task).filter(|formed| changes.contains_key(task) || follows(formed)) {
            journal.set_form(task, &Formed { form: Some(form.clone()), image: formed.image.clone() })?;
        }
    }
    let mut revision = newest;
    if !rebased.is_empty() {
        revision = newest.next();
        let outside = rebased.into_iter().map(|(task, (before, image))| {
            let form = written.get(&task).cloned();
            FoundChange { task, before, after: Some(Formed { form, image }) }
        });
        looking::record(open_list, journal, &outside.collect::<Vec<_>>(), revision)?;
    }
    let revision = renamed.record(open_list, journal, &pending, (raw.as_ref(), &after), revision)?;
    keep_rewrite(journal, revision, dialect.rewrite(raw.as_ref(), &after))?;
    journal.end(transaction)?;
    journal.sync()?;
    reach("dialect: repair journaled");
    if !dialect.save(&open_list.files.path, turn.held(), raw.as_ref(), &after)? {
        return Ok(false);
    }
    note_applied(journal, revision)?;
    Ok(true)
}

/// Keeps only the last entry of each task. Changes by other programs are already in the files.
fn newest_of_each(journal: &Journal, applied: taskyard_core::Revision) -> Result<Vec<Entry>, StoreError> {
    let mut newest: BTreeMap<TaskId, Entry> = BTreeMap::new();
    for stored in journal.after(applied)?.into_iter().filter(|stored| !stored.entry.op.is_elsewhere()) {
        let earlier = newest.remove(&stored.entry.task);
        let before = earlier.map_or(stored.entry.before.clone(), |earlier| earlier.before);
        newest.insert(stored.entry.task.clone(), Entry { before, ..stored.entry });
    }
    Ok(newest.into_values().collect())
}

/// Writes the journal entries that a move should have written. The files are then updated like those of any other
/// unapplied commit.
pub(super) fn follow_move(journal: &Journal, noted: &Move) -> Result<(), StoreError> {
    let known = journal.forms()?;
    let before = |task| known.get(task).map(|formed: &Formed| &formed.image);
    let entries: Vec<NewEntry<'_>> = noted
        .changes
        .iter()
        .map(|(task, after)| NewEntry {
            task,
            op: noted.signature.op,
            before: before(task),
            after: after.as_ref(),
            inode: None,
            mode: None,
        })
        .collect();
    journal.append(journal.newest()?.next(), system::now(), &noted.signature, &entries)?;
    for (task, after) in &noted.changes {
        match after {
            // Its form is unknown before it is written; an empty form never matches, so the task will be written.
            Some(image) => journal.set_form(task, &Formed { form: Some(Vec::new()), image: Image::clone(image) })?,
            None => journal.forget_form(task)?,
        }
    }
    Ok(())
}

/// The tasks that get new names, keyed by their original names.
#[derive(Debug, Default)]
pub(super) struct RenamedTasks {
    new_ids: BTreeMap<TaskId, TaskId>,
}

impl RenamedTasks {
    /// Chooses a name for a task whose own name is taken.
    pub(super) fn add<F: DialectFiles>(&mut self, open_list: &OpenList<F>, raw: Option<&F::Raw>, task: &TaskId) {
        let forms = raw.map(|raw| open_list.files.dialect.forms(raw)).unwrap_or_default();
        let is_free = |id: &TaskId| {
            !forms.contains_key(id) && !open_list.files.dialect.is_occupied(&open_list.files.path, raw, id)
        };
        let ids = std::iter::repeat_with(|| open_list.files.dialect.new_id(system::now()));
        let id = ids.into_iter().find(|id| is_free(id) && !self.new_ids.values().any(|given| given == id));
        self.new_ids.insert(task.clone(), id.expect("there is no end of ids"));
    }

    /// Renames the tasks and updates the edges of all tasks written with them. Returns the other tasks changed by this.
    pub(super) fn apply(&self, changes: &mut Changes) -> Vec<TaskId> {
        let mut touched = Vec::new();
        for (old, new) in &self.new_ids {
            if let Some(Some(task)) = changes.remove(old) {
                changes.insert(new.clone(), Some(Task { id: new.clone(), ..task }));
            }
        }
        for (id, task) in changes.iter_mut().filter_map(|(id, task)| Some((id, task.as_mut()?))) {
            let mut is_touched = false;
            for edge in task.blocks.iter_mut().chain(&mut task.blocked_by) {
                if let Some(new) = self.new_ids.get(edge) {
                    *edge = new.clone();
                    is_touched = true;
                }
            }
            if is_touched && !self.new_ids.values().any(|new| new == id) {
                touched.push(id.clone());
            }
        }
        touched
    }

    /// Journals what other programs wrote under the names we had chosen, then our renamed tasks, and returns the newest
    /// revision.
    pub(super) fn record<F: DialectFiles>(
        &self,
        open_list: &OpenList<F>,
        journal: &Journal,
        pending: &[Entry],
        (before, after): (Option<&F::Raw>, &F::Raw),
        revision: Revision,
    ) -> Result<Revision, StoreError> {
        let taken: Vec<&Entry> = pending.iter().filter(|entry| self.new_ids.contains_key(&entry.task)).collect();
        let (Some(first), Some(before)) = (taken.first(), before) else { return Ok(revision) };
        let [elsewhere, ours] = [revision.next(), revision.next().next()];
        let dialect = &*open_list.files.dialect;
        let forms = dialect.forms(before);
        let theirs = taken.iter().filter_map(|entry| {
            let bytes = forms.get(&entry.task)?;
            let image = read_anew(dialect, before, &entry.task, bytes, None).image;
            let after = Some(Formed { form: Some(bytes.clone()), image });
            Some(FoundChange { task: entry.task.clone(), before: entry.after.clone(), after })
        });
        looking::record(open_list, journal, &theirs.collect::<Vec<_>>(), elsewhere)?;
        let written = dialect.forms(after);
        let mut made: Vec<(&TaskId, Image)> = Vec::new();
        for entry in &taken {
            let new = &self.new_ids[&entry.task];
            let task = dialect.read(after, new).ok();
            let image = task.and_then(|task| native::write(entry.after.as_ref(), &task, Rules::Strict).ok());
            let Some(image) = image else { continue };
            tracing::warn!(task = %entry.task, now = %new, "a task's name was taken by another program; it got another one");
            journal.set_form(new, &Formed { form: written.get(new).cloned(), image: image.clone() })?;
            made.push((new, image));
        }
        let entries: Vec<NewEntry<'_>> = made
            .iter()
            .map(|(task, image)| NewEntry {
                task,
                op: first.op,
                before: None,
                after: Some(image),
                inode: None,
                mode: None,
            })
            .collect();
        journal.append(ours, system::now(), &Signature::new(first.actor.clone(), first.op), &entries)?;
        Ok(ours)
    }
}

/// Returns temporary files of dead processes, and special files.
pub(super) fn find<F: DialectFiles>(open_list: &OpenList<F>) -> Result<Vec<Litter>, StoreError> {
    let directory = open_list.files.dialect.directory(&open_list.files.path);
    let left = leftovers(directory, &open_list.files.dialect.temporary(&open_list.files.path));
    let mut left = left.map_err(StoreError::io("cannot list", directory))?;
    left.sort();
    let mut litter: Vec<Litter> = left.into_iter().map(|path| Litter::Leftover { path }).collect();
    litter.extend(
        open_list
            .files
            .dialect
            .special_files(&open_list.files.path)
            .map_err(StoreError::io("cannot list", directory))?,
    );
    Ok(litter)
}

/// Removes litter that still exists.
pub(super) fn sweep<F: DialectFiles>(open_list: &OpenList<F>, litter: &[Litter]) -> Result<Vec<Litter>, StoreError> {
    if litter.is_empty() {
        return Ok(Vec::new());
    }
    let torn = litter.iter().filter(|item| matches!(item, Litter::TornFile { .. }));
    let set_aside: Vec<&Litter> = torn.filter(|item| set_aside(open_list, item)).collect();
    // While we hold the turn, no other Taskyard process is in the middle of an operation.
    let (_turn, journal) = open_list.take_turn()?;
    open_list.give_back(journal);
    let still_there = find(open_list)?;
    let is_gone = |item: &&Litter| match item {
        Litter::TornFile { .. } => set_aside.contains(item),
        Litter::SpecialFile { path, .. } => still_there.contains(item) && rename_aside(path),
        Litter::Leftover { path } if still_there.contains(item) => fs::remove_file(path).is_ok(),
        Litter::Leftover { path } => !path.exists(),
        _ => false,
    };
    Ok(litter.iter().filter(is_gone).cloned().collect())
}

/// Keeps an unparsable file under another name, if it is still unparsable.
fn set_aside<F: DialectFiles>(open_list: &OpenList<F>, torn: &Litter) -> bool {
    let Litter::TornFile { path } = torn else { return false };
    let is_torn = || matches!(open_list.files.dialect.load(&open_list.files.path), Err(StoreError::NoTask { path: found, .. }) if found == *path);
    // A special file cannot be locked, and no process works on it.
    if matches!(special_at(path), Ok(Some(_))) {
        return rename_aside(path);
    }
    let Ok(mut turn) = take_bare_turn(open_list) else { return false };
    is_torn() && open_list.files.dialect.set_aside(turn.held(), path, &name_aside(path)).is_ok()
}

/// Waits for a turn without completing unfinished commits: for files that cannot be read.
fn take_bare_turn<F: DialectFiles>(open_list: &OpenList<F>) -> Result<DialectTurn<F>, StoreError> {
    open_list.give_back(open_list.journal()?);
    open_list.files.take_turn(&open_list.queue_file()?)
}

fn rename_aside(path: &Path) -> bool {
    fs::rename(path, name_aside(path)).is_ok()
}

/// Returns an unused name for an unparsable file.
fn name_aside(path: &Path) -> PathBuf {
    let aside = path.with_added_extension("unreadable");
    let others = (2..).map(|number: u32| aside.with_added_extension(number.to_string()));
    let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
    std::iter::once(aside.clone()).chain(others).find(is_free).unwrap_or(aside)
}

/// Removes temporary files of dead processes, ignoring errors.
pub(in crate::store) fn clear_away(directory: &Path, temporary: &str) {
    for left in leftovers(directory, temporary).unwrap_or_default() {
        let _ = fs::remove_file(left);
    }
}

/// Returns the files with this prefix, followed by the id of a process that no longer exists.
fn leftovers(directory: &Path, temporary: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut left = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(temporary)?.split('-').next()?.parse().ok());
        if process.is_some_and(is_seen_dead) {
            left.push(entry.path());
        }
    }
    Ok(left)
}
