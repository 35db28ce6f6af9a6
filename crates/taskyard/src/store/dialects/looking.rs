//! Reading a list without a lock, and recording what other programs changed.
//!
//! A read combines the files with the journal and shows our own commits completely or not at all; while a file is
//! rewritten in place, the journal has what is missing. Changes by other programs are recorded so that the history is
//! complete and removed tasks can be restored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::dialect::native;
use taskyard_core::{Image, Revision, Rules, Task, TaskId};

use super::dialect_files::{DialectFiles, Loaded, RestingList};
use crate::store::dialects::dialect_files::OpenList;
use crate::store::journal::{Extent, Formed, Journal, Known, LOOK_IS_OLD, OutsideChange, OutsideRecord, changed};
use crate::store::kit::{Kept, ListState};
use crate::store::{FileLayout, StoreError};
use crate::system;

/// How long to keep rereading files that a program is writing.
const LOOKING_AGAIN: Duration = Duration::from_millis(500);

/// Reads a list without taking a lock.
pub(super) fn look<F: DialectFiles>(
    open_list: &OpenList<F>,
    journal: Option<&Journal>,
) -> Result<SeenList<F>, StoreError> {
    let began = system::wall();
    let Glance { files, applied, held } = load(open_list, journal)?;
    let home = open_list.files.dialect.home(&open_list.files.path);
    let exists = files.raw.is_some();
    let mut state = ListState { home, counts_missing: F::COUNTS_MISSING, exists, ..ListState::default() };
    if let Some(raw) = files.raw() {
        let place = |id: &TaskId| Some((id.clone(), open_list.files.dialect.place_of(raw, id)?));
        state.places = files.forms.keys().filter_map(place).collect();
    }
    let Some(journal) = journal else {
        let present = present(&*open_list.files.dialect, files.raw(), &files.forms, &BTreeMap::new());
        state.tasks = present.tasks;
        return Ok(SeenList { state, files, outside: present.outside, is_unsettled: false });
    };
    let transaction = journal.begin_to_read()?;
    let standing = journal.standing()?;
    let pending = journal.after(applied)?;
    let leases = journal.leases_to_stage(standing.has_leases)?;
    let commits = pending.iter().filter(|stored| !stored.entry.op.is_elsewhere());
    let is_unsettled = commits.clone().next().is_some() || journal.has_pending_moves()?;
    let mut outside = Vec::new();
    match remembered_tasks(open_list, &files, standing.newest, applied) {
        Some(tasks) => {
            drop(transaction);
            state.tasks = tasks;
        }
        None => {
            let known = journal.forms()?;
            drop(transaction);
            let present = present(&*open_list.files.dialect, files.raw(), &files.forms, &known);
            (state.tasks, outside) = (present.tasks, present.outside);
            if outside.is_empty() && !is_unsettled {
                remember(open_list, &files, (standing.newest, applied), &state.tasks, began);
            }
        }
    }
    for entry in commits.map(|stored| &stored.entry).filter(|entry| entry.revision > held) {
        state.follow(entry);
        state.exists = true;
    }
    state.revision = standing.newest;
    state.last_token = leases.last_token();
    state.leases = leases.all().into_iter().map(|lease| (lease.task.clone(), lease)).collect();
    Ok(SeenList { state, files, outside, is_unsettled })
}

/// Reads the files, including every commit that they should contain; `None` if they do not exist.
pub(super) fn read_files<F: DialectFiles>(open_list: &OpenList<F>) -> Result<Option<Arc<F::Raw>>, StoreError> {
    let journal = open_list.journal_to_read();
    let glance = load(open_list, journal.as_ref());
    if let Some(journal) = journal {
        open_list.give_back(journal);
    }
    Ok(glance?.files.raw)
}

/// The files, and how far they had followed the journal.
struct Glance<F: DialectFiles> {
    files: ReadFiles<F>,
    /// The last commit known to be in the files, as recorded before they were read.
    applied: Revision,
    /// The last commit contained in what was read.
    held: Revision,
}

