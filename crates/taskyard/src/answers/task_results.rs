//! Converts results of operations on tasks into the answers that programs receive.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::ser::{Error as _, Serialize, SerializeSeq as _, Serializer};
use serde_json::Map;
use taskyard_core::answers::answer_values;
use taskyard_core::answers::answer_values::{Ids, Shape, expires_at};
use taskyard_core::answers::claim_answers::{
    ClaimWon, ClaimedTogether, Departed, RefusedClaim, Released, ReleasedTogether, Renewed, UnassignedTask, WonClaim,
};
use taskyard_core::answers::history_answers::{Restorable, RestorableTask, Restored, Undone};
use taskyard_core::answers::task_answers::{
    Cleared, ClientTokens, Created, CreatedTogether, Deleted, FieldChange, Found, Graph, Hit, Listing, Note, Noted,
    OwnerSession, PartsDone, Rank, Ready, RefusedTask, Shown, ShownTogether, StatusChange, Unchanged, UnreadableFile,
    Updated, UpdatedTogether,
};
use taskyard_core::forms::batch::BatchEntry;
use taskyard_core::problem::Problem;
use taskyard_core::rules::claims::readiness::Ranked;
use taskyard_core::rules::graph::parts::Progress;
use taskyard_core::{Entry, Job, Lease, ListId, Task, TaskId};

use crate::operations::{Absence, Gone, Possible, TaskMessage};
use crate::store::UnreadableTask;
use crate::{StoreError, operations};

impl<'a> From<&'a operations::Updated> for Updated<'a> {
    fn from(updated: &'a operations::Updated) -> Self {
        Self {
            task: Shape(&updated.task),
            updated: &updated.updated,
            changes: FieldChange::between(&updated.before, &updated.task),
            status_change: updated.status_change.map(|(from, to)| StatusChange { from, to }),
            now_ready: Ids(&updated.now_ready),
            open_blockers: Ids(&updated.open_blockers),
            dependents_started: Ids(&updated.dependents_started),
            token: updated.lease.as_ref().map(|lease| lease.token.0),
            expires_at: updated.lease.as_ref().and_then(expires_at),
            block_left: updated.block_left.as_ref().map(ToString::to_string),
            revision: updated.revision.map(|revision| revision.0),
        }
    }
}

impl<'a> From<&'a Possible<operations::Updated>> for UpdatedTogether<'a> {
    fn from(Possible { done, refused }: &'a Possible<operations::Updated>) -> Self {
        let changed = done.iter().filter(|updated| updated.before != updated.task);
        let ready: BTreeSet<&TaskId> = done.iter().flat_map(|updated| &updated.now_ready).collect();
        Self {
            tasks: done.iter().map(|updated| Shape(&updated.task)).collect(),
            changes: changed.map(|one| (one.task.id.as_str(), FieldChange::between(&one.before, &one.task))).collect(),
            now_ready: ready.into_iter().map(TaskId::as_str).collect(),
            refused: refused_tasks(refused),
            revision: done.iter().find_map(|updated| updated.revision).map(|revision| revision.0),
        }
    }
}

/// Returns the answer of a dry run: the tasks as they would be, and the refusals.
pub fn rehearsed<'a>(
    tasks: impl IntoIterator<Item = &'a Task>,
    refused: &'a [operations::RefusedTask],
) -> Unchanged<'a> {
    Unchanged { dry_run: Some(true), tasks: tasks.into_iter().map(Shape).collect(), refused: refused_tasks(refused) }
}

/// Returns the refused tasks.
pub(super) fn refused_tasks(refused: &[operations::RefusedTask]) -> Vec<RefusedTask<'_>> {
    fn answer((id, refusal): &operations::RefusedTask) -> RefusedTask<'_> {
        RefusedTask { task: id.as_str(), error: Problem::from(refusal.clone()).report().clone() }
    }
    refused.iter().map(answer).collect()
}

/// Returns the deleted tasks and the refused ones; `None` for the deleted ones if all were refused.
pub fn deleted<'a>(deleted: Option<&'a operations::Deleted>, refused: &'a [operations::RefusedTask]) -> Deleted<'a> {
    Deleted {
        tasks: deleted.iter().flat_map(|deleted| &deleted.tasks).map(Shape).collect(),
        missing: deleted.map(|deleted| Ids(&deleted.missing)).unwrap_or_default(),
        lifted: deleted.map(|deleted| Ids(&deleted.lifted)).unwrap_or_default(),
        refused: refused_tasks(refused),
        revision: deleted.map(|deleted| deleted.revision.0),
    }
}

