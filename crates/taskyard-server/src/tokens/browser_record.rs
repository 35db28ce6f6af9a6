//! What the file of tokens keeps of a browser. Each has two secrets, of which it keeps digests alone: one is in its cookie, which it sends to
//! every port of the host, the other in the storage of our own pages, which no other port sees.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use taskyard::core::Timestamp;

use super::scope::Scope;

/// What names of browsers begin with; no token can have such a name.
const PREFIX: &str = "browser:";
/// How long a browser stays let in that asks for nothing, in milliseconds.
pub(super) const IDLE: i64 = 7 * 24 * 60 * 60 * 1000;
/// Length of what is kept of a browser's own description.
const LONGEST_AGENT: usize = 200;

/// What is kept of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BrowserRecord {
    /// What people call it by.
    pub name: String,
    /// The digest of the secret in its cookie.
    pub(crate) cookie: String,
    /// The digest of the secret in the storage of our pages, if the browser may do everything. Empty for others, so that releases which
    /// know no scopes of browsers let them only read.
    page: String,
    /// The same of a browser that may not do everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scoped_page: Option<String>,
    /// What it may do; everything if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
    /// As whom it acts; as the user who runs the server if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The token whose holder made its link: it counts only as long as that token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// When it was let in, in milliseconds since 1970.
    pub made: i64,
    /// When it last asked for something, to the hour.
    pub used: i64,
    /// What it says it is.
    pub agent: String,
    /// What a later version keeps.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// What a browser gets that a link lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkTerms {
    /// As whom it acts; `None` for the user who runs the server.
    pub(crate) actor: Option<String>,
    /// What it may do.
    pub(crate) scope: Scope,
    /// The token whose holder made the link: the browser counts only as long as that token.
    pub(crate) token: Option<String>,
}

/// The digests of a browser's secrets.
#[derive(Clone, Debug)]
pub(crate) struct BrowserDigests {
    pub(crate) cookie: String,
    pub(crate) page: String,
}

impl BrowserRecord {
    /// Returns the record of a browser that is let in now, by a random id.
    pub(super) fn new(id: &str, digests: BrowserDigests, agent: &str, terms: LinkTerms, now: Timestamp) -> Self {
        let LinkTerms { actor, scope, token } = terms;
        let (page, scoped_page) = match scope {
            Scope::All => (digests.page, None),
            Scope::Read | Scope::Work => (String::new(), Some(digests.page)),
        };
        Self {
            name: format!("{PREFIX}{id}"),
            cookie: digests.cookie,
            page,
            scoped_page,
            scope: (scope != Scope::All).then_some(scope),
            actor,
            token,
            made: now.0,
            used: now.0,
            agent: agent.chars().filter(|character| !character.is_control()).take(LONGEST_AGENT).collect(),
            others: Map::new(),
        }
    }

    /// Tells whether this is the digest of the secret in the storage of our pages.
    pub(crate) fn is_page(&self, page: &str) -> bool {
        !page.is_empty() && *self.scoped_page.as_ref().unwrap_or(&self.page) == page
    }

    /// Returns what it may do once it has proved that our page asks.
    pub fn scope(&self) -> Scope {
        // Without a scope a page that is kept apart proves nothing.
        let widest = if self.scoped_page.is_some() { Scope::Read } else { Scope::All };
        self.scope.unwrap_or(widest)
    }

    /// Tells whether it counts at a moment.
    pub(super) fn counts(&self, now: Timestamp) -> bool {
        now.0.saturating_sub(self.used) < IDLE
    }
}
