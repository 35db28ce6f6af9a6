//! The workers of one process: distributing tasks, and detecting when the run is over.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, mpsc};
use std::{panic, thread};

use taskyard::core::rules::claims::claiming::is_given_up;
use taskyard::core::rules::refusal::ClaimRefusal;
use taskyard::core::{AgentName, MessageKey, TaskId, Timestamp};
use taskyard::hooks::Teammate;
use taskyard::lease_watch::{Alarm, AlarmHandle};
use taskyard::operations::{Claim, IdleAnswer, Nudge};
use taskyard::process::{Cancel, Stop};
use taskyard::stream::Interest;
use taskyard::{Error, Yard};

use super::assignment::{Assignment, Attended, Errand, ErrandOutcome, Mail, attend};
use super::attempt::Outcome;
use super::report::{Tally, WorkError};
use super::site::Site;
use super::{Order, WorkEvent, WorkListener, WorkReport, Worker};

/// How many times in a row hooks can tell an idle worker to look again.
const MOST_LOOKS: u32 = 8;

/// Processes the list of a yard: claims ready tasks, runs the command for each, and completes or releases it, until no
/// task can be claimed and no worker is busy.
///
/// When asked to stop, claims nothing more, ends the commands, and releases their tasks.
pub fn work(yard: &Yard, order: Order, stop: &Stop, listener: WorkListener) -> Result<WorkReport, WorkError> {
    let mut alarm = Alarm::for_interest(yard, concerns(yard, &order))?;
    let (handle, cancel) = (alarm.handle(), yard.hooks().map(|hooks| hooks.cancel().clone()));
    let _woken = stop.asked().on_cancel(move || {
        handle.look_again();
        cancel.iter().for_each(Cancel::cancel);
    });
    let (tell, hear) = mpsc::channel();
    let members = order.workers.iter().map(|worker| Member::new(&order, worker)).collect();
    // One `work` may be the command of another; its own workers claim for themselves.
    let of_workers = yard.clone().in_run(None);
    let site = Site { yard: of_workers, order, stop: stop.clone(), listener, blocked: Default::default() };
    let office = Office { tell, alarm: alarm.handle() };
    let mut crew = Crew { site: Arc::new(site), members, office, hear, tally: Tally::default(), failure: None };
    crew.work(&mut alarm);
    match crew.failure.take() {
        Some(error) => Err(error),
        None => Ok(crew.tally.report(given_up(yard, crew.site.order.retries)?, stop.asked().is_cancelled())),
    }
}

/// Returns the events that wake the workers: changes of the list, and messages to them.
fn concerns(yard: &Yard, order: &Order) -> Interest {
    let inboxes = order.in_team.then(|| order.workers.iter().map(|worker| worker.name.clone()).collect());
    Interest { inboxes, ..Interest::in_list(yard.list_id()) }
}

/// Returns the open tasks that failed too often to be retried.
fn given_up(yard: &Yard, retries: u64) -> Result<Vec<TaskId>, Error> {
    let tasks = yard.store().read(yard.list_id())?.tasks()?;
    Ok(tasks.into_iter().filter(|task| is_given_up(task, retries)).map(|task| task.id).collect())
}

/// The workers, and the results so far.
struct Crew {
    site: Arc<Site>,
    members: Vec<Member>,
    office: Office,
    hear: Receiver<Message>,
    tally: Tally,
    /// Why nothing more is claimed.
    failure: Option<WorkError>,
}

/// A worker and its state.
struct Member {
    worker: Worker,
    terms: Claim,
    state: SeatState,
    /// Whether hooks have been told that it is idle.
    is_idle: bool,
    /// How many times in a row hooks told it to look again.
    looks: u32,
    /// How often a command for each message has failed.
    failed_errands: HashMap<MessageKey, u64>,
    /// When the first task becomes ready that is only waiting for its start time.
    deferred_to: Option<Timestamp>,
}

enum SeatState {
    Free,
    Busy(Box<Nudge>, TaskId),
    /// A command is running for its messages.
    OnErrand,
    /// Hooks are being asked whether it may be idle.
    Asking,
    Retired,
}

/// How the worker threads report back.
#[derive(Clone)]
struct Office {
    tell: Sender<Message>,
    alarm: AlarmHandle,
}

