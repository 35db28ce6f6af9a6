//! Calls that come twice: the second gets the answer of the first, and nothing is done again.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// The maximum number of calls of one sender that are remembered; the oldest are forgotten first.
const CALLS: usize = 1_000;
/// The maximum number of senders that are remembered; those that have been silent for longest are forgotten first.
const SENDERS: usize = 100;
/// The maximum size of all remembered answers in bytes. The oldest of the senders that have been silent for longest are forgotten first.
const BYTES: usize = 64 * 1024 * 1024;

/// Remembers the answers to calls: by who sent them, and by the key that the sender gave each.
pub struct Repeats<S, K, A>(Arc<Mutex<Senders<S, K, A>>>);

struct Senders<S, K, A> {
    known: HashMap<S, Sent<K, A>>,
    /// Counts calls, to tell who was heard of last.
    clock: u64,
    /// The size of all answers.
    bytes: usize,
}

/// The calls of one sender.
struct Sent<K, A> {
    calls: HashMap<K, Remembered<A>>,
    order: VecDeque<K>,
    /// When the last call came, on a clock that counts calls.
    last_call: u64,
}

struct Remembered<A> {
    digest: u64,
    answer: watch::Receiver<Option<A>>,
    bytes: usize,
}

/// Whether a call is to be made, or was made before.
#[derive(Debug)]
pub enum Begun<S: Clone + Eq + Hash, K: Clone + Eq + Hash, A> {
    /// It is new: the thread that makes it hands its answer to the recorder.
    First(Recorder<S, K, A>),
    /// It was made before, or is being made.
    Again(Repetition<A>),
    /// Its key came before, with another call.
    Reused,
}

/// Takes the answer to a call for clients that repeat it. Dropped without one, the call counts as not made.
pub struct Recorder<S, K, A> {
    answer: watch::Sender<Option<A>>,
    repeats: Repeats<S, K, A>,
    sender: S,
    key: K,
}

/// A call that was made before.
#[derive(Debug)]
pub struct Repetition<A>(watch::Receiver<Option<A>>);

impl<S: Clone + Eq + Hash, K: Clone + Eq + Hash, A: Clone> Repeats<S, K, A> {
    /// Says whether a call is to be made. The digest tells whether a key that comes again comes with the same call.
    pub fn begin(&self, sender: &S, key: &K, digest: u64) -> Begun<S, K, A> {
        let mut senders = self.senders();
        senders.clock += 1;
        let clock = senders.clock;
        if !senders.known.contains_key(sender) && senders.known.len() >= SENDERS {
            senders.forget_most_silent();
        }
        let sent = senders.known.entry(sender.clone()).or_default();
        sent.last_call = clock;
        if let Some(first) = sent.calls.get(key) {
            // The first caller may have left without an answer.
            if first.answer.borrow().is_some() || first.answer.has_changed().is_ok() {
                return match first.digest == digest {
                    true => Begun::Again(Repetition(first.answer.clone())),
                    false => Begun::Reused,
                };
            }
        } else {
            sent.order.push_back(key.clone());
        }
        let (answer, receiver) = watch::channel(None);
        sent.calls.insert(key.clone(), Remembered { digest, answer: receiver, bytes: 0 });
        let forgotten = if sent.order.len() > CALLS { sent.forget_oldest() } else { 0 };
        senders.bytes -= forgotten;
        Begun::First(Recorder { answer, repeats: self.clone(), sender: sender.clone(), key: key.clone() })
    }

    /// Forgets the answer to a call: what it tells of was undone.
    pub fn forget(&self, sender: &S, key: &K) {
        let mut senders = self.senders();
        let Some(sent) = senders.known.get_mut(sender) else { return };
        sent.order.retain(|known| known != key);
        let bytes = sent.calls.remove(key).map_or(0, |call| call.bytes);
        senders.bytes -= bytes;
    }

    /// Forgets all calls of a sender that will not call again.
    pub fn forget_sender(&self, sender: &S) {
        let mut senders = self.senders();
        let bytes = senders.known.remove(sender).map_or(0, |sent| sent.bytes());
        senders.bytes -= bytes;
    }

    fn senders(&self) -> MutexGuard<'_, Senders<S, K, A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Clone + Eq + Hash, K: Clone + Eq + Hash, A> Senders<S, K, A> {
    fn most_silent(&self) -> Option<S> {
        let longest = self.known.iter().min_by_key(|(_, sent)| sent.last_call);
        longest.map(|(sender, _)| sender.clone())
    }

    fn forget_most_silent(&mut self) {
        let forgotten = self.most_silent().and_then(|sender| self.known.remove(&sender));
        self.bytes -= forgotten.map_or(0, |sent| sent.bytes());
    }

