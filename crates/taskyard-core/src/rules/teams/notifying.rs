//! Who is told that a job has ended, and when that has been acknowledged.
//!
//! A notification is told until it is acknowledged. A model says nothing back for a notification, but it makes its next call only
//! after it has read the answers before: so a call acknowledges what came with answers that were given before it began.

use crate::{JobEnding, JobFate, JobId};

/// Tells whether there is something to tell of a job: that it has ended, unless an agent stopped it, for that agent knows.
pub fn is_told_of(fate: &JobFate) -> bool {
    match fate {
        JobFate::Pending | JobFate::Running { .. } | JobFate::Ended { how: JobEnding::Stopped(_), .. } => false,
        JobFate::Ended { .. } | JobFate::Lost { .. } => true,
    }
}

/// What one server has told one agent, and has not heard of since. It is forgotten with the server: what was not acknowledged by
/// then is told again by the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnheardJobs {
    /// What went out with an answer, and the id of the call it was the answer to.
    unheard: Vec<(JobId, Option<String>)>,
    /// What was heard, and is not yet recorded as acknowledged.
    heard: Vec<JobId>,
}

impl UnheardJobs {
    /// Takes note that a call begins, and returns what the agent has acknowledged with it.
    ///
    /// A call that comes again under the same id acknowledges nothing that went out with its answer: that answer was lost, so it
    /// is to be told again.
    pub fn call_begins(&mut self, call: Option<&str>) -> &[JobId] {
        for (job, with) in self.unheard.drain(..) {
            if with.is_none() || with.as_deref() != call {
                self.heard.push(job);
            }
        }
        &self.heard
    }

    /// Takes note that these are recorded as acknowledged.
    pub fn acknowledged(&mut self, jobs: &[JobId]) {
        self.heard.retain(|job| !jobs.contains(job));
    }

    /// Tells whether a notification is to go out with an answer: not where it is on its way with another.
    pub fn is_new(&self, job: &JobId) -> bool {
        !self.heard.contains(job) && self.unheard.iter().all(|(unheard, _)| unheard != job)
    }

    /// Takes note that a notification goes out with the answer to a call.
    pub fn goes_out(&mut self, job: JobId, call: Option<&str>) {
        self.unheard.push((job, call.map(str::to_owned)));
    }

    /// Tells whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        self.unheard.is_empty() && self.heard.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{UnheardJobs, is_told_of};
    use crate::{CommandEnd, JobEnding, JobFate, JobId, JobUsage, Timestamp};

    fn job(id: &str) -> JobId {
        id.parse().unwrap()
    }

    fn ended(how: JobEnding) -> JobFate {
        JobFate::Ended { how, at: Timestamp(0), usage: JobUsage::default() }
    }

    #[test]
    fn every_end_is_told_of_but_one_that_somebody_wished() {
        for how in [
            JobEnding::Exited(0),
            JobEnding::Exited(3),
            JobEnding::Signalled(9),
            JobEnding::TimedOut(CommandEnd::Unseen),
            JobEnding::NotStarted { code: 127, why: "no such file".into() },
        ] {
            assert!(is_told_of(&ended(how.clone())), "{how:?}");
        }
        assert!(is_told_of(&JobFate::Lost { at: Timestamp(0) }));
        assert!(!is_told_of(&ended(JobEnding::Stopped(CommandEnd::Signalled(15)))));
        assert!(!is_told_of(&JobFate::Pending));
    }

    #[test]
    fn the_next_call_acknowledges_what_went_out_before_it_began() {
        let mut told = UnheardJobs::default();
        assert!(told.call_begins(Some("1")).is_empty());
        told.goes_out(job("b000001"), Some("1"));
        assert!(!told.is_new(&job("b000001")) && told.is_new(&job("b000002")));
        assert_eq!(told.call_begins(Some("2")), [job("b000001")]);
        // Until that is recorded it is neither told again nor forgotten.
        assert!(!told.is_new(&job("b000001")) && !told.is_empty());
        assert_eq!(told.call_begins(Some("3")), [job("b000001")]);
        told.acknowledged(&[job("b000001")]);
        assert!(told.is_empty());
    }

    #[test]
    fn a_call_that_comes_again_acknowledges_nothing_of_its_first_answer() {
        let mut told = UnheardJobs::default();
        told.goes_out(job("b000001"), Some("1"));
        told.goes_out(job("b000002"), Some("2"));
        assert_eq!(told.call_begins(Some("1")), [job("b000002")]);
        assert!(told.is_new(&job("b000001")));
    }

    #[test]
    fn calls_without_an_id_follow_each_other() {
        let mut told = UnheardJobs::default();
        told.goes_out(job("b000001"), None);
        assert_eq!(told.call_begins(None), [job("b000001")]);
    }
}