impl<'a> From<&'a operations::Cleared> for Cleared<'a> {
    fn from(cleared: &'a operations::Cleared) -> Self {
        Self {
            tasks: cleared.tasks.iter().map(Shape).collect(),
            missing: cleared.missing.iter().map(Shape).collect(),
            revision: cleared.revision.map(|revision| revision.0),
        }
    }
}

impl<'a> From<&'a operations::Created> for Created<'a> {
    fn from(created: &'a operations::Created) -> Self {
        Self { task: Shape(&created.task), revision: created.revision.0, block_left: None }
    }
}

/// Returns the tasks that a batch created, or would create.
pub fn created_batch<'a>(
    batch: &[BatchEntry],
    created: &'a operations::CreatedBatch,
    dry_run: bool,
) -> CreatedTogether<'a> {
    let mut names = Map::new();
    for (entry, task) in batch.iter().zip(&created.tasks) {
        // If several tasks have the same title, it refers to the first; an explicit name takes precedence.
        if entry.name.is_some() || !names.contains_key(entry.called()) {
            names.insert(entry.called().to_owned(), task.id.as_str().into());
        }
    }
    let revision = created.revision.map(|revision| revision.0);
    CreatedTogether { tasks: created.tasks.iter().map(Shape).collect(), names, revision, dry_run }
}

/// Returns a list with its tasks.
pub fn listing<'a>(listing: &'a operations::Listing, list: &'a ListId) -> Listing<'a> {
    let parts = |task: &Task| listing.progress.get(&task.id).map(|&Progress { done, total }| PartsDone { done, total });
    Listing {
        tasks: listing.tasks.iter().map(Shape).collect(),
        counts: listing.counts.into(),
        list: list.as_str(),
        revision: listing.revision.0,
        progress: listing.tasks.iter().filter_map(|task| Some((task.id.as_str(), parts(task)?))).collect(),
        leases: listing.leases.iter().map(Into::into).collect(),
        problems: unreadable_files(&listing.problems),
        gone: listing.gone.as_ref().map(Into::into),
    }
}

/// Returns one task in full. `made` is the entry that created it.
pub fn shown<'a>(
    shown: &'a operations::Shown,
    jobs: &'a [Job],
    made: Option<&'a Entry>,
    session: Option<&'a operations::OwnerSession>,
) -> Shown<'a> {
    Shown {
        task: Shape(&shown.task),
        open_blockers: shown.open_blockers.iter().map(Shape).collect(),
        dependents: shown.dependents.iter().map(Shape).collect(),
        subtasks: shown.subtasks.iter().map(Shape).collect(),
        jobs: jobs.iter().map(Into::into).collect(),
        lease: shown.lease.as_ref().map(Into::into),
        session: session.map(Into::into),
        made: made.map(Into::into),
        changed: shown.changed.as_ref().map(Into::into),
        problems: unreadable_files(shown.problem.as_slice()),
    }
}

/// Returns several tasks in short form.
pub fn shown_together(shown: &[operations::Shown]) -> ShownTogether<'_> {
    ShownTogether { tasks: shown.iter().map(|shown| Shape(&shown.task)).collect() }
}

impl<'a> From<&'a operations::OwnerSession> for OwnerSession<'a> {
    fn from(session: &'a operations::OwnerSession) -> Self {
        Self {
            id: &session.session,
            transcript: session.transcript.to_string_lossy().into_owned(),
            directory: session.directory.as_ref().map(|directory| directory.to_string_lossy().into_owned()),
            resume: session.resuming(),
            client_tokens: session.used.map(|used| ClientTokens {
                input: used.input,
                output: used.output,
                cache_read: used.cache_read,
                cache_creation: used.cache_creation,
            }),
            client_session_cost_usd: session.session_cost,
        }
    }
}

/// Returns the unreadable files among the tasks.
pub fn unreadable_files(problems: &[UnreadableTask]) -> Vec<UnreadableFile<'_>> {
    fn answer(problem: &UnreadableTask) -> UnreadableFile<'_> {
        UnreadableFile {
            task: problem.task.as_str(),
            file: file_name(problem),
            path: problem.path.display().to_string(),
            message: problem.why.to_string(),
        }
    }
    problems.iter().map(answer).collect()
}