    fn make_room(&mut self) {
        while self.bytes > BYTES {
            let Some(sender) = self.most_silent() else { return };
            let Some(sent) = self.known.get_mut(&sender) else { return };
            self.bytes -= sent.forget_oldest();
            if sent.order.is_empty() {
                self.known.remove(&sender);
            }
        }
    }
}

impl<K: Eq + Hash, A> Sent<K, A> {
    /// Forgets the oldest call, and returns the size of its answer.
    fn forget_oldest(&mut self) -> usize {
        let oldest = self.order.pop_front().and_then(|oldest| self.calls.remove(&oldest));
        oldest.map_or(0, |call| call.bytes)
    }

    fn bytes(&self) -> usize {
        self.calls.values().map(|call| call.bytes).sum()
    }
}

impl<S: Clone + Eq + Hash, K: Clone + Eq + Hash, A: Clone> Recorder<S, K, A> {
    /// Remembers the answer, which takes about this many bytes.
    pub fn record(self, answer: A, bytes: usize) {
        self.answer.send_replace(Some(answer));
        let mut senders = self.repeats.senders();
        // It may have been forgotten meanwhile.
        let call = senders.known.get_mut(&self.sender).and_then(|sent| sent.calls.get_mut(&self.key));
        if let Some(call) = call {
            call.bytes = bytes;
            senders.bytes += bytes;
            senders.make_room();
        }
    }
}

impl<A: Clone> Repetition<A> {
    /// Waits for the answer to the first call; returns `None` if it came to none.
    pub async fn answer(mut self) -> Option<A> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}

impl<S, K, A> Clone for Repeats<S, K, A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S, K, A> Default for Repeats<S, K, A> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Senders { known: HashMap::new(), clock: 0, bytes: 0 })))
    }
}

impl<K, A> Default for Sent<K, A> {
    fn default() -> Self {
        Self { calls: HashMap::new(), order: VecDeque::new(), last_call: 0 }
    }
}

impl<S, K, A> fmt::Debug for Repeats<S, K, A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Repeats").finish_non_exhaustive()
    }
}

impl<S, K, A> fmt::Debug for Recorder<S, K, A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recorder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES, Begun, CALLS, Recorder, Repeats, SENDERS};

    type Answers = Repeats<String, usize, &'static str>;

    fn first(repeats: &Answers, sender: &str, key: usize) -> Option<Recorder<String, usize, &'static str>> {
        match repeats.begin(&sender.to_owned(), &key, 0) {
            Begun::First(recorder) => Some(recorder),
            Begun::Again(_) | Begun::Reused => None,
        }
    }

    #[test]
    fn only_the_same_call_with_the_same_key_is_a_repetition() {
        let repeats = Answers::default();
        let ana = "ana".to_owned();
        let running = first(&repeats, "ana", 1).unwrap();
        assert!(matches!(repeats.begin(&ana, &1, 7), Begun::Reused));
        let Begun::Again(waiting) = repeats.begin(&ana, &1, 0) else { panic!("it came before") };
        assert!(first(&repeats, "ben", 1).is_some());
        running.record("done", 4);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(waiting.answer()), Some("done"));
        assert!(matches!(repeats.begin(&ana, &1, 7), Begun::Reused), "it was answered");
        repeats.forget(&ana, &1);
        assert!(first(&repeats, "ana", 1).is_some());
    }

    #[test]
    fn what_is_remembered_takes_bounded_memory() {
        let repeats = Answers::default();
        for key in 0..3 {
            first(&repeats, "ana", key).unwrap().record("large", BYTES / 4);
        }
        first(&repeats, "ben", 0).unwrap().record("large", BYTES / 4);
        first(&repeats, "ben", 1).unwrap().record("large", BYTES / 4);
        assert!(first(&repeats, "ana", 2).is_none() && first(&repeats, "ben", 0).is_none());
        assert!(first(&repeats, "ana", 0).is_some(), "the oldest of the one that called before the other");
        repeats.forget_sender(&"ben".to_owned());
        assert_eq!(repeats.senders().bytes, BYTES / 2);
    }

    #[test]
    fn a_call_that_came_to_nothing_may_be_made_again() {
        let repeats = Answers::default();
        let running = first(&repeats, "ana", 1).unwrap();
        assert!(first(&repeats, "ana", 1).is_none());
        drop(running);
        assert!(first(&repeats, "ana", 1).is_some());
    }

    #[test]
    fn the_oldest_calls_and_the_most_silent_senders_are_forgotten() {
        let repeats = Answers::default();
        for key in 0..=CALLS {
            first(&repeats, "ana", key).unwrap().record("done", 4);
        }
        assert!(first(&repeats, "ana", 1).is_none());
        assert!(first(&repeats, "ana", 0).is_some());
        for number in 0..SENDERS {
            first(&repeats, &number.to_string(), 1).unwrap().record("done", 4);
        }
        assert!(first(&repeats, "ana", 2).is_some());
        assert_eq!(repeats.senders().known.len(), SENDERS);
    }
}
