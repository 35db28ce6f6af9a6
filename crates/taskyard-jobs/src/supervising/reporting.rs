//! Telling other machines of a job while its supervisor looks after it.
//!
//! This happens on a thread of its own: the supervisor never waits for the store. What is told may lag behind the job's files.

use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use taskyard::clock;
use taskyard::core::{Job, JobId, JobOutput};
use taskyard::jobs::{JobError, JobNews, JobReport, JobRequests, LONGEST_TAIL, SharedJobs};
use taskyard::process::Cancel;
use taskyard::store::StoreError;

use crate::{JobOptions, OutputReader};

/// The word that starts a process which tells other machines of the end of a job.
pub(crate) const DELIVER: &str = "deliver";

/// How far apart reports are at least while output flows; the first pause before another try.
const BETWEEN_REPORTS: Duration = Duration::from_secs(1);
/// The longest pause before another try.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How long the supervisor waits for its last report before it leaves that to another process: its own end is what local waiters wait for.
const END_PATIENCE: Duration = Duration::from_secs(1);
/// How long that process keeps retrying.
const DELIVERING: Duration = Duration::from_secs(600);
/// The largest piece of output that is sent at once, in bytes.
const LONGEST_PIECE: u64 = 1 << 20;

/// Tells other machines of the job of this supervisor.
#[derive(Debug)]
pub(crate) struct Reporter {
    signals: Arc<Signals>,
}

/// What the thread is woken by.
#[derive(Debug, Default)]
struct Signals {
    pending: Mutex<Pending>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    has_output: bool,
    /// Whether something may be asked from elsewhere.
    may_be_asked: bool,
    ended: Option<Job>,
    /// Whether nothing more will be told.
    is_done: bool,
}

impl Reporter {
    /// Starts telling of a job that runs. `share` opens the store, on the thread that tells; `None` if no other machine shares it. When a
    /// request to stop the job comes, `cancel` is cancelled.
    pub(crate) fn start(
        options: &Arc<JobOptions>,
        job: &Job,
        cancel: &Cancel,
        share: impl FnOnce(&Job) -> Option<Arc<dyn SharedJobs>> + Send + 'static,
    ) -> Self {
        let signals = Arc::new(Signals::default());
        let reporting = Reporting { options: Arc::clone(options), job: job.clone(), host: host_name() };
        let (cancel, told) = (cancel.clone(), Arc::clone(&signals));
        let thread = thread::Builder::new().name("taskyard-report".to_owned());
        let started = thread.spawn(move || {
            if let Some(shared) = share(&reporting.job) {
                reporting.run(&*shared, &told, &cancel);
            }
            told.note(|pending| pending.is_done = true);
        });
        if let Err(error) = started {
            tracing::warn!(%error, "other machines are not told of the job");
            signals.note(|pending| pending.is_done = true);
        }
        Self { signals }
    }

    /// Takes note that there is more output.
    pub(crate) fn note_output(&self) {
        self.signals.note(|pending| pending.has_output = true);
    }

    /// Has the end of the job told, and waits a moment for that. Returns whether nothing is left to tell.
    pub(crate) fn end(self, job: &Job) -> bool {
        let until = Instant::now() + END_PATIENCE;
        self.signals.note(|pending| pending.ended = Some(job.clone()));
        self.signals.sleep(|pending| (!pending.is_done).then_some(until));
        self.signals.pending().is_done
    }
}

