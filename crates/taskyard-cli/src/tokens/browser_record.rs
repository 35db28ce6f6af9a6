//! What the file of tokens keeps of a browser. Each has two secrets, of which it keeps digests alone: one is in its cookie, which it sends to
//! every port of the host, the other in the storage of our own pages, which no other port sees.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use taskyard::core::Timestamp;

/// What names of browsers begin with; no token can have such a name.
const PREFIX: &str = "browser:";
/// How long a browser stays let in that asks for nothing, in milliseconds.
pub(super) const IDLE: i64 = 7 * 24 * 60 * 60 * 1000;
/// Length of what is kept of a browser's own description.
const LONGEST_AGENT: usize = 200;

/// What is kept of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BrowserRecord {
    /// What people call it by.
    pub(crate) name: String,
    /// The digest of the secret in its cookie.
    pub(crate) cookie: String,
    /// The digest of the secret in the storage of our pages.
    page: String,
    /// When it was let in, in milliseconds since 1970.
    pub(crate) made: i64,
    /// When it last asked for something, to the hour.
    pub(crate) used: i64,
    /// What it says it is.
    pub(crate) agent: String,
    /// What a later version keeps.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The digests of a browser's secrets.
#[derive(Clone, Debug)]
pub(crate) struct BrowserDigests {
    pub(crate) cookie: String,
    pub(crate) page: String,
}

impl BrowserRecord {
    /// Returns the record of a browser that is let in now, by a random id.
    pub(super) fn new(id: &str, digests: BrowserDigests, agent: &str, now: Timestamp) -> Self {
        Self {
            name: format!("{PREFIX}{id}"),
            cookie: digests.cookie,
            page: digests.page,
            made: now.0,
            used: now.0,
            agent: agent.chars().filter(|character| !character.is_control()).take(LONGEST_AGENT).collect(),
            others: Map::new(),
        }
    }

    /// Tells whether this is the digest of the secret in the storage of our pages.
    pub(crate) fn is_page(&self, page: &str) -> bool {
        self.page == page
    }

    /// Tells whether it counts at a moment.
    pub(super) fn counts(&self, now: Timestamp) -> bool {
        now.0.saturating_sub(self.used) < IDLE
    }
}
