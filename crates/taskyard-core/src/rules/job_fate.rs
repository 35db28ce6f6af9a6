//! Whether a job that is recorded as alive still can be.

use crate::{Job, JobEnding, JobState, ProcessMark};

/// Where a job's processes live: a run of a machine, and within it a set of process numbers.
///
/// Containers of one machine share its run and number their processes apart. From one of them nothing can be said of the
/// processes of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobWorld {
    /// The run of the machine.
    pub boot: String,
    /// The set of process numbers; empty where the system has one only.
    pub namespace: String,
}

/// What is recorded of a job that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LivingRecord {
    /// Its supervisor has not answered yet; whoever starts it looks after it until then.
    Pending {
        /// The process that starts it.
        starter: ProcessMark,
    },
    /// Its supervisor looks after it.
    Running {
        /// The supervisor.
        supervisor: ProcessMark,
    },
}

/// What can be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as recorded, or nobody here can tell.
    Stands,
    /// Whoever looked after it is gone, in this run of the machine: something of it may still run.
    LostWithLeftovers,
    /// The machine was off since: nothing of it can run.
    LostWithMachine,
}

/// Judges a record by what the machine says.
pub fn judge_job(
    record: &LivingRecord,
    recorded_in: &JobWorld,
    here: &JobWorld,
    is_running: impl Fn(&ProcessMark) -> bool,
) -> Verdict {
    if recorded_in.boot != here.boot {
        return Verdict::LostWithMachine;
    }
    if recorded_in.namespace != here.namespace {
        return Verdict::Stands;
    }
    let (LivingRecord::Pending { starter: guardian } | LivingRecord::Running { supervisor: guardian }) = record;
    if is_running(guardian) { Verdict::Stands } else { Verdict::LostWithLeftovers }
}

/// Tells whether the task of a job is to be opened again: that was wished, and the job failed, ran out of time or was lost. One that
/// somebody stopped is no failure.
pub fn reopens_its_task(job: &Job) -> bool {
    let has_failed = match job.state() {
        JobState::Failed | JobState::Lost => true,
        JobState::Killed => matches!(job.ending(), Some(JobEnding::TimedOut(_))),
        JobState::Pending | JobState::Running | JobState::Completed => false,
    };
    job.reopens_task && job.task.is_some() && has_failed
}

#[cfg(test)]
mod tests {
    use super::{JobWorld, LivingRecord, Verdict, judge_job};
    use crate::ProcessMark;

    fn world(boot: &str, namespace: &str) -> JobWorld {
        JobWorld { boot: boot.into(), namespace: namespace.into() }
    }

    fn mark(pid: u32) -> ProcessMark {
        ProcessMark { pid, started: 7, boot: "one".into() }
    }

    fn verdict(here: &JobWorld, alive: bool) -> Verdict {
        let running = LivingRecord::Running { supervisor: mark(4) };
        judge_job(&running, &world("one", "a"), here, |process| alive && *process == mark(4))
    }

    #[test]
    fn a_job_runs_as_long_as_its_supervisor_does() {
        assert_eq!(verdict(&world("one", "a"), true), Verdict::Stands);
        assert_eq!(verdict(&world("one", "a"), false), Verdict::LostWithLeftovers);
    }

    #[test]
    fn a_job_of_an_earlier_run_of_the_machine_is_lost_whoever_has_its_number_now() {
        assert_eq!(verdict(&world("two", "a"), true), Verdict::LostWithMachine);
    }

    #[test]
    fn nobody_judges_the_jobs_of_another_container() {
        assert_eq!(verdict(&world("one", "b"), false), Verdict::Stands);
        assert_eq!(verdict(&world("two", "b"), false), Verdict::LostWithMachine);
    }

    #[test]
    fn a_pending_job_is_lost_with_whoever_was_starting_it() {
        let pending = LivingRecord::Pending { starter: mark(9) };
        let here = world("one", "a");
        assert_eq!(judge_job(&pending, &here, &here, |process| process.pid == 9), Verdict::Stands);
        assert_eq!(judge_job(&pending, &here, &here, |_| false), Verdict::LostWithLeftovers);
    }
}
