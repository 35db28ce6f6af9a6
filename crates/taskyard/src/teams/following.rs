//! Being told at once that there may be something new in an inbox.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::AgentName;

use super::TeamError;
use super::register::Teams;
use super::seat::Seat;
use crate::store::{PlacesWatched, Subscription};

/// Is told where somebody sits, on a thread of its own.
pub type SeatListener = Box<dyn Fn(Option<&Seat>) + Send>;

/// Is told where one of several agents sits, on a thread of its own.
pub type AgentListener = Box<dyn Fn(&AgentName, Option<&Seat>) + Send>;

/// Follows the inboxes of any number of agents with one watcher and one thread, until it is dropped.
#[derive(Debug)]
pub struct FollowedAgents {
    agents: Arc<Mutex<BTreeSet<AgentName>>>,
    look_again: Sender<Word>,
    _following: Subscription,
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

impl Teams {
    /// Calls `look` now and whenever something may have moved in the inboxes of a team, until the subscription is dropped.
    pub fn follow(&self, seat: &Seat, look: Box<dyn Fn() + Send>) -> Result<Subscription, TeamError> {
        let places = self.places.inbox_directories(&seat.team.name);
        follow(move || places.clone(), look).map(|(following, _)| following)
    }

    /// Calls `look` with where somebody sits, now and whenever something may have moved there, also when it joins a team, until the
    /// subscription is dropped.
    pub fn follow_agent(self: &Arc<Self>, agent: &AgentName, look: SeatListener) -> Result<Subscription, TeamError> {
        let (watched, looking, agent) = (Arc::clone(self), Arc::clone(self), agent.clone());
        let own = BTreeSet::from([agent.clone()]);
        let places = move || watched.places_of(&own);
        let look_at_seat = move || match looking.only_seat(&agent) {
            Ok(seat) => look(seat.as_ref()),
            Err(error) => tracing::warn!(%error, "teams cannot be looked at"),
        };
        follow(places, Box::new(look_at_seat)).map(|(following, _)| following)
    }

    /// Prepares to call `look` with where each of the agents sits that are named later, whenever something may have moved there,
    /// until what is returned is dropped.
    pub fn follow_agents(self: &Arc<Self>, look: AgentListener) -> Result<FollowedAgents, TeamError> {
        let agents: Arc<Mutex<BTreeSet<AgentName>>> = Arc::default();
        let (watched, looking, followed) = (Arc::clone(self), Arc::clone(self), Arc::clone(&agents));
        let places = move || watched.places_of(&current(&followed));
        let followed = Arc::clone(&agents);
        let look_at_seats = move || {
            for (agent, seat) in looking.only_seats(&current(&followed)) {
                match seat {
                    Ok(seat) => look(&agent, seat.as_ref()),
                    Err(error) => tracing::warn!(%error, %agent, "teams cannot be looked at"),
                }
            }
        };
        let (following, look_again) = follow(places, Box::new(look_at_seats))?;
        Ok(FollowedAgents { agents, look_again, _following: following })
    }

    /// Returns the directories in which something moves when one of these is written to or joins a team.
    fn places_of(&self, agents: &BTreeSet<AgentName>) -> Vec<PathBuf> {
        let mut places = vec![self.options.root.clone()];
        let directories = fs::read_dir(&self.options.root).into_iter().flatten().flatten();
        let is_team = |entry: &fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
        places.extend(directories.filter(is_team).map(|entry| entry.path()).filter(|path| path.is_dir()));
        places.sort();
        for (_, seat) in self.only_seats(agents) {
            let inboxes = seat.ok().flatten().map(|seat| self.places.inbox_directories(&seat.team.name));
            for inbox in inboxes.into_iter().flatten() {
                if !places.contains(&inbox) {
                    places.push(inbox);
                }
            }
        }
        places
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

fn current(agents: &Mutex<BTreeSet<AgentName>>) -> BTreeSet<AgentName> {
    agents.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn follow(
    places: impl Fn() -> Vec<PathBuf> + Send + 'static,
    look: Box<dyn Fn() + Send>,
) -> Result<(Subscription, Sender<Word>), TeamError> {
    let (sender, receiver) = channel();
    let (moved, look_again) = (sender.clone(), sender.clone());
    let is_waiting = Arc::new(AtomicBool::new(false));
    let waiting = Arc::clone(&is_waiting);
    let watched = PlacesWatched::new(move || {
        // However much happens, at most one word of it waits to be heard.
        if !waiting.swap(true, Ordering::SeqCst) {
            let _ = moved.send(Word::Moved);
        }
    });
    let thread = thread::Builder::new()
        .name("taskyard-inbox".to_owned())
        .spawn(move || attend(watched, &places, &Heard { receiver, is_waiting }, &look))
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

fn attend(mut watched: PlacesWatched, places: &dyn Fn() -> Vec<PathBuf>, heard: &Heard, look: &(dyn Fn() + Send)) {
    loop {
        // Before looking, so that nothing can move between the look and the watching.
        let is_told = keep_up(&mut watched, places);
        if catch_unwind(AssertUnwindSafe(look)).is_err() {
            tracing::error!("a listener panicked");
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

/// Watches all there is to watch: what comes while the watching begins is watched, too. Returns whether the kernel will tell of it.
fn keep_up(watched: &mut PlacesWatched, places: &dyn Fn() -> Vec<PathBuf>) -> bool {
    let mut wanted = places();
    loop {
        let paths: Vec<&Path> = wanted.iter().map(PathBuf::as_path).collect();
        if !watched.keep_up(&paths) {
            return false;
        }
        let now = places();
        if now == wanted {
            return true;
        }
        wanted = now;
    }
}
