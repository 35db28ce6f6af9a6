//! The writer of a list and its commit: everything staged is applied, or nothing is.
//!
//! The steps are, in order: compute the new files, verify the current ones, write the journal (from here on the commit
//! exists), write the files, and record that they are written.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use taskyard_core::{Event, Image, Moment, Revision, Rules, TaskId};

use super::dialect_files::{Changes, DialectFiles};
use super::finishing;
use super::looking::{APPLIED, Progress, keep_rewrite, look, note_applied};
use crate::failpoint::reach;
use crate::store::dialects::dialect_files::{DialectList, DialectTurn, OpenList};
use crate::store::dialects::looking;
use crate::store::dialects::looking::{FoundChange, ReadFiles, SeenList};
use crate::store::engine::{Alongside, ListWriter};
use crate::store::journal::{Formed, Journal, NewEntry};
use crate::store::kit::{Change, StagedTxn, Staging, Writer, entries_of};
use crate::store::{HistoryQuery, Signature, StoreError, engine};
use crate::system;

#[derive(Debug)]
pub(super) struct DialectWriter<F: DialectFiles> {
    pub(super) open_list: Arc<OpenList<F>>,
    /// Returned to the pool when the writer is done.
    journal: Option<Journal>,
    pub(super) files: ReadFiles<F>,
    /// Changes by other programs that are not recorded yet.
    pub(super) outside: Vec<FoundChange>,
    pub(super) turn: DialectTurn<F>,
}

impl<F: DialectFiles> DialectWriter<F> {
    /// Waits for a turn on the list.
    pub(super) fn begin(open_list: Arc<OpenList<F>>) -> Result<StagedTxn<Self>, StoreError> {
        let (turn, journal) = open_list.take_turn()?;
        Self::catch_up(open_list, turn, journal)
    }

    /// Starts a transaction, unless another writer has the turn.
    pub(super) fn try_begin(open_list: Arc<OpenList<F>>) -> Result<Option<StagedTxn<Self>>, StoreError> {
        open_list.try_take_turn()?.map(|(turn, journal)| Self::catch_up(open_list, turn, journal)).transpose()
    }

    fn catch_up(
        open_list: Arc<OpenList<F>>,
        turn: DialectTurn<F>,
        journal: Journal,
    ) -> Result<StagedTxn<Self>, StoreError> {
        let SeenList { state, files, outside, .. } = look(&open_list, Some(&journal))?;
        let rules = open_list.rules;
        Ok(StagedTxn::new(Self { open_list, journal: Some(journal), files, outside, turn }, Arc::new(state), rules))
    }

    pub(super) fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("the journal is there until the writer is done")
    }

    /// Completes, within this turn, commits that are in the journal but not in the files.
    pub(super) fn repair(&mut self) -> Result<(), StoreError> {
        finishing::repair(&self.open_list, &mut self.turn, journal_mut(&mut self.journal))
    }

    /// Waits until an existing commit is on disk.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        journal_mut(&mut self.journal).sync()
    }
}

fn journal_mut(journal: &mut Option<Journal>) -> &mut Journal {
    journal.as_mut().expect("the journal is there until the writer is done")
}

impl<F: DialectFiles> Drop for DialectWriter<F> {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            self.open_list.give_back(journal);
        }
    }
}

impl<F: DialectFiles> Writer for DialectWriter<F> {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(system::moment())
    }

    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError> {
        commit(self, staging, signature)
    }

    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError> {
        commit_both(from, into, signature)
    }

    fn new_ids(&self, staging: &Staging, count: usize, _rules: Rules) -> Result<Vec<TaskId>, StoreError> {
        let mut ids = HashSet::with_capacity(count);
        while ids.len() < count {
            let id = self.open_list.files.dialect.new_id(system::now());
            // A task that the journal knows may be missing now, and be restored under its id.
            let known = HistoryQuery { task: Some(id.clone()), newest: Some(1), ..HistoryQuery::default() };
            let is_free = staging.get(&id).is_none() && !self.is_occupied(&id);
            if is_free && self.journal().select(&known)?.is_empty() {
                ids.insert(id);
            }
        }
        // Tasks are sorted by id, so ascending ids preserve the order of creation.
        let mut ids: Vec<TaskId> = ids.into_iter().collect();
        ids.sort();
        Ok(ids)
    }

    fn has_met_outside_writes(&self) -> bool {
        !self.outside.is_empty()
    }

    fn is_occupied(&self, id: &TaskId) -> bool {
        self.open_list.files.dialect.is_occupied(&self.open_list.files.path, self.files.raw(), id)
    }
}

