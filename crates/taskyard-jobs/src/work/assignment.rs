//! A task in the hands of a worker: the command that runs for it, and the lease that is kept alive meanwhile.

use std::sync::Arc;
use std::time::Instant;

use taskyard::core::rules::claims::attempts::failed_attempts;
use taskyard::core::{Revision, TaskId};
use taskyard::operations::{Claimed, Hold, Keeper, Nudge};
use taskyard::process::{Ending, Stop};

use super::attempt::{Attempt, Outcome};
use super::attending::Mail;
use super::briefing::Briefing;
use super::lines::Tail;
use super::site::{Site, Timer};
use super::{WorkEvent, Worker};

/// A task in the hands of a worker.
pub(super) struct Assignment {
    attempt: Attempt,
    is_resumed: bool,
    stop: Stop,
    keeper: Keeper,
    mail: Mail,
}

impl Assignment {
    /// Takes a task that was claimed after the revision `before`. From here on its lease is kept alive.
    pub(super) fn new(site: &Arc<Site>, worker: &Worker, claimed: Claimed, before: Revision) -> Self {
        let Claimed { task, lease, is_resumed, revision, .. } = claimed;
        let hold = Hold {
            yard: site.yard.acting_as(worker.name.clone()).proving(lease.token),
            task: task.id.clone(),
            token: lease.token,
            since: revision.unwrap_or(before),
        };
        let stop = site.stop.part();
        let asked_to_end = stop.clone();
        let keeper = Keeper::of(hold.clone(), site.order.ttl, move |_| asked_to_end.ask());
        let attempt = Attempt {
            site: Arc::clone(site),
            worker: worker.clone(),
            number: failed_attempts(&task).saturating_add(1),
            started: Instant::now(),
            task,
            hold,
        };
        Self { attempt, is_resumed, stop, keeper, mail: Mail::default() }
    }

    /// Gives the command what was written to the worker.
    pub(super) fn with_mail(self, mail: Mail) -> Self {
        Self { mail, ..self }
    }

    /// Returns what lets the keeper of the lease look at once.
    pub(super) fn nudge(&self) -> Nudge {
        self.keeper.nudge()
    }

    /// Returns the task's id.
    pub(super) fn task(&self) -> &TaskId {
        &self.attempt.task.id
    }

    /// Runs the command, and completes the task or gives it back.
    pub(super) fn carry_out(self) -> Outcome {
        let Self { attempt, is_resumed, stop, keeper, mail } = self;
        let (order, list) = (&attempt.site.order, attempt.site.yard.list_id());
        let briefing = Briefing { order, worker: &attempt.worker, list, mail: &mail };
        let program = briefing.for_task(&attempt.task, attempt.hold.token, attempt.number);
        let tail = Tail::default();
        let sink = || tail.sink(format!("#{}", attempt.task.id), &attempt.site.listener);
        let timer = Timer::start(order.time_limit, &stop);
        let ending = order.jobs.run_tied(&program, [sink(), sink()], &stop, || {
            attempt.site.tell(WorkEvent::Started {
                worker: attempt.worker.name.clone(),
                task: Box::new(attempt.task.clone()),
                attempt: attempt.number,
                is_resumed,
            });
        });
        let lost = keeper.finish();
        if matches!(ending, Ok(Ending::Exited(0))) {
            mail.acknowledge(&attempt.site.yard);
        }
        let left_behind = attempt.release_left_behind();
        let outcome = match (ending, lost) {
            (Err(source), _) => attempt.could_not_start(source),
            (Ok(_), Some(loss)) => attempt.lost(loss).into(),
            (Ok(Ending::Cancelled | Ending::TimedOut), None) => {
                let exceeded = timer.as_ref().and_then(Timer::exceeded).filter(|_| !attempt.site.is_stopping());
                exceeded.map_or_else(|| attempt.interrupted(), |limit| attempt.timed_out(limit, &tail.text())).into()
            }
            (Ok(Ending::Exited(code)), None) => attempt.ended(Some(code), None, &tail.text()),
            (Ok(Ending::Signalled(signal)), None) => attempt.ended(None, Some(signal), &tail.text()),
        };
        Outcome { left_behind, ..outcome }
    }
}
