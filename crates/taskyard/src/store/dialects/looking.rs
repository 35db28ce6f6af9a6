//! One look at a list: its files, our memory, and of our own commits always all or nothing.
//!
//! While a file is written in place, the journal keeps what makes it whole.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::{Revision, TaskId};

use super::dialect_files::{DialectFiles, Loaded};
use super::open_list::OpenList;
use super::seen_list::{ReadFiles, RestingList, SeenList, present};
use crate::clock;
use crate::store::StoreError;
use crate::store::journal::Journal;
use crate::store::kit::{Kept, ListState};

/// Files that a program is writing are looked at again for so long.
const LOOKING_AGAIN: Duration = Duration::from_millis(500);

/// Looks at a list without a lock.
pub(super) fn look<F: DialectFiles>(
    open_list: &OpenList<F>,
    journal: Option<&Journal>,
) -> Result<SeenList<F>, StoreError> {
    let began = clock::wall();
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

/// Reads the files as they are with every commit that they should hold; none where there are none.
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
    /// The last commit that is in the files, as far as was written down before they were read.
    applied: Revision,
    /// The last commit that is in what was read.
    held: Revision,
}

/// Reads the files, where they are not the ones that were read before.
fn load<F: DialectFiles>(open_list: &OpenList<F>, journal: Option<&Journal>) -> Result<Glance<F>, StoreError> {
    open_list.files.must_not_be_foreign()?;
    let started = Instant::now();
    loop {
        // Before the files: whatever is committed from here on is taken from the journal.
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

/// The last commit that is in the files, as far as was written down.
pub(super) const APPLIED: &str = "applied";

/// What the last commit that wrote in place wrote.
const REWRITE: &str = "rewrite";
/// Which commit that was.
const REWRITE_OF: &str = "rewrite_of";

/// How far the files have followed the journal.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The last commit that is in the files, as far as was written down.
    pub(super) applied: Revision,
    /// The newest commit.
    pub(super) newest: Revision,
    /// A commit that may be half written, and what makes the files whole.
    pub(super) rewrite: Option<(Revision, Vec<u8>)>,
}

impl Progress {
    /// Asks the journal.
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

/// Keeps what a commit is about to write in place, in the transaction that makes the commit exist.
pub(super) fn keep_rewrite(journal: &Journal, revision: Revision, rewrite: Option<Vec<u8>>) -> Result<(), StoreError> {
    let Some(rewrite) = rewrite else { return Ok(()) };
    journal.set_fact(REWRITE, rewrite)?;
    journal.set_fact(REWRITE_OF, revision.0.cast_signed())
}

/// Notes that every commit up to a revision is in the files.
pub(super) fn note_applied(journal: &Journal, revision: Revision) -> Result<(), StoreError> {
    let transaction = journal.begin()?;
    journal.set_fact(APPLIED, revision.0.cast_signed())?;
    journal.end(transaction)
}