struct Message {
    member: usize,
    news: News,
}

enum News {
    Ended(Outcome),
    ErrandEnded(ErrandOutcome),
    Idle(Result<IdleAnswer, Error>),
    Panicked(Box<dyn std::any::Any + Send>),
}

impl Member {
    fn new(order: &Order, worker: &Worker) -> Self {
        let terms = order.terms(worker);
        Self {
            worker: worker.clone(),
            terms,
            state: SeatState::Free,
            is_idle: false,
            looks: 0,
            failed_errands: HashMap::new(),
            deferred_to: None,
        }
    }

    fn is_free(&self) -> bool {
        matches!(self.state, SeatState::Free)
    }
}

impl Office {
    /// Runs work on a separate thread and reports the result.
    fn commission(&self, member: usize, work: impl FnOnce() -> News + Send + 'static) -> Result<(), WorkError> {
        let office = self.clone();
        let task = move || {
            let news = panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(News::Panicked);
            // The crew receives as long as a member is busy.
            let _ = office.tell.send(Message { member, news });
            office.alarm.look_again();
        };
        let spawned = thread::Builder::new().name("worker".into()).spawn(task);
        spawned.map(drop).map_err(|source| WorkError::CannotStart { program: "a thread".to_owned(), source })
    }
}

impl Crew {
    fn work(&mut self, alarm: &mut Alarm) {
        loop {
            while let Ok(message) = self.hear.try_recv() {
                self.settle(message);
            }
            if self.failure.is_some() || self.site.stop.asked().is_cancelled() {
                // Nothing more is claimed, so only the end of running commands matters.
                while !self.is_at_rest() {
                    let Ok(message) = self.hear.recv() else { return };
                    self.settle(message);
                }
                return;
            }
            if let Err(error) = self.hand_out() {
                self.failure = Some(error);
                continue;
            }
            let is_over = self.members.iter().all(|member| matches!(member.state, SeatState::Retired));
            if is_over || self.is_at_rest() && !self.site.order.waits {
                return;
            }
            if let Err(error) = self.sleep(alarm) {
                self.failure = Some(error.into());
            }
        }
    }

    /// Returns whether no member is busy.
    fn is_at_rest(&self) -> bool {
        self.members.iter().all(|member| matches!(member.state, SeatState::Free | SeatState::Retired))
    }

    /// Sleeps until something happens, then makes every busy member check that it still holds its task.
    fn sleep(&self, alarm: &mut Alarm) -> Result<(), Error> {
        let deferred_to = self.members.iter().filter_map(|member| member.deferred_to).min();
        alarm.wait_at_most(&self.site.yard, None, deferred_to)?;
        if let Err(error) = self.site.yard.return_ended_leases_seen() {
            tracing::warn!(%error, "leases that have ended are not recorded");
        }
        for member in &self.members {
            if let SeatState::Busy(nudge, _) = &member.state {
                nudge.look();
            }
        }
        Ok(())
    }

    /// Gives work to each free member, as far as there is any.
    fn hand_out(&mut self) -> Result<(), WorkError> {
        for number in 0..self.members.len() {
            if self.members[number].is_free() && !self.site.stop.asked().is_cancelled() {
                self.employ(number)?;
            }
        }
        Ok(())
    }

    fn employ(&mut self, number: usize) -> Result<(), WorkError> {
        let member = &mut self.members[number];
        let yard = self.site.yard.acting_as(member.worker.name.clone());
        let mail = match self.site.order.in_team {
            true => match attend(&yard, &member.worker.name)? {
                Attended::Left => {
                    member.state = SeatState::Retired;
                    self.site.tell(WorkEvent::Left { worker: member.worker.name.clone() });
                    return Ok(());
                }
                Attended::GoesOn(mail) => {
                    if let Err(error) = yard.take_out_ended() {
                        tracing::warn!(%error, "those who have ended stay in their teams");
                    }
                    mail
                }
            },
            false => Mail::default(),
        };
        let before = yard.store().read(yard.list_id()).map_err(Error::from)?.revision();
        let claimed = match yard.claim_next(&member.terms)? {
            taskyard::Outcome::Done(claimed) => claimed,
            taskyard::Outcome::Refused(refusal) => {
                member.deferred_to = match refusal.of_claim() {
                    Some(ClaimRefusal::NothingReady { next_at, .. }) => *next_at,
                    _ => None,
                };
                return self.employ_otherwise(number, mail);
            }
        };
        let assignment = Assignment::new(&self.site, &member.worker, claimed, before).with_mail(mail);
        member.state = SeatState::Busy(Box::new(assignment.nudge()), assignment.task().clone());
        (member.is_idle, member.looks, member.deferred_to) = (false, 0, None);
        let commissioned = self.office.commission(number, move || News::Ended(assignment.carry_out()));
        // Without a thread the member would never report; the lease ends with this process.
        commissioned.inspect_err(|_| self.members[number].state = SeatState::Free)
    }

