//! Requests that come twice with one `Idempotency-Key`: the second gets the answer of the first, and nothing is done again. Another request
//! with the same key is a mistake of its sender.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::body::Bytes;
use axum::http::StatusCode;
use taskyard::core::Revision;
use taskyard_mcp::serving::{Begun, Recorder, Repeats};

/// The requests whose answers are remembered, by the names of the tokens they came with.
pub(crate) type RepeatedRequests = Repeats<Option<String>, String, Answered>;

pub(super) type BegunRequest = Begun<Option<String>, String, Answered>;
pub(super) type RequestRecorder = Recorder<Option<String>, String, Answered>;

/// What was answered.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// The revisions that the request made, oldest first.
    pub(crate) revisions: Vec<Revision>,
}

/// A request that can come again: who sends it, and the key it carries.
#[derive(Debug)]
pub(super) struct KeyedRequest {
    sender: Option<String>,
    key: String,
}

impl KeyedRequest {
    pub(super) fn new(sender: Option<String>, key: String) -> Self {
        Self { sender, key }
    }

    /// Says whether the request is to be answered anew.
    pub(super) fn begin(&self, repeats: &RepeatedRequests, digest: u64) -> BegunRequest {
        repeats.begin(&self.sender, &self.key, digest)
    }

    /// Forgets the answer to the request: what it told of was undone.
    pub(super) fn forget(&self, repeats: &RepeatedRequests) {
        repeats.forget(&self.sender, &self.key);
    }
}

/// Returns a digest of what a request asks for.
pub(super) fn digest_of(method: &str, path: &str, agent: Option<&str>, body: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (method, path, agent, body).hash(&mut hasher);
    hasher.finish()
}
