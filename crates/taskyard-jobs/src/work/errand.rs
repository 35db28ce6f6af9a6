//! What is written to a worker that has no task: its command runs for the messages alone.

use std::sync::Arc;

use taskyard::process::Ending;

use super::attending::Mail;
use super::briefing::Briefing;
use super::lines::Tail;
use super::report::WorkError;
use super::site::{Site, Timer};
use super::{Failure, WorkEvent, Worker};

/// Messages in the hands of a worker.
pub(super) struct Errand {
    pub(super) site: Arc<Site>,
    pub(super) worker: Worker,
    pub(super) mail: Mail,
}

/// What came of messages.
pub(super) enum ErrandOutcome {
    /// The command had them.
    Done,
    /// It did not; they will come again.
    Failed(Mail),
    /// We are stopping, and they will come again.
    Interrupted,
    /// The command cannot be started.
    NotStarted(WorkError),
}

impl Errand {
    /// Runs the command, and says that the messages were had where it succeeded.
    pub(super) fn carry_out(self) -> ErrandOutcome {
        let Self { site, worker, mail } = self;
        let (order, list) = (&site.order, site.yard.list_id());
        let program = Briefing { order, worker: &worker, list, mail: &mail }.for_messages();
        let (tail, stop) = (Tail::default(), site.stop.part());
        let sink = || tail.sink(worker.name.as_str().to_owned(), &site.listener);
        let (messages, timer) = (mail.len(), Timer::start(order.time_limit, &stop));
        let ending = order.jobs.run_tied(&program, [sink(), sink()], &stop, || {
            site.tell(WorkEvent::Attending { worker: worker.name.clone(), messages });
        });
        let failure = match ending {
            Err(source) => {
                let program = site.order.program.clone();
                return ErrandOutcome::NotStarted(WorkError::CannotStart { program, source });
            }
            Ok(Ending::Cancelled | Ending::TimedOut) => {
                match timer.as_ref().and_then(Timer::exceeded).filter(|_| !site.is_stopping()) {
                    Some(limit) => Some(Failure::TimedOut(limit)),
                    None => return ErrandOutcome::Interrupted,
                }
            }
            Ok(Ending::Exited(0)) => None,
            Ok(Ending::Exited(code)) => Some(Failure::Exited(code)),
            Ok(Ending::Signalled(signal)) => Some(Failure::Signalled(signal)),
        };
        if failure.is_none() {
            mail.acknowledge(&site.yard);
        }
        let is_done = failure.is_none();
        site.tell(WorkEvent::Attended { worker: worker.name.clone(), messages, failure });
        if is_done { ErrandOutcome::Done } else { ErrandOutcome::Failed(mail) }
    }
}