/// Reads the files, unless they are unchanged since the last read.
fn load<F: DialectFiles>(open_list: &OpenList<F>, journal: Option<&Journal>) -> Result<Glance<F>, StoreError> {
    open_list.files.must_not_be_foreign()?;
    let started = Instant::now();
    loop {
        // Query this before reading the files: later commits are taken from the journal.
        let Progress { applied, newest, rewrite } = journal.map(Progress::of).transpose()?.unwrap_or_default();
        if let Some(files) = load_remembered(open_list) {
            return Ok(Glance { files, applied, held: applied });
        }
        let is_quiet = || journal.map_or(Ok(true), |journal| Ok(journal.newest()? == newest));
        let bytes = rewrite.as_ref().map(|(_, bytes)| bytes.as_slice());
        let is_late = started.elapsed() > LOOKING_AGAIN;
        let known = || Ok(journal.map(Journal::all_known).transpose()?.unwrap_or_default().into_iter().collect());
        let (raw, held) = match open_list.files.dialect.look(&open_list.files.path, bytes, &is_quiet, &known)? {
            Loaded::Absent => (None, applied),
            Loaded::Whole(raw) => (Some(raw), applied),
            Loaded::Completed(raw) => (Some(raw), rewrite.map_or(applied, |(revision, _)| revision)),
            Loaded::Torn(error) if is_late => return Err(*error),
            Loaded::Moving if is_late => (open_list.files.dialect.load(&open_list.files.path)?, applied),
            Loaded::Torn(_) => {
                thread::sleep(Duration::from_millis(5));
                continue;
            }
            Loaded::Moving => {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        let forms = raw.as_ref().map(|raw| open_list.files.dialect.forms(raw)).unwrap_or_default();
        return Ok(Glance { files: ReadFiles { raw: raw.map(Arc::new), forms: Arc::new(forms) }, applied, held });
    }
}

fn load_remembered<F: DialectFiles>(open_list: &OpenList<F>) -> Option<ReadFiles<F>> {
    let before =
        open_list.files.remembered().as_ref().map(|before| (Arc::clone(&before.raw), Arc::clone(&before.forms)));
    let (raw, forms) = before.filter(|(raw, _)| open_list.files.dialect.is_still(&open_list.files.path, Some(raw)))?;
    Some(ReadFiles { raw: Some(raw), forms })
}

fn remembered_tasks<F: DialectFiles>(
    open_list: &OpenList<F>,
    files: &ReadFiles<F>,
    newest: Revision,
    applied: Revision,
) -> Option<BTreeMap<TaskId, Arc<Kept>>> {
    let before = open_list.files.remembered();
    let before = before.as_ref().filter(|before| (before.newest, before.applied) == (newest, applied))?;
    files.raw.as_ref().is_some_and(|raw| Arc::ptr_eq(raw, &before.raw)).then(|| before.tasks.clone())
}

fn remember<F: DialectFiles>(
    open_list: &OpenList<F>,
    files: &ReadFiles<F>,
    (newest, applied): (Revision, Revision),
    tasks: &BTreeMap<TaskId, Arc<Kept>>,
    began: i64,
) {
    let Some(raw) = files.raw.as_ref().filter(|raw| open_list.files.dialect.is_settled(raw, began)) else { return };
    let (raw, forms) = (Arc::clone(raw), Arc::clone(&files.forms));
    *open_list.files.remembered() = Some(RestingList { raw, forms, newest, applied, tasks: tasks.clone() });
}

/// Key of the last commit recorded as being in the files.
pub(super) const APPLIED: &str = "applied";

/// Key of the data written by the last commit that writes in place.
const REWRITE: &str = "rewrite";
/// Key of that commit's revision.
const REWRITE_OF: &str = "rewrite_of";

/// How far the files have followed the journal.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The last commit recorded as being in the files.
    pub(super) applied: Revision,
    pub(super) newest: Revision,
    /// A commit that may be half written, with the data that completes the files.
    pub(super) rewrite: Option<(Revision, Vec<u8>)>,
}

impl Progress {
    /// Reads the state from the journal.
    pub(super) fn of(journal: &Journal) -> Result<Self, StoreError> {
        let revision = |key| Ok(Revision(journal.fact::<i64>(key)?.unwrap_or(0).unsigned_abs()));
        let _transaction = journal.begin_to_read()?;
        let (applied, newest) = (revision(APPLIED)?, journal.newest()?);
        let mut following = Self { applied, newest, rewrite: None };
        if newest > applied && revision(REWRITE_OF)? > applied {
            let bytes = journal.fact(REWRITE)?;
            following.rewrite = bytes.map(|bytes| Ok((revision(REWRITE_OF)?, bytes))).transpose()?;
        }
        Ok(following)
    }
}

/// Stores what a commit is about to write in place, in the transaction that makes the commit exist.
pub(super) fn keep_rewrite(journal: &Journal, revision: Revision, rewrite: Option<Vec<u8>>) -> Result<(), StoreError> {
    let Some(rewrite) = rewrite else { return Ok(()) };
    journal.set_fact(REWRITE, rewrite)?;
    journal.set_fact(REWRITE_OF, revision.0.cast_signed())
}

/// Records that all commits up to a revision are in the files.
pub(super) fn note_applied(journal: &Journal, revision: Revision) -> Result<(), StoreError> {
    let transaction = journal.begin()?;
    journal.set_fact(APPLIED, revision.0.cast_signed())?;
    journal.end(transaction)
}

/// The result of reading a list.
#[derive(Debug)]
pub(super) struct SeenList<F: DialectFiles> {
    pub(super) state: ListState,
    pub(super) files: ReadFiles<F>,
    /// Changes by other programs that are not recorded yet.
    pub(super) outside: Vec<FoundChange>,
    /// Whether one of our commits may be missing from the files.
    pub(super) is_unsettled: bool,
}

impl<F: DialectFiles> SeenList<F> {
    /// Returns whether there is nothing to record.
    pub(super) fn is_quiet(&self) -> bool {
        self.outside.is_empty() && !self.is_unsettled
    }
}

/// The files of a list as read, and the canonical form of each entry in them.
#[derive(Debug)]
pub(super) struct ReadFiles<F: DialectFiles> {
    pub(super) raw: Option<Arc<F::Raw>>,
    pub(super) forms: Arc<BTreeMap<TaskId, Vec<u8>>>,
}

impl<F: DialectFiles> ReadFiles<F> {
    /// Returns the files as read; `None` if they do not exist.
    pub(super) fn raw(&self) -> Option<&F::Raw> {
        self.raw.as_deref()
    }
}

/// The tasks according to the files and our records.
#[derive(Debug, Default)]
pub(super) struct PresentTasks {
    pub(super) tasks: BTreeMap<TaskId, Arc<Kept>>,
    /// Changes by other programs since our records were last written.
    pub(super) outside: Vec<FoundChange>,
}

/// A change to one task by another program.
#[derive(Clone, Debug)]
pub(super) struct FoundChange {
    pub(super) task: TaskId,
    pub(super) before: Option<Image>,
    pub(super) after: Option<Formed>,
}

/// Combines the contents of the files with our records.
pub(super) fn present<F: DialectFiles>(
    dialect: &F,
    raw: Option<&F::Raw>,
    forms: &BTreeMap<TaskId, Vec<u8>>,
    known: &BTreeMap<TaskId, Formed>,
) -> PresentTasks {
    let mut present = Draft::default();
    let mut edges = Vec::new();
    for (id, bytes) in forms {
        let formed = known.get(id);
        if let Some(formed) = formed.filter(|formed| formed.form.as_ref() == Some(bytes)) {
            let kept = Kept::new(id.clone(), formed.image.clone());
            let kept = match raw.filter(|_| kept.task.is_err()) {
                // Only the dialect can report what is wrong with it.
                Some(raw) => {
                    Arc::new(Kept { id: id.clone(), image: formed.image.clone(), task: dialect.read(raw, id) })
                }
                None => kept,
            };
            present.tasks.insert(id.clone(), kept);
            continue;
        }
        let Some(raw) = raw else { continue };
        let before = formed.map(|formed| formed.image.clone());
        let kept = read_anew(dialect, raw, id, bytes, before.as_ref());
        let was = before.as_ref().and_then(|image| image.task(id).ok());
        edges.push((id.clone(), waits_for(was.as_ref()), waits_for(kept.task.as_ref().ok())));
        let after = Some(Formed { form: Some(bytes.clone()), image: kept.image.clone() });
        present.outside.insert(id.clone(), FoundChange { task: id.clone(), before, after });
        present.tasks.insert(id.clone(), Arc::new(kept));
    }
    for (id, formed) in known.iter().filter(|(id, _)| !forms.contains_key(*id)) {
        match formed.form {
            None => drop(present.tasks.insert(id.clone(), Kept::new(id.clone(), formed.image.clone()))),
            Some(_) => {
                edges.push((id.clone(), waits_for(formed.image.task(id).ok().as_ref()), Vec::new()));
                let outside = FoundChange { task: id.clone(), before: Some(formed.image.clone()), after: None };
                present.outside.insert(id.clone(), outside);
            }
        }
    }
    for (id, before, after) in edges {
        for on in after.iter().filter(|on| !before.contains(on)) {
            mirror(&mut present, known, on, |blocks| {
                if !blocks.contains(&id) {
                    blocks.push(id.clone());
                }
            });
        }
        for on in before.iter().filter(|on| !after.contains(on)) {
            mirror(&mut present, known, on, |blocks| blocks.retain(|other| *other != id));
        }
    }
    PresentTasks { tasks: present.tasks, outside: present.outside.into_values().collect() }
}

/// The intermediate result, with changes keyed by task, since mirrored edges are looked up by id.
#[derive(Default)]
struct Draft {
    tasks: BTreeMap<TaskId, Arc<Kept>>,
    outside: BTreeMap<TaskId, FoundChange>,
}

/// Reads a task that differs from our records, and converts it to our own format.
pub(super) fn read_anew<F: DialectFiles>(
    dialect: &F,
    raw: &F::Raw,
    id: &TaskId,
    bytes: &[u8],
    before: Option<&Image>,
) -> Kept {
    let read = dialect.read(raw, id);
    let image = match &read {
        Ok(task) => native::write(before, task, Rules::Strict).unwrap_or_else(|_| Image::new(bytes)),
        Err(_) => Image::new(bytes),
    };
    Kept { id: id.clone(), image, task: read }
}

fn waits_for(task: Option<&Task>) -> Vec<TaskId> {
    task.map(|task| task.blocked_by.clone()).unwrap_or_default()
}

/// Other programs write only one side of a dependency. The other side is updated unless the task itself was also
/// changed.
fn mirror(present: &mut Draft, known: &BTreeMap<TaskId, Formed>, on: &TaskId, change: impl FnOnce(&mut Vec<TaskId>)) {
    let is_read_anew = present.outside.get(on).is_some_and(|outside| outside.after.is_some());
    let (Some(kept), Some(formed)) = (present.tasks.get(on), known.get(on)) else { return };
    let Ok(task) = &kept.task else { return };
    let mut after = task.clone();
    change(&mut after.blocks);
    let is_mirrored = is_read_anew && kept.image == formed.image;
    if after == *task || (is_read_anew && !is_mirrored) {
        return;
    }
    let Ok(image) = native::write(Some(&kept.image), &after, Rules::Strict) else { return };
    let after = Formed { form: formed.form.clone(), image: image.clone() };
    let outside = FoundChange { task: on.clone(), before: Some(formed.image.clone()), after: Some(after) };
    present.outside.insert(on.clone(), outside);
    present.tasks.insert(on.clone(), Kept::new(on.clone(), image));
}

/// Records changes by other programs, unless a writer has the turn. Returns whether nothing is left to record.
pub(super) fn observe<F: DialectFiles>(open_list: &OpenList<F>) -> Result<bool, StoreError> {
    let journal = open_list.journal_to_read();
    if let Some(refusal) = open_list.journals.refusal().filter(|_| journal.is_none()) {
        return Err(refusal);
    }
    let seen = look(open_list, journal.as_ref()).inspect_err(|error| open_list.journals.note(error));
    if let Some(journal) = journal {
        open_list.give_back(journal);
    }
    let seen = seen?;
    if seen.outside.is_empty() && !seen.is_unsettled {
        return Ok(true);
    }
    match record_what_is_new(open_list) {
        Ok(recorded) => Ok(recorded.is_some()),
        Err(error) if error.is_of_memory() => Err(error),
        // A journal that cannot be written must not fail a process that only reads.
        Err(error) => {
            tracing::debug!(%error, "outside changes are not recorded");
            Ok(true)
        }
    }
}

/// Records changes by other programs and completes our unfinished commits. Returns the resulting list for a reader, or
/// `None` if a writer has the turn.
pub(super) fn record_what_is_new<F: DialectFiles>(open_list: &OpenList<F>) -> Result<Option<ListState>, StoreError> {
    let Some((_turn, journal)) = open_list.try_take_turn()? else { return Ok(None) };
    let state = record_in_turn(open_list, &journal)?;
    open_list.give_back(journal);
    Ok(Some(state))
}

/// Records changes by other programs while holding the turn. Returns the resulting list.
pub(super) fn record_in_turn<F: DialectFiles>(
    open_list: &OpenList<F>,
    journal: &Journal,
) -> Result<ListState, StoreError> {
    let mut seen = look(open_list, Some(journal))?;
    if !seen.outside.is_empty() {
        let transaction = journal.begin()?;
        let revision = seen.state.revision.next();
        let recorded = record(open_list, journal, &seen.outside, revision)?;
        journal.set_fact(APPLIED, revision.0.cast_signed())?;
        if let Some(raw) = seen.files.raw() {
            note_known(journal, open_list.files.dialect.learned(raw))?;
        }
        journal.end(transaction)?;
        open_list.journals.note_stale_writes(recorded.stale_writes);
        tracing::info!(revision = revision.0, tasks = seen.outside.len(), "recorded what another program did");
        journal.copy_log();
        seen.state.revision = revision;
    }
    Ok(seen.state)
}

/// Records the state of files in the journal, so that the next read need not read them.
pub(super) fn note_known(
    journal: &Journal,
    known: impl IntoIterator<Item = (TaskId, Option<Known>)>,
) -> Result<(), StoreError> {
    known.into_iter().try_for_each(|(task, known)| match known {
        Some(known) => journal.set_known(&task, &known),
        None => journal.forget(&task),
    })
}

/// Appends changes by other programs to the journal as one commit, and records the state of their tasks.
pub(super) fn record<F: DialectFiles>(
    open_list: &OpenList<F>,
    journal: &Journal,
    outside: &[FoundChange],
    revision: Revision,
) -> Result<OutsideRecord, StoreError> {
    let home = open_list.files.dialect.home(&open_list.files.path);
    let is_one_file = F::LAYOUT == FileLayout::OneFile;
    let written = |task: &TaskId| changed(&home.path_of(task)).map(|at| at.0 * 1_000_000);
    let written_at_once = outside.first().filter(|_| is_one_file).and_then(|first| written(&first.task));
    let changes: Vec<OutsideChange<'_>> = outside
        .iter()
        .map(|outside| OutsideChange {
            task: &outside.task,
            before: outside.before.as_ref(),
            after: outside.after.as_ref().map(|formed| &formed.image),
            mode: None,
            written: if is_one_file { written_at_once } else { written(&outside.task) },
            is_deletion: false,
        })
        .collect();
    let extent = if is_one_file { Extent::AllAtOnce } else { Extent::EachItsOwn };
    let recorded = journal.append_outside(revision, system::now(), &changes, extent)?;
    for outside in outside {
        match &outside.after {
            Some(formed) => journal.set_form(&outside.task, formed)?,
            None => journal.forget_form(&outside.task)?,
        }
    }
    Ok(recorded)
}

/// Reads a list for a reader, and records changes by other programs unless a writer has the turn.
pub(super) fn look_and_record<F: DialectFiles>(open_list: &OpenList<F>) -> Result<Arc<ListState>, StoreError> {
    let seen = open_list.journals.reading(|journal| {
        let seen = look(open_list, journal)?;
        if let Some(journal) = journal.filter(|_| seen.is_quiet() && !seen.state.tasks.is_empty()) {
            write_down_look(journal);
        }
        Ok(seen)
    })?;
    if seen.is_quiet() {
        return Ok(Arc::new(seen.state));
    }
    // On the first read of a list created by other programs: from here on nothing in it can be lost.
    match record_what_is_new(open_list) {
        Ok(Some(state)) => return Ok(Arc::new(state)),
        Ok(None) => {}
        // A journal that cannot be written must not fail a process that only reads.
        Err(error) => tracing::debug!(%error, "outside changes are not recorded"),
    }
    Ok(Arc::new(seen.state))
}

/// Records that the list had tasks, if the last such record is old.
fn write_down_look(journal: &Journal) {
    let written = journal.last_look().and_then(|last| {
        let now = system::now();
        if last.is_some_and(|last| (now.0 - last.0).saturating_mul(1_000_000) <= LOOK_IS_OLD) {
            return Ok(());
        }
        let transaction = journal.begin()?;
        journal.set_last_look(now)?;
        journal.end(transaction)
    });
    // A journal that cannot be written must not fail a process that only reads.
    if let Err(error) = written {
        tracing::debug!(%error, "a look is not written down");
    }
}
