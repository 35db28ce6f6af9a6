//! `taskyard show`

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use taskyard::core::TaskId;
use taskyard::core::dialect::native::Shape;
use taskyard::core::render::{TaskPage, task_page};
use taskyard::operations::Shown;

use crate::arguments::parse_id;
use crate::context::Context;
use crate::displays::answers::{defects_as_json, warn_of_defects};
use crate::exit::Exit;
use crate::output::{EntryShape, JobShape, LeaseShape, Output, Shapes};
use crate::problem::Problem;

/// Show one task in full
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: TaskId,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    task: Shape<'a>,
    open_blockers: Shapes<'a>,
    dependents: Shapes<'a>,
    subtasks: Shapes<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    jobs: Vec<JobShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<LeaseShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    made: Option<EntryShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<EntryShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problems: Option<Value>,
}

impl Show {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        context.do_without_newer();
        let yard = context.yard()?;
        let shown = yard.show(&self.id)?.done()?;
        // Where the data directory is out of reach, the task is shown all the same.
        let jobs = context.jobs().and_then(|jobs| Ok(jobs.of_task(yard.list_id(), &self.id)?)).unwrap_or_default();
        let made = yard.making_of(&self.id)?;
        let Shown { task, open_blockers, dependents, subtasks, changed, lease, problem } = &shown;
        let problems = problem.as_slice();
        if output.is_json() {
            output.document(Answer {
                task: Shape(task),
                open_blockers: Shapes(open_blockers),
                dependents: Shapes(dependents),
                subtasks: Shapes(subtasks),
                jobs: jobs.iter().map(JobShape).collect(),
                lease: lease.as_ref().map(LeaseShape),
                made: made.as_ref().map(EntryShape),
                changed: changed.as_ref().map(EntryShape),
                problems: (!problems.is_empty()).then(|| defects_as_json(problems)),
            })?;
        } else {
            let page = TaskPage {
                task,
                open_blockers,
                dependents,
                subtasks,
                jobs: &jobs,
                lease: lease.as_ref().map(|(lease, state)| (lease, state)),
                made: made.as_ref(),
                changed: changed.as_ref(),
            };
            output.lines(&task_page(&page, &output.look()))?;
            warn_of_defects(problems, output)?;
        }
        Ok(Exit::Done)
    }
}
