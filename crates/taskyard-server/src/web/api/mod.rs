//! The JSON API under `/api/v1`, one file per resource. Begin with `operation.rs`. A request calls an operation of
//! the library, and its answer has the type that `--json` serializes.

mod access;
mod answering;
mod claims;
mod entity_tags;
mod following;
mod history;
mod inputs;
mod interchange;
mod jobs;
mod lists;
mod moves;
mod operation;
mod query;
mod repeats;
mod tasks;
mod teams;

pub(crate) use access::{LOG_OUT, MAKE_LINK, NewLink};
pub(crate) use answering::{Caller, answer, problem_response, refusal, status_of};
pub(crate) use following::{FOLLOW_ALL, FOLLOW_LIST};
pub(crate) use operation::{AnswerForm, Does, Operation, ROOT, SchemaOf};
pub(crate) use repeats::RepeatedRequests;
pub(crate) use tasks::session_of_owner;

/// Returns all operations of the API.
pub(crate) fn operations() -> Vec<Operation> {
    let all = [
        lists::operations(),
        tasks::operations(),
        moves::operations(),
        claims::operations(),
        history::operations(),
        jobs::operations(),
        teams::operations(),
        interchange::operations(),
        access::operations(),
        following::operations(),
    ];
    all.into_iter().flatten().collect()
}
