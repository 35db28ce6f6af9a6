//! Being told at once that there may be something new in an inbox.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::{AgentName, TeamName};

use super::TeamError;
use super::contract::TeamWatch;
use super::register::Teams;
use super::seat::Seat;
use crate::store::Subscription;

/// Is told where somebody sits, on a thread of its own.
pub type SeatListener = Box<dyn Fn(Option<&Seat>) + Send>;

/// Is told where one of several agents sits, on a thread of its own.
pub type AgentListener = Box<dyn Fn(&AgentName, Option<&Seat>) + Send>;

/// Follows the inboxes of any number of agents with one watcher and one thread, until it is dropped.
#[derive(Debug)]
pub struct FollowedAgents {
    agents: Arc<Mutex<BTreeSet<AgentName>>>,
    look_again: Sender<Word>,
    following: Subscription,
}

/// A burst of changes is told of once.
const BURST: Duration = Duration::from_millis(2);
/// A long burst is told of now and then all the same.
const LONGEST_BURST: Duration = Duration::from_millis(50);
/// Where the kernel does not tell us that something moved, because it watches too much already, we look this often.
const UNTOLD: Duration = Duration::from_secs(1);

enum Word {
    Moved,
    End,
}

/// Looks, and returns the teams whose mailboxes are to be watched.
type Look = Box<dyn Fn() -> Vec<TeamName> + Send>;

impl Teams {
    /// Calls `look` now and whenever something may have moved in the inboxes of a team, until the subscription is dropped.
    pub fn follow(&self, seat: &Seat, look: Box<dyn Fn() + Send>) -> Result<Subscription, TeamError> {
        let team = seat.team.name.clone();
        let look_at_team = move || {
            look();
            vec![team.clone()]
        };
        Ok(self.follow_looking(Box::new(look_at_team))?.0)
    }

    /// Calls `look` with where somebody sits, now and whenever something may have moved there, also when it joins a team, until the
    /// subscription is dropped.
    pub fn follow_agent(&self, agent: &AgentName, look: SeatListener) -> Result<Subscription, TeamError> {
        let followed = self.follow_agents(Box::new(move |_, seat| look(seat)))?;
        followed.follow_only(|| BTreeSet::from([agent.clone()]));
        Ok(followed.following)
    }

    /// Prepares to call `look` with where each of the agents sits that are named later, whenever something may have moved there,
    /// until what is returned is dropped.
    pub fn follow_agents(&self, look: AgentListener) -> Result<FollowedAgents, TeamError> {
        let agents: Arc<Mutex<BTreeSet<AgentName>>> = Arc::default();
        let (teams, followed) = (self.lasting(), Arc::clone(&agents));
        let look_at_seats = move || {
            let mut watched = Vec::new();
            let current = followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for (agent, seat) in teams.only_seats(&current) {
                match seat {
                    Ok(seat) => {
                        look(&agent, seat.as_ref());
                        watched.extend(seat.map(|seat| seat.team.name));
                    }
                    Err(error) => tracing::warn!(%error, %agent, "teams cannot be looked at"),
                }
            }
            watched
        };
        let (following, look_again) = self.follow_looking(Box::new(look_at_seats))?;
        Ok(FollowedAgents { agents, look_again, following })
    }

    fn follow_looking(&self, look: Look) -> Result<(Subscription, Sender<Word>), TeamError> {
        let (sender, receiver) = channel();
        let (moved, look_again) = (sender.clone(), sender.clone());
        let is_waiting = Arc::new(AtomicBool::new(false));
        let waiting = Arc::clone(&is_waiting);
        let watch = self.store.watch(Box::new(move || {
            // However much happens, at most one word of it waits to be heard.
            if !waiting.swap(true, Ordering::SeqCst) {
                let _ = moved.send(Word::Moved);
            }
        }));
        let thread = thread::Builder::new()
            .name("taskyard-inbox".to_owned())
            .spawn(move || attend(watch, &Heard { receiver, is_waiting }, &look))
            .map_err(TeamError::io("cannot watch", "inboxes"))?;
        let following = Subscription::new(move || {
            let _ = sender.send(Word::End);
            // A listener may end its own subscription; it cannot wait for itself.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        });
        Ok((following, look_again))
    }
}

impl FollowedAgents {
    /// Follows these agents from now on, and no others; those that are new are looked at at once. Who they are is asked in turn, so
    /// that of two calls at once the later one decides by the later answer.
    pub fn follow_only(&self, agents: impl FnOnce() -> BTreeSet<AgentName>) {
        let mut followed = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let agents = agents();
        let is_any_new = !agents.is_subset(&followed);
        *followed = agents;
        if is_any_new {
            // The thread lives as long as this does.
            let _ = self.look_again.send(Word::Moved);
        }
    }
}

/// What the one who looks hears.
struct Heard {
    receiver: Receiver<Word>,
    is_waiting: Arc<AtomicBool>,
}

impl Heard {
    /// Waits for a word, for so long at most.
    fn wait(&self, longest: Option<Duration>) -> Result<Word, RecvTimeoutError> {
        let word = match longest {
            None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(longest) => self.receiver.recv_timeout(longest),
        };
        // Before anybody looks: what moves from here on is told anew.
        self.is_waiting.store(false, Ordering::SeqCst);
        word
    }
}

fn attend(mut watch: Box<dyn TeamWatch>, heard: &Heard, look: &Look) {
    let mut watched = Vec::new();
    loop {
        // Before looking, so that nothing can move between the look and the watching.
        let is_told = watch.keep_up(&watched);
        let seen = catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(|_| {
            tracing::error!("a listener panicked");
            watched.clone()
        });
        if seen != watched {
            // What came into a mailbox before it was watched was told to nobody.
            watched = seen;
            continue;
        }
        match heard.wait(if is_told { None } else { Some(UNTOLD) }) {
            Ok(Word::Moved) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Word::End) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let started = Instant::now();
        while started.elapsed() < LONGEST_BURST {
            match heard.wait(Some(BURST)) {
                Ok(Word::Moved) => {}
                Ok(Word::End) => return,
                Err(_) => break,
            }
        }
    }
}
