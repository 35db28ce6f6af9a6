//! Tasks: listed, made, shown, changed, deleted, found.

use std::collections::BTreeSet;

use serde_json::Map;
use taskyard_core::answers::tasks::{
    Cleared, ClientTokens, Created, CreatedTogether, Deleted, FieldChange, Found, Graph, Hit, Listing, Note, Noted,
    OwnerSession, PartsDone, Rank, Ready, RefusedTask, Shown, ShownTogether, StatusChange, Unchanged, UnreadableFile,
    Updated, UpdatedTogether,
};
use taskyard_core::answers::values::{self, Ids, Shape, expires_at};
use taskyard_core::forms::batch::BatchEntry;
use taskyard_core::problem::Problem;
use taskyard_core::rules::claims::readiness::Ranked;
use taskyard_core::rules::graph::parts::Progress;
use taskyard_core::{Entry, Job, ListId, Task, TaskId};

use crate::operations::{self, Gone, Possible, TaskMessage};
use crate::store::UnreadableTask;

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

/// Returns the answer that leaves everything as it is: tasks as they would have become, and those that would have been refused.
pub fn rehearsed<'a>(
    tasks: impl IntoIterator<Item = &'a Task>,
    refused: &'a [operations::RefusedTask],
) -> Unchanged<'a> {
    Unchanged { dry_run: Some(true), tasks: tasks.into_iter().map(Shape).collect(), refused: refused_tasks(refused) }
}

/// Returns the tasks with which nothing was done.
pub(super) fn refused_tasks(refused: &[operations::RefusedTask]) -> Vec<RefusedTask<'_>> {
    fn answer((id, refusal): &operations::RefusedTask) -> RefusedTask<'_> {
        RefusedTask { task: id.as_str(), error: Problem::from(refusal.clone()).report().clone() }
    }
    refused.iter().map(answer).collect()
}

/// Returns tasks that were deleted, and those that were not; `None` if all were refused.
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

/// Returns the tasks that a batch made, or would make.
pub fn created_batch<'a>(
    batch: &[BatchEntry],
    created: &'a operations::CreatedBatch,
    dry_run: bool,
) -> CreatedTogether<'a> {
    let mut names = Map::new();
    for (entry, task) in batch.iter().zip(&created.tasks) {
        // Of tasks with one title the first has it here, and one that was given as a name is that task's.
        if entry.name.is_some() || !names.contains_key(entry.called()) {
            names.insert(entry.called().to_owned(), task.id.as_str().into());
        }
    }
    let revision = created.revision.map(|revision| revision.0);
    CreatedTogether { tasks: created.tasks.iter().map(Shape).collect(), names, revision, dry_run }
}

/// Returns the tasks of a list.
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

/// Returns one task in full: `made` is the entry that created it.
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

/// Returns several tasks as they are shown together.
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

/// Returns the files among the tasks that cannot be read.
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

/// Returns what a search found, each with its list if several were searched.
pub fn found<'a>(hits: &'a [(Option<ListId>, operations::Hit)], gone: Option<&Gone>) -> Found<'a> {
    fn answer((list, hit): &(Option<ListId>, operations::Hit)) -> Hit<'_> {
        let list = list.as_ref().map(ListId::as_str);
        Hit { list, task: hit.task.id.as_str(), field: hit.field, excerpt: &hit.excerpt }
    }
    let tasks = hits.iter().map(|(_, hit)| Shape(&hit.task)).collect();
    Found { tasks, hits: hits.iter().map(answer).collect(), gone: loss(gone) }
}

/// Returns tasks with their edges, and a picture of them if one was drawn.
pub fn graph(graph: &operations::Graph, picture: Option<String>) -> Graph<'_> {
    Graph { tasks: graph.tasks.iter().map(Shape).collect(), graph: picture }
}

/// Returns the loss of open tasks; `None` if no open task is gone.
pub fn loss(gone: Option<&Gone>) -> Option<values::Gone> {
    gone.filter(|gone| gone.is_loss()).map(values::Gone::from)
}