    /// Gives a member for which there is no task something else to do.
    fn employ_otherwise(&mut self, number: usize, mail: Mail) -> Result<(), WorkError> {
        let (member, most) = (&mut self.members[number], self.site.order.retries);
        let is_given_up = |key: &MessageKey| member.failed_errands.get(key).is_some_and(|times| *times > most);
        let Some(mail) = mail.worth_an_errand(is_given_up) else {
            return if member.is_idle { Ok(()) } else { self.ask_about_idleness(number) };
        };
        (member.state, member.is_idle, member.looks) = (SeatState::OnErrand, false, 0);
        let errand = Errand { site: Arc::clone(&self.site), worker: member.worker.clone(), mail };
        let commissioned = self.office.commission(number, move || News::ErrandEnded(errand.carry_out()));
        commissioned.inspect_err(|_| self.members[number].state = SeatState::Free)
    }

    fn ask_about_idleness(&mut self, number: usize) -> Result<(), WorkError> {
        let member = &mut self.members[number];
        (member.state, member.is_idle) = (SeatState::Asking, true);
        if member.looks == 0 {
            self.site.tell(WorkEvent::Idle { worker: member.worker.name.clone() });
        }
        let (site, name) = (Arc::clone(&self.site), member.worker.name.clone());
        let commissioned = self.office.commission(number, move || {
            let answer = site.yard.teammate_idle(&teammate(&site.yard, &name));
            site.tell_warnings();
            News::Idle(answer)
        });
        commissioned.inspect_err(|_| self.members[number].state = SeatState::Free)
    }

    fn settle(&mut self, Message { member, news }: Message) {
        let member = &mut self.members[member];
        let was = std::mem::replace(&mut member.state, SeatState::Free);
        match news {
            News::Ended(Outcome { conclusion, retires, left_behind }) => {
                self.tally.left_behind(left_behind);
                if retires {
                    member.state = SeatState::Retired;
                }
                match (conclusion, was) {
                    (Ok(conclusion), SeatState::Busy(_, task)) => self.tally.count(task, conclusion),
                    (Ok(_), _) => {}
                    (Err(error), _) => self.fail(error),
                }
            }
            News::ErrandEnded(ErrandOutcome::Done | ErrandOutcome::Interrupted) => {}
            News::ErrandEnded(ErrandOutcome::Failed(mail)) => {
                for key in mail.keys() {
                    *member.failed_errands.entry(key.clone()).or_default() += 1;
                }
            }
            News::ErrandEnded(ErrandOutcome::NotStarted(error)) => self.fail(error),
            News::Idle(Ok(answer)) if answer.stop.is_some() => member.state = SeatState::Retired,
            News::Idle(Ok(answer)) if answer.keep_working.is_some() && member.looks < MOST_LOOKS => {
                (member.is_idle, member.looks) = (false, member.looks + 1);
            }
            News::Idle(Ok(_) | Err(Error::Cancelled)) => {}
            News::Idle(Err(error)) => self.fail(error.into()),
            News::Panicked(why) => panic::resume_unwind(why),
        }
    }

    /// Records the first failure; later ones have the same cause.
    fn fail(&mut self, error: WorkError) {
        self.failure.get_or_insert(error);
    }
}

/// Returns a worker as a member of the team that hooks are told: our own team, or else the agents that share the list.
fn teammate(yard: &Yard, worker: &AgentName) -> Teammate {
    let team = yard.hooks().and_then(|hooks| hooks.teammate()).map(|teammate| teammate.team.clone());
    Teammate { name: worker.as_str().to_owned(), team: team.unwrap_or_else(|| yard.list_id().as_str().to_owned()) }
}
