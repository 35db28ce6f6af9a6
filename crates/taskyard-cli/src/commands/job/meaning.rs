//! Which job is meant.

use clap::Args;
use taskyard::core::Job;
use taskyard_jobs::Jobs;

use crate::context::Context;
use crate::problem::Problem;
use crate::reopening::reopen_tasks_everywhere;

/// The job a command is about.
#[derive(Debug, Args)]
pub(crate) struct Meant {
    /// The job: its id, or its name, which means the newest of that name
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

impl Meant {
    /// Finds the job, as it truly stands.
    pub(super) fn find(&self, context: &Context) -> Result<(Jobs, Job), Problem> {
        let jobs = context.shared_jobs()?;
        let job = jobs.find(self.id.trim())?;
        reopen_tasks_everywhere(&jobs, context.environment())?;
        Ok((jobs, job))
    }
}