impl Signals {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut Pending)) {
        change(&mut self.pending());
        self.changed.notify_all();
    }

    /// Sleeps until the moment that `until` returns for what is pending; it wakes at once when that is `None`.
    fn sleep(&self, until: impl Fn(&Pending) -> Option<Instant>) {
        let mut pending = self.pending();
        while let Some(until) = until(&pending) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            pending = self.changed.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A job that other machines are told of.
struct Reporting {
    options: Arc<JobOptions>,
    job: Job,
    host: String,
}

impl Reporting {
    /// Tells of the job until its end was told.
    fn run(&self, shared: &dyn SharedJobs, signals: &Arc<Signals>, cancel: &Cancel) {
        let heard = Arc::clone(signals);
        let hear = move || heard.note(|pending| pending.may_be_asked = true);
        let watch = shared.follow(&self.job.id, JobNews::Requests, Arc::new(hear));
        let (mut ended, mut is_news, mut was_told) = (None, true, false);
        let mut pause = BETWEEN_REPORTS;
        loop {
            {
                let mut pending = signals.pending();
                ended = ended.or_else(|| pending.ended.take());
                is_news |= pending.has_output || ended.is_some();
                (pending.has_output, pending.may_be_asked) = (false, false);
            }
            let now = Instant::now();
            match self.tell(shared, ended.as_ref(), is_news, cancel) {
                Ok(true) if ended.is_some() => return,
                Ok(true) => {
                    (is_news, was_told, pause) = (false, true, BETWEEN_REPORTS);
                    let interval = watch.interval();
                    signals.sleep(|pending| match pending {
                        Pending { ended: Some(_), .. } | Pending { may_be_asked: true, .. } => None,
                        Pending { has_output: true, .. } => Some(now + BETWEEN_REPORTS),
                        Pending { .. } => Some(now + interval),
                    });
                }
                Ok(false) => {
                    tracing::warn!(job = %self.job.id, "another machine has a job of this id: others are not told of this one");
                    return;
                }
                // A store that never let us in most likely never will.
                Err(error) if !was_told && !is_passing(&error) => {
                    tracing::warn!(job = %self.job.id, %error, "other machines are not told of the job");
                    return;
                }
                Err(error) => {
                    tracing::debug!(job = %self.job.id, %error, "other machines are told of the job later");
                    let until = Instant::now() + pause;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    // The first try after the end is made at once.
                    signals.sleep(|pending| pending.ended.is_none().then_some(until));
                }
            }
        }
    }

    /// Reports the job if there is news, and does what is asked; `false` if another machine has a job of this id.
    fn tell(
        &self,
        shared: &dyn SharedJobs,
        ended: Option<&Job>,
        is_news: bool,
        cancel: &Cancel,
    ) -> Result<bool, StoreError> {
        let heard = if is_news { None } else { shared.requests(&self.job.id)? };
        let heard = match heard {
            Some(requests) => Some(requests),
            None => self.report(shared, ended)?,
        };
        let Some(JobRequests { stop, output }) = heard else { return Ok(false) };
        if stop && ended.is_none() {
            cancel.cancel();
        }
        for request in output {
            let read = OutputReader::open(&self.options, ended.unwrap_or(&self.job))
                .and_then(|reader| reader.read(request.offset, request.length.min(LONGEST_PIECE)));
            let part = read.unwrap_or_else(|error| {
                tracing::warn!(job = %self.job.id, %error, "its output cannot be read");
                Default::default()
            });
            shared.answer(&self.job.id, &request, &part)?;
        }
        Ok(true)
    }

    fn report(&self, shared: &dyn SharedJobs, ended: Option<&Job>) -> Result<Option<JobRequests>, StoreError> {
        let mut job = ended.unwrap_or(&self.job).clone();
        if ended.is_none() {
            job.last_seen = clock::now();
        }
        let (output, tail) = self.newest(&job).unwrap_or_else(|error| {
            tracing::warn!(job = %job.id, %error, "its output cannot be read");
            (job.output, Vec::new())
        });
        job.output = output;
        shared.report(&JobReport { job: &job, host: &self.host, tail: &tail })
    }

    /// Returns how much the job wrote and the end of that.
    fn newest(&self, job: &Job) -> Result<(JobOutput, Vec<u8>), JobError> {
        let reader = OutputReader::open(&self.options, job)?;
        let mut output = reader.output()?;
        let first = output.gap.map_or(0, |gap| gap.to);
        let part = reader.read(output.written.saturating_sub(LONGEST_TAIL).max(first), LONGEST_TAIL)?;
        if !part.bytes.is_empty() {
            // It may have written more since.
            output.written = part.next;
        }
        Ok((output, part.bytes))
    }
}

/// Starts a process that tells other machines of the end of a job, and lets go of it.
pub(crate) fn leave_to_another(options: &JobOptions, job: &JobId) {
    let mut command = std::process::Command::new(&options.program);
    command.args(["job", DELIVER]).arg(&options.data).arg(job.as_str()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        tracing::warn!(%job, %error, "other machines are not told of the end of the job");
    }
}

/// Tells other machines of the end of a job, again and again until that succeeds or it takes too long.
pub(crate) fn deliver(options: &JobOptions, job: &Job, shared: &dyn SharedJobs) {
    let reporting = Reporting { options: Arc::new(options.clone()), job: job.clone(), host: host_name() };
    let (started, mut pause) = (Instant::now(), BETWEEN_REPORTS);
    while let Err(error) = reporting.report(shared, Some(job)) {
        if started.elapsed() > DELIVERING {
            return tracing::warn!(job = %job.id, %error, "other machines are not told of the end of the job");
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn is_passing(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. } | StoreError::Busy { .. })
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
