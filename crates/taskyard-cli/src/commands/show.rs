//! `taskyard show`

use std::iter;
use std::path::Path;

use clap::Args;
use taskyard::core::forms::one_line::IdRange;
use taskyard::core::render::{Line, TaskPage, task_page};
use taskyard::core::{Task, TaskId};
use taskyard::operations::{OwnerSession, Shown};
use taskyard::{Yard, answers};

use crate::context::Context;
use crate::displays::warn_of_defects;
use crate::exit::{Exit, Problem};
use crate::output::Output;
use crate::places;

/// Show tasks in full
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The tasks: numbers and ranges, `3 4 7-9`
    #[arg(value_name = "ID", value_delimiter = ',', required = true)]
    which: Vec<IdRange>,
}

impl Show {
    /// Returns the tasks without duplicates.
    pub(crate) fn ids(&self) -> Vec<TaskId> {
        let mut ids: Vec<TaskId> = Vec::new();
        for id in self.which.iter().flat_map(IdRange::ids) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        context.do_without_newer();
        let yard = context.yard()?;
        let ids = self.ids();
        if let [id] = &ids[..] {
            return show(id, context, &yard, output);
        }
        // Report tasks that do not exist before showing any.
        let shown = ids.iter().map(|id| Ok(yard.show(id)?.done()?)).collect::<Result<Vec<Shown>, Problem>>()?;
        if output.is_json() {
            output.document(answers::shown_together(&shown))?;
            return Ok(Exit::Done);
        }
        for (place, id) in ids.iter().enumerate() {
            if place > 0 {
                output.line(&Line::new())?;
            }
            show(id, context, &yard, output)?;
        }
        Ok(Exit::Done)
    }
}

fn show(id: &TaskId, context: &Context, yard: &Yard, output: &mut Output) -> Result<Exit, Problem> {
    let shown = yard.show(id)?.done()?;
    // If the job records cannot be read, the task is shown without them.
    let jobs = context.jobs().and_then(|jobs| Ok(jobs.of_task(yard.list_id(), id)?)).unwrap_or_default();
    let made = yard.making_of(id)?;
    let session = session_of_owner(context, yard, &shown.task);
    let Shown { task, open_blockers, dependents, subtasks, changed, lease, problem } = &shown;
    let problems = problem.as_slice();
    if output.is_json() {
        output.document(answers::shown(&shown, &jobs, made.as_ref(), session.as_ref()))?;
    } else {
        let page = TaskPage {
            task,
            open_blockers,
            dependents,
            subtasks,
            jobs: &jobs,
            session: &session.as_ref().map(session_in_words).unwrap_or_default(),
            lease: lease.as_ref().map(|(lease, state)| (lease, state)),
            made: made.as_ref(),
            changed: changed.as_ref(),
        };
        output.lines(&task_page(&page, &output.look()))?;
        warn_of_defects(problems, output)?;
    }
    Ok(Exit::Done)
}

/// Finds the client session in which a task's owner works. Returns `None` if the client's files cannot be read.
fn session_of_owner(context: &Context, yard: &Yard, task: &Task) -> Option<OwnerSession> {
    let config = places::client_config(context.environment()).ok()?;
    let directory = context.directory().ok()?;
    let root = context.project().filter(|root| *root != directory);
    let directories: Vec<&Path> = iter::once(directory).chain(root).collect();
    let found = yard.session_of_owner(&config, &directories, &context.client_names()?, task);
    found.inspect_err(|error| tracing::debug!(%error, "the owner's session is unknown")).ok().flatten()
}

fn session_in_words(session: &OwnerSession) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("session", session.session.clone()),
        ("transcript", session.transcript.display().to_string()),
        ("resume with", session.resuming()),
    ];
    if let Some(used) = session.used {
        let cached = used.cache_read.saturating_add(used.cache_creation);
        let text = format!("{} in, {} out, {cached} cached (the client's figures)", used.input, used.output);
        facts.push(("tokens", text));
    }
    let cost =
        session.session_cost.map(|cost| ("cost", format!("${cost:.2} for the whole session (the client's figure)")));
    facts.extend(cost);
    facts
}
