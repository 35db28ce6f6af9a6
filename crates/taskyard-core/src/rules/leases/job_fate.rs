//! Whether a job that is recorded as alive still can be.

use super::leasing::by_the_wall_clock;
use super::liveness::{ProcessSeen, Standing, WithoutSigns, judge_holder};
use crate::rules::agents::naming::is_same_agent;
use crate::{Holder, Job, JobEnding, JobState, Moment, ProcessMark, Status, Task, Timestamp};

/// What is recorded of a job that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LivingRecord {
    /// Its supervisor has not answered yet; the process that starts it looks after it until then.
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

impl LivingRecord {
    /// Returns the process that looks after the job.
    pub fn guardian(&self) -> &ProcessMark {
        let (Self::Pending { starter: guardian } | Self::Running { supervisor: guardian }) = self;
        guardian
    }
}

/// What can be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as recorded, as far as can be seen.
    Stands,
    /// Its supervisor is gone, and what is left of it may still run where we can see it.
    LostWithLeftovers,
    /// Nothing of it runs where we can see it: the machine was off since, or it ran elsewhere and shows no life.
    LostElsewhere,
}

/// Judges a record by what is known of the process that looks after the job.
///
/// `last_seen` is when the job was last known to be alive. The processes of another machine or another container are never called
/// dead before their signs of life run out, and nothing of theirs is ours to end.
pub fn judge_job(record: &LivingRecord, last_seen: Timestamp, now: &Moment, seen: ProcessSeen) -> Verdict {
    let guardian = record.guardian();
    let is_of_this_run = guardian.boot == now.boot;
    let known_alive = by_the_wall_clock(last_seen);
    let unseen_until = known_alive.after(seen.longest_silence);
    let holder = Holder::Process(guardian.clone());
    match judge_holder(&holder, now, seen, &WithoutSigns { known_alive, unseen_until }) {
        Standing::Lives | Standing::Lapses(_) | Standing::LivesUnseen(_) => Verdict::Stands,
        Standing::Ended if is_of_this_run => Verdict::LostWithLeftovers,
        Standing::Ended | Standing::Silent => Verdict::LostElsewhere,
    }
}

/// Tells whether the task of a job is to be opened again: that was wished, and the job failed, ran out of time or was lost. One that an
/// agent stopped is no failure.
pub fn reopens_its_task(job: &Job) -> bool {
    let has_failed = match job.state() {
        JobState::Failed | JobState::Lost => true,
        JobState::Killed => matches!(job.ending(), Some(JobEnding::TimedOut(_))),
        JobState::Pending | JobState::Running | JobState::Completed => false,
    };
    job.reopens_task && job.task.is_some() && has_failed
}

/// Tells whether the failure of a job opens its task again as that stands now. What is open needs no opening, and what another agent
/// has in progress since is that agent's.
pub fn reopens(job: &Job, task: &Task) -> bool {
    let is_theirs = |owner: &String| is_same_agent(owner, job.agent.as_str());
    reopens_its_task(job)
        && match task.status {
            Status::Pending => false,
            Status::InProgress => task.owner.as_ref().is_none_or(is_theirs),
            Status::Completed => true,
        }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LivingRecord, Verdict, judge_job, reopens};
    use crate::job_samples::ended;
    use crate::rules::leases::expiry::CLOCK_MARGIN;
    use crate::rules::leases::liveness::{Liveness, ProcessSeen};
    use crate::{Job, JobEnding, Moment, ProcessMark, Status, Task, Timestamp};

    const MINUTE: Duration = Duration::from_secs(60);

    fn mark() -> ProcessMark {
        ProcessMark { pid: 4, started: 7, boot: "one".into(), ..ProcessMark::default() }
    }

    fn at(boot: &str, milliseconds: i64) -> Moment {
        Moment { wall: Timestamp(milliseconds), boot: boot.into(), since_boot: milliseconds }
    }

    fn verdict(now: &Moment, liveness: Liveness, last_sign: Option<Moment>) -> Verdict {
        let seen =
            || ProcessSeen { liveness, last_sign: last_sign.clone(), longest_silence: MINUTE, must_show_life: false };
        let [running, pending] =
            [LivingRecord::Running { supervisor: mark() }, LivingRecord::Pending { starter: mark() }]
                .map(|record| judge_job(&record, Timestamp(0), now, seen()));
        assert_eq!(running, pending, "a pending job is lost with the process that was starting it");
        running
    }

    #[test]
    fn a_job_runs_as_long_as_its_supervisor_does() {
        assert_eq!(verdict(&at("one", 99_999_999), Liveness::Alive, None), Verdict::Stands);
        assert_eq!(verdict(&at("one", 1), Liveness::Dead, Some(at("one", 1))), Verdict::LostWithLeftovers);
    }

    #[test]
    fn nothing_is_left_of_a_job_of_an_earlier_run_of_the_machine() {
        assert_eq!(verdict(&at("two", 1), Liveness::Dead, None), Verdict::LostElsewhere);
    }

    #[test]
    fn a_job_of_another_container_is_lost_when_its_signs_of_life_run_out() {
        let sign = Some(at("one", 100_000));
        assert_eq!(verdict(&at("one", 159_999), Liveness::Unknown, sign.clone()), Verdict::Stands);
        assert_eq!(verdict(&at("one", 160_000), Liveness::Unknown, sign), Verdict::LostElsewhere);
        let margin = i64::try_from(CLOCK_MARGIN.as_millis()).unwrap();
        assert_eq!(verdict(&at("one", 59_999 + margin), Liveness::Unknown, None), Verdict::Stands);
        assert_eq!(verdict(&at("one", 60_000 + margin), Liveness::Unknown, None), Verdict::LostElsewhere);
    }

    #[test]
    fn a_failed_job_opens_its_task_unless_that_is_open_or_anothers() {
        let failed = Job {
            task: Some("1".parse().unwrap()),
            reopens_task: true,
            agent: crate::AgentName::new("ana").unwrap(),
            ..ended(JobEnding::Exited(1))
        };
        let fine = Job { fate: ended(JobEnding::Exited(0)).fate, ..failed.clone() };
        let task = |status, owner: Option<&str>| Task {
            status,
            owner: owner.map(str::to_owned),
            ..Task::new("1".parse().unwrap(), "one")
        };
        for (task, is_opened) in [
            (task(Status::Completed, None), true),
            (task(Status::Completed, Some("ben")), true),
            (task(Status::InProgress, None), true),
            (task(Status::InProgress, Some("ana")), true),
            (task(Status::InProgress, Some("ana@crew")), true),
            (task(Status::InProgress, Some("ben")), false),
            (task(Status::Pending, Some("ana")), false),
        ] {
            assert_eq!(reopens(&failed, &task), is_opened, "{task:?}");
            assert!(!reopens(&fine, &task), "{task:?}");
        }
    }
}
