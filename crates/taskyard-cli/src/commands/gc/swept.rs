//! What is tidied away besides journals: jobs, notices, messages, todo lists, texts of edits.

use std::fs;

use taskyard::core::Job;
use taskyard::machine::Machine;
use taskyard::store::TimeCount;
use taskyard::teams::{count_old_letters, forget_old_letters};
use taskyard::tidying::Household;

use super::dead_todos::{DeadTodo, dead_todos};
use crate::context::Context;
use crate::edits::{OldText, old_texts};
use crate::problem::Problem;
use crate::reopening::reopen_tasks_everywhere;

/// What was tidied away, or would be.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// The jobs that ended long ago.
    pub(super) jobs: Vec<Job>,
    /// How many notices were heard.
    pub(super) notices: usize,
    /// How many messages were acknowledged.
    pub(super) messages: usize,
    /// The todo lists of sessions that are over.
    pub(super) todos: Vec<DeadTodo>,
    /// The files of edits that the user did not go on with.
    pub(super) edits: Vec<OldText>,
    /// How many bytes the output of the jobs, the todo lists and the texts had.
    pub(super) bytes: u64,
}

/// Tidies away, or only looks; nothing while the clock is in doubt.
pub(super) fn sweep(
    context: &Context,
    household: &Household,
    count: &TimeCount,
    is_dry: bool,
) -> Result<Swept, Problem> {
    let mut swept = Swept::default();
    if count.is_doubted() {
        return Ok(swept);
    }
    let jobs = context.shared_jobs()?;
    if household.data.join("machine.sqlite").exists() {
        let age = jobs.options().settings.keep;
        if is_dry {
            swept.jobs = jobs.ended_before(age)?;
            let sizes = swept.jobs.iter().filter_map(|job| fs::metadata(&job.output_file).ok());
            swept.bytes += sizes.map(|file| file.len()).sum::<u64>();
            swept.notices = Machine::look(&household.data)?.map_or(Ok(0), |machine| machine.heard_notices())?;
        } else {
            // What a job still has to do for its task is done before it is forgotten.
            jobs.reconcile()?;
            reopen_tasks_everywhere(&jobs, context.environment())?;
            let gone = jobs.gc(age)?;
            (swept.jobs, swept.bytes) = (gone.jobs, swept.bytes + gone.bytes);
            swept.notices = Machine::open(&household.data)?.forget_heard_notices()?;
        }
    }
    let old = count.elapsed.old_before(household.keep);
    let letters = if is_dry { count_old_letters } else { forget_old_letters };
    swept.messages = letters(&household.data, old)?;
    let dead = context.places()?.client.as_deref().map(dead_todos).unwrap_or_default();
    for todo in dead {
        if is_dry || todo.remove().is_ok() {
            swept.bytes += todo.bytes;
            swept.todos.push(todo);
        }
    }
    for text in old_texts(&household.data, old) {
        if is_dry || text.remove().is_ok() {
            swept.bytes += text.bytes;
            swept.edits.push(text);
        }
    }
    Ok(swept)
}
