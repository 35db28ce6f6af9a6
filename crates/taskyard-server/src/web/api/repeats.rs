//! Repeated requests with the same `Idempotency-Key`: the second gets the first one's answer, and nothing is done
//! again. Reusing the key for a different request is an error.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::body::Bytes;
use axum::http::StatusCode;
use taskyard::core::Revision;
use taskyard_mcp::serving::{Begun, Recorder, Repeats};

/// Requests whose answers are kept, by the name of the token they were sent with.
pub(crate) type RepeatedRequests = Repeats<Option<String>, String, Answered>;

pub(super) type BegunRequest = Begun<Option<String>, String, Answered>;
pub(super) type RequestRecorder = Recorder<Option<String>, String, Answered>;

/// A complete answer.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// The revisions that the request created, oldest first.
    pub(crate) revisions: Vec<Revision>,
}

/// A request with an `Idempotency-Key`, and its sender.
#[derive(Debug)]
pub(super) struct KeyedRequest {
    sender: Option<String>,
    key: String,
}

impl KeyedRequest {
    pub(super) fn new(sender: Option<String>, key: String) -> Self {
        Self { sender, key }
    }

    /// Returns whether to run the request or to repeat an earlier answer.
    pub(super) fn begin(&self, repeats: &RepeatedRequests, digest: u64) -> BegunRequest {
        repeats.begin(&self.sender, &self.key, digest)
    }

    /// Forgets the answer to the request, because its effect was undone.
    pub(super) fn forget(&self, repeats: &RepeatedRequests) {
        repeats.forget(&self.sender, &self.key);
    }
}

/// Returns a digest of the request's content.
pub(super) fn digest_of(method: &str, path: &str, agent: Option<&str>, body: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (method, path, agent, body).hash(&mut hasher);
    hasher.finish()
}