/// Number of commits whose journal entries are packed together.
const PACKED_TOGETHER: u64 = 64;
/// Size in bytes above which fewer commits are packed together, but at least `FEW`.
const LARGE: u64 = 1 << 20;
const FEW: u64 = 4;

/// Applies everything staged.
pub(super) fn commit<F: DialectFiles>(
    writer: DialectWriter<F>,
    staging: Staging,
    signature: &Signature,
) -> Result<Option<Event>, StoreError> {
    if staging.changes().is_empty() {
        engine::commit_leases(writer, &staging.leases)?;
        return Ok(None);
    }
    engine::commit(writer, staging, signature).map(Some)
}

/// Writes a commit to the journal; from then on it exists. Returns it with the new files. The caller flushes the
/// journal before writing the files.
pub(super) fn exist<F: DialectFiles>(
    writer: &mut DialectWriter<F>,
    staging: &mut Staging,
    signature: &Signature,
    Alongside { former, with }: Alongside<'_>,
) -> Result<(Event, F::Raw), StoreError> {
    let at = system::now();
    let changes = staging.changes();
    let dialect = Arc::clone(&writer.open_list.files.dialect);
    let raw = dialect.change(writer.files.raw(), &for_files(&changes), at);
    let conflict = || StoreError::Conflict { task: changes[0].task.clone() };
    let is_same = dialect.is_still(&writer.open_list.files.path, writer.files.raw())
        && dialect.prepare(&writer.open_list.files.path, writer.turn.held(), writer.files.raw(), &raw)?;
    if !is_same {
        return Err(conflict());
    }
    staging.settle_leases(&changes);
    reach("dialect: before the journal");
    let journal = writer.journal();
    let transaction = journal.begin()?;
    let mut newest = staging.base.revision;
    if journal.newest()? != newest {
        return Err(conflict());
    }
    if let Some(former) = former {
        newest = journal.go_on_from(former)?;
        // The former revisions must not be written to the files.
        journal.set_fact(APPLIED, newest.0.cast_signed())?;
    }
    let seen_elsewhere = !writer.outside.is_empty();
    if seen_elsewhere {
        let recorded = looking::record(&writer.open_list, journal, &writer.outside, newest.next())?;
        if recorded.changes_judgement() {
            // The decision was based on a stale write, or on a lease that it ended.
            journal.set_fact(APPLIED, newest.next().0.cast_signed())?;
            journal.end(transaction)?;
            writer.open_list.journals.note_stale_writes(recorded.stale_writes);
            return Err(conflict());
        }
    }
    let revision = if seen_elsewhere { newest.next().next() } else { newest.next() };
    journal.append(revision, at, signature, &new_entries(&changes, signature))?;
    remember_forms(writer, staging, &changes, &dialect.forms(&raw))?;
    let mut known = writer.files.raw().map(|before| dialect.learned(before)).unwrap_or_default();
    known.extend(changes.iter().map(|change| (change.task.clone(), dialect.about_to_be_known(&raw, &change.task))));
    looking::note_known(journal, known)?;
    keep_rewrite(journal, revision, dialect.rewrite(writer.files.raw(), &raw))?;
    journal.write_leases(&staging.leases)?;
    with.map_or(Ok(()), |with| with(journal))?;
    journal.end(transaction)?;
    let list = writer.open_list.list.clone();
    Ok((Event { list, revision, entries: entries_of(&changes, revision, at, signature) }, raw))
}

/// Writes a commit that exists and is flushed to the files.
pub(super) fn write_out<F: DialectFiles>(
    mut writer: DialectWriter<F>,
    event: &Event,
    raw: &F::Raw,
) -> Result<(), StoreError> {
    let open_list = Arc::clone(&writer.open_list);
    let saved = open_list.files.dialect.save(&open_list.files.path, writer.turn.held(), writer.files.raw(), raw);
    if saved? {
        reach("dialect: saved");
        note_applied(writer.journal(), event.revision)?;
    } else {
        // A program that ignores the lock has written since, or replaced the file: apply the commit to what it wrote.
        writer.repair()?;
    }
    pack_what_is_applied(writer.journal(), event);
    writer.journal().copy_log();
    Ok(())
}