fn file_name(problem: &UnreadableTask) -> String {
    match problem.path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => format!("{}.json", problem.task),
    }
}

impl<'a> From<&'a operations::Noted> for Noted<'a> {
    fn from(noted: &'a operations::Noted) -> Self {
        let note = &noted.note;
        Self {
            task: Shape(&noted.task),
            note: Note { at: note.at.to_string(), author: note.author.as_str(), text: &note.text },
            told: noted.messages.iter().filter_map(TaskMessage::sent_to).collect(),
            revision: noted.revision.map(|revision| revision.0),
        }
    }
}

impl<'a> From<&'a operations::Ready> for Ready<'a> {
    fn from(ready: &'a operations::Ready) -> Self {
        fn rank(ranked: &Ranked) -> Rank<'_> {
            let unblocks = Ids(&ranked.unblocks);
            Rank { task: ranked.task.id.as_str(), why: &ranked.why, chain: ranked.chain, unblocks }
        }
        Self {
            tasks: ready.ranked.iter().map(|ranked| Shape(&ranked.task)).collect(),
            ranking: ready.ranked.iter().map(rank).collect(),
            stale_owner: ready.stale.iter().map(|task| task.id.as_str()).collect(),
            gone: loss(ready.gone.as_ref()),
        }
    }
}

/// Returns the hits of a search, each with its list if several were searched.
pub fn found<'a>(hits: &'a [(Option<ListId>, operations::Hit)], gone: Option<&Gone>) -> Found<'a> {
    fn answer((list, hit): &(Option<ListId>, operations::Hit)) -> Hit<'_> {
        let list = list.as_ref().map(ListId::as_str);
        Hit { list, task: hit.task.id.as_str(), field: hit.field, excerpt: &hit.excerpt }
    }
    let tasks = hits.iter().map(|(_, hit)| Shape(&hit.task)).collect();
    Found { tasks, hits: hits.iter().map(answer).collect(), gone: loss(gone) }
}

/// Returns the tasks with their edges, and the drawing if there is one.
pub fn graph(graph: &operations::Graph, picture: Option<String>) -> Graph<'_> {
    Graph { tasks: graph.tasks.iter().map(Shape).collect(), graph: picture }
}

/// Returns the loss of open tasks; `None` if no open task is gone.
pub fn loss(gone: Option<&Gone>) -> Option<answer_values::Gone> {
    gone.filter(|gone| gone.is_loss()).map(answer_values::Gone::from)
}

impl<'a> From<&'a operations::Claimed> for ClaimWon<'a> {
    fn from(claimed: &'a operations::Claimed) -> Self {
        Self {
            claimed: true,
            task: Shape(&claimed.task),
            token: claimed.lease.token.0,
            expires_at: expires_at(&claimed.lease),
            agent: claimed.lease.agent.as_str(),
            resumed: claimed.is_resumed,
            why: claimed.why.as_deref(),
            also_held: Ids(&claimed.also_held),
            revision: claimed.revision.map(|revision| revision.0),
        }
    }
}

impl<'a> From<&'a Possible<operations::Claimed>> for ClaimedTogether<'a> {
    fn from(Possible { done: claimed, refused }: &'a Possible<operations::Claimed>) -> Self {
        fn won(claimed: &operations::Claimed) -> WonClaim<'_> {
            WonClaim {
                task: claimed.task.id.as_str(),
                token: claimed.lease.token.0,
                expires_at: expires_at(&claimed.lease),
                agent: claimed.lease.agent.as_str(),
                resumed: claimed.is_resumed,
            }
        }
        fn lost((id, refusal): &operations::RefusedTask) -> Option<RefusedClaim<'_>> {
            Some(RefusedClaim { refused: refusal.of_claim()?.into(), task: id.as_str() })
        }
        Self {
            claimed: !claimed.is_empty(),
            tasks: claimed.iter().map(|claimed| Shape(&claimed.task)).collect(),
            claims: claimed.iter().map(won).collect(),
            refused: refused.iter().filter_map(lost).collect(),
            revision: claimed.iter().find_map(|claimed| claimed.revision).map(|revision| revision.0),
        }
    }
}

/// Returns a task whose lease was renewed.
pub fn renewed<'a>(task: &'a Task, lease: &Lease) -> Renewed<'a> {
    Renewed { renewed: true, task: Shape(task), token: lease.token.0, expires_at: expires_at(lease) }
}

