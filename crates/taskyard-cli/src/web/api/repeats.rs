//! Requests that come twice with one `Idempotency-Key`: the second gets the answer of the first, and nothing is done again. Another request
//! with the same key is a mistake of its sender.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::StatusCode;
use taskyard::core::Revision;
use tokio::sync::watch;

/// So many answers are remembered.
const ANSWERS: usize = 4_096;
/// ... and so many bytes of them; the oldest are forgotten first.
const BYTES: usize = 64 * 1024 * 1024;

/// What tells one request from all others: who sends it and the key it carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestKey {
    sender: Option<String>,
    key: String,
}

/// A digest of what a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestDigest(u64);

/// What was answered.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// The revisions that the request made, oldest first.
    pub(crate) revisions: Vec<Revision>,
}

/// The requests whose answers are remembered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeats(Arc<Mutex<Remembered>>);

#[derive(Debug, Default)]
struct Remembered {
    answers: HashMap<RequestKey, (RequestDigest, watch::Receiver<Option<Answered>>)>,
    order: VecDeque<RequestKey>,
    bytes: usize,
}

/// Whether a request is to be answered anew.
#[derive(Debug)]
pub(crate) enum Repeated {
    /// It is new: the thread that answers it tells the recorder.
    First(Recorder),
    /// It came before, and its answer is there or will be.
    Again(watch::Receiver<Option<Answered>>),
    /// Its key came before, with another request.
    Reused,
}

/// Takes the answer for clients that repeat the request. Dropped without one, the request counts as not made.
#[derive(Debug)]
pub(crate) struct Recorder {
    answer: watch::Sender<Option<Answered>>,
    repeats: Repeats,
}

impl RequestKey {
    /// Returns the key of a request.
    pub(crate) fn new(sender: Option<String>, key: String) -> Self {
        Self { sender, key }
    }
}

impl RequestDigest {
    /// Returns the digest of a request.
    pub(crate) fn of(method: &str, path: &str, agent: Option<&str>, body: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        (method, path, agent, body).hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl Repeats {
    /// Says whether a request is to be answered anew.
    pub(crate) fn begin(&self, key: &RequestKey, asks: RequestDigest) -> Repeated {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((first, answer)) = remembered.answers.get(key) {
            // The first caller may have left without an answer.
            if answer.borrow().is_some() || answer.has_changed().is_ok() {
                return if *first == asks { Repeated::Again(answer.clone()) } else { Repeated::Reused };
            }
        } else {
            remembered.order.push_back(key.clone());
        }
        let (sender, receiver) = watch::channel(None);
        remembered.answers.insert(key.clone(), (asks, receiver));
        remembered.make_room();
        Repeated::First(Recorder { answer: sender, repeats: self.clone() })
    }
}

impl Repeats {
    /// Forgets the answer to a request: what it told of was undone.
    pub(crate) fn forget(&self, key: &RequestKey) {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.order.retain(|known| known != key);
        let forgotten = remembered.answers.remove(key);
        let bytes = forgotten.and_then(|(_, answer)| answer.borrow().as_ref().map(|answer| answer.body.len()));
        remembered.bytes -= bytes.unwrap_or(0).min(remembered.bytes);
    }
}

impl Recorder {
    /// Takes the answer.
    pub(crate) fn record(self, answer: &Answered) {
        self.answer.send_replace(Some(answer.clone()));
        let mut remembered = self.repeats.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.bytes += answer.body.len();
        remembered.make_room();
    }
}

impl Remembered {
    fn make_room(&mut self) {
        while self.order.len() > ANSWERS || self.bytes > BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            let forgotten = self.answers.remove(&oldest);
            let answered = forgotten.and_then(|(_, answer)| answer.borrow().as_ref().map(|answer| answer.body.len()));
            self.bytes -= answered.unwrap_or(0).min(self.bytes);
        }
    }
}

/// Waits for the answer to the first caller; none where that left without one.
pub(crate) async fn answer_of_first(mut answer: watch::Receiver<Option<Answered>>) -> Option<Answered> {
    let answered = answer.wait_for(Option::is_some).await.ok()?;
    answered.clone()
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use axum::http::StatusCode;

    use super::{ANSWERS, Answered, Repeated, Repeats, RequestDigest, RequestKey, answer_of_first};

    fn begin(repeats: &Repeats, number: usize, body: &[u8]) -> Repeated {
        let asks = RequestDigest::of("POST", "/x", None, body);
        repeats.begin(&RequestKey::new(None, number.to_string()), asks)
    }

    #[test]
    fn only_the_same_request_with_the_same_key_is_a_repetition() {
        let repeats = Repeats::default();
        let Repeated::First(recorder) = begin(&repeats, 1, b"a") else { panic!("it is new") };
        assert!(matches!(begin(&repeats, 1, b"b"), Repeated::Reused));
        assert!(matches!(begin(&repeats, 2, b"a"), Repeated::First(_)));
        let Repeated::Again(waiting) = begin(&repeats, 1, b"a") else { panic!("it came before") };
        let body = Bytes::from_static(b"{}");
        recorder.record(&Answered { status: StatusCode::OK, body, revisions: Vec::new() });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(answer_of_first(waiting)).unwrap().body, "{}");
        assert!(matches!(begin(&repeats, 1, b"b"), Repeated::Reused), "it was answered");
    }

    #[test]
    fn a_request_that_was_not_answered_is_made_again_and_few_are_remembered() {
        let repeats = Repeats::default();
        drop(begin(&repeats, 0, b""));
        assert!(matches!(begin(&repeats, 0, b"other"), Repeated::First(_)));
        let recorders: Vec<Repeated> = (1..=ANSWERS * 2).map(|number| begin(&repeats, number, b"")).collect();
        assert_eq!(repeats.0.lock().unwrap().answers.len(), ANSWERS);
        drop(recorders);
    }
}