/// Packs the journal entries of applied commits, many at once. After a failure, the next run tries again.
fn pack_what_is_applied(journal: &Journal, event: &Event) {
    let images = event.entries.iter().filter_map(|entry| entry.after.as_ref());
    let length: u64 = images.map(|image| image.bytes().len() as u64).sum();
    let together = (LARGE / length.max(1)).clamp(FEW, PACKED_TOGETHER);
    if !event.revision.0.is_multiple_of(together) {
        return;
    }
    let since = Revision(event.revision.0.saturating_sub(PACKED_TOGETHER));
    let packed = Progress::of(journal).and_then(|files| journal.pack(since, files.applied));
    if let Err(error) = packed {
        tracing::debug!(%error, "the journal is not packed");
    }
}

/// Drops entries that cannot be read as tasks, which the files cannot contain.
fn for_files(changes: &[Change]) -> Changes {
    let task = |change: &Change| change.after.as_ref().and_then(|kept| kept.task.as_ref().ok().cloned());
    changes.iter().map(|change| (change.task.clone(), task(change))).collect()
}

/// Records every form that changes; a task's form may change because of another task.
fn remember_forms<F: DialectFiles>(
    writer: &DialectWriter<F>,
    staging: &Staging,
    changes: &[Change],
    after: &BTreeMap<TaskId, Vec<u8>>,
) -> Result<(), StoreError> {
    let journal = writer.journal();
    let changed: BTreeMap<&TaskId, &Change> = changes.iter().map(|change| (&change.task, change)).collect();
    for (task, form) in after {
        let image = match changed.get(task) {
            Some(change) => change.image(),
            None if writer.files.forms.get(task) == Some(form) => continue,
            None => staging.base.tasks.get(task).map(|kept| &kept.image),
        };
        if let Some(image) = image {
            journal.set_form(task, &Formed { form: Some(form.clone()), image: image.clone() })?;
        }
    }
    for change in changes.iter().filter(|change| !after.contains_key(&change.task)) {
        match &change.after {
            Some(kept) => journal.set_form(&change.task, &Formed { form: None, image: kept.image.clone() })?,
            None => journal.forget_form(&change.task)?,
        }
    }
    Ok(())
}

fn new_entries<'a>(changes: &'a [Change], signature: &Signature) -> Vec<NewEntry<'a>> {
    let entry = |change: &'a Change| NewEntry {
        task: &change.task,
        op: signature.op,
        before: change.before.as_ref(),
        after: change.image(),
        inode: None,
        mode: None,
    };
    changes.iter().map(entry).collect()
}

/// Applies what was staged on two lists, atomically.
pub(super) fn commit_both<F: DialectFiles>(
    (from, leaving): (DialectWriter<F>, Staging),
    (into, coming): (DialectWriter<F>, Staging),
    signature: &Signature,
) -> Result<[Option<Event>; 2], StoreError> {
    if leaving.changes().is_empty() || coming.changes().is_empty() {
        let left = commit(from, leaving, signature)?;
        return Ok([left, commit(into, coming, signature)?]);
    }
    engine::commit_both((from, leaving), (into, coming), signature).map(|events| events.map(Some))
}

impl<F: DialectFiles> ListWriter for DialectWriter<F> {
    type Files = DialectList<F>;
    type Plan = Staging;
    type Journaled = F::Raw;

    fn open_list(&self) -> &Arc<OpenList<F>> {
        &self.open_list
    }

    fn journal(&self) -> &Journal {
        Self::journal(self)
    }

    fn changes(staging: &Staging) -> Vec<(TaskId, Option<Image>)> {
        staging.changes().iter().map(|change: &Change| (change.task.clone(), change.image().cloned())).collect()
    }

    fn write_journal(
        &mut self,
        staging: &mut Staging,
        signature: &Signature,
        with: Alongside<'_>,
    ) -> Result<(Event, F::Raw), StoreError> {
        exist(self, staging, signature, with)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Self::sync(self)
    }

    fn can_be_halved(_staging: &Staging) -> bool {
        // The files are flushed when they are written, and the journal must not be flushed after them.
        true
    }

    fn write_out(self, _staging: &Staging, raw: F::Raw, event: &mut Event) -> Result<(), StoreError> {
        write_out(self, event, &raw)
    }

    fn leave_to_the_note(self, _staging: &Staging) -> Result<(), StoreError> {
        Ok(())
    }
}