impl<'a> From<&'a operations::Released> for Released<'a> {
    fn from(released: &'a operations::Released) -> Self {
        let revision = released.revision.map(|revision| revision.0);
        Self { released: true, task: Shape(&released.task), revision }
    }
}

impl<'a> From<&'a Possible<operations::Released>> for ReleasedTogether<'a> {
    fn from(Possible { done, refused }: &'a Possible<operations::Released>) -> Self {
        Self {
            tasks: done.iter().map(|released| Shape(&released.task)).collect(),
            refused: refused_tasks(refused),
            revision: done.iter().find_map(|released| released.revision).map(|revision| revision.0),
        }
    }
}

impl<'a> From<&'a operations::Departed> for Departed<'a> {
    fn from(departed: &'a operations::Departed) -> Self {
        Self { unassigned_tasks: unassigned(departed), notification_message: &departed.notice }
    }
}

/// Returns the tasks that an agent left behind.
pub(super) fn unassigned(departed: &operations::Departed) -> Vec<UnassignedTask<'_>> {
    departed.tasks.iter().map(|task| UnassignedTask { id: task.shown_id(), subject: &task.subject }).collect()
}

/// Journal entries as one JSON array. Each page is read after the previous one has been written, so that a long journal
/// is never in memory as a whole.
#[derive(Debug)]
pub struct StreamedEntries<P> {
    pages: RefCell<P>,
    failure: RefCell<Option<StoreError>>,
}

impl<P: Iterator<Item = Result<Vec<Entry>, StoreError>>> StreamedEntries<P> {
    /// Wraps the pages without reading any.
    pub fn of(pages: P) -> Self {
        Self { pages: RefCell::new(pages), failure: RefCell::default() }
    }

    /// Returns the error if a page could not be read, so that the array is incomplete.
    pub fn into_failure(self) -> Option<StoreError> {
        self.failure.into_inner()
    }
}

impl<P: Iterator<Item = Result<Vec<Entry>, StoreError>>> Serialize for StreamedEntries<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut array = serializer.serialize_seq(None)?;
        for page in &mut *self.pages.borrow_mut() {
            match page {
                Ok(page) => {
                    page.iter().try_for_each(|entry| array.serialize_element(&answer_values::Entry::from(entry)))?
                }
                Err(error) => {
                    let message = error.to_string();
                    self.failure.replace(Some(error));
                    return Err(S::Error::custom(message));
                }
            }
        }
        array.end()
    }
}

impl<'a> From<&'a operations::Undone> for Undone<'a> {
    fn from(undone: &'a operations::Undone) -> Self {
        Self {
            undone: undone.revisions.iter().map(|signed| signed.revision.0).collect(),
            actors: undone.revisions.iter().map(|signed| signed.actor.as_str()).collect(),
            revision: undone.revision.0,
            tasks: undone.tasks.iter().filter_map(|(_, task)| task.as_ref().map(Shape)).collect(),
            removed: undone.tasks.iter().filter(|(_, task)| task.is_none()).map(|(id, _)| id.as_str()).collect(),
        }
    }
}

/// Returns the tasks that can be restored.
pub fn restorable(tasks: &[operations::Restorable]) -> Restorable<'_> {
    fn answer(operations::Restorable { task, absence, removed }: &operations::Restorable) -> RestorableTask<'_> {
        let (deleted, replaced) = (*absence == Absence::Deleted, *absence == Absence::Replaced);
        RestorableTask { task: Shape(task), deleted, replaced, removed: removed.into() }
    }
    Restorable { restorable: tasks.iter().map(answer).collect() }
}

impl<'a> From<&'a operations::Restored> for Restored<'a> {
    fn from(restored: &'a operations::Restored) -> Self {
        Self {
            tasks: restored.tasks.iter().map(Shape).collect(),
            dropped_edges: edges(&restored.dropped_edges),
            nothing_is_open: restored.nothing_is_open,
            revision: restored.revision.map(|revision| revision.0),
        }
    }
}

/// Returns edges, each as the dependent and its blocker.
pub(super) fn edges(edges: &[(TaskId, TaskId)]) -> Vec<[&str; 2]> {
    edges.iter().map(|(waiting, on)| [waiting.as_str(), on.as_str()]).collect()
}
