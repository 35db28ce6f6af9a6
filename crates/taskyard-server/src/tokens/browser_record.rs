//! The stored record of a browser. A browser has two secrets, of which only digests are stored: one in its cookie,
//! which it sends to every port of the host, and one in the storage of our own pages, which no other port can read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use taskyard::core::Timestamp;

use super::scope::Scope;

/// The prefix of browser names. No token's name can begin with it.
const PREFIX: &str = "browser:";
/// How long an idle browser stays signed in, in milliseconds.
pub(super) const IDLE: i64 = 7 * 24 * 60 * 60 * 1000;
/// Maximum stored length of a browser's user agent.
const LONGEST_AGENT: usize = 200;

/// The stored record of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BrowserRecord {
    /// The name shown to people.
    pub name: String,
    /// The digest of its cookie's secret.
    pub(crate) cookie: String,
    /// The digest of the secret in our pages' storage, if the scope is `All`. Otherwise empty, so that older
    /// releases, which do not know scopes of browsers, only let it read.
    page: String,
    /// The same digest for a browser with a narrower scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scoped_page: Option<String>,
    /// What it may do; everything if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
    /// The agent it acts as; the user who runs the server if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The token whose holder created its link. The browser is valid only as long as that token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// When it signed in, in milliseconds since 1970.
    pub made: i64,
    /// When it last sent a request, to the hour.
    pub used: i64,
    /// Its user agent.
    pub agent: String,
    /// Unknown fields of later versions, preserved.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The terms that a link grants a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkTerms {
    /// The agent it acts as; `None` for the user who runs the server.
    pub(crate) actor: Option<String>,
    pub(crate) scope: Scope,
    /// The token whose holder created the link. The browser is valid only as long as that token.
    pub(crate) token: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct BrowserDigests {
    pub(crate) cookie: String,
    pub(crate) page: String,
}

impl BrowserRecord {
    /// Returns the record of a browser that signs in now; `id` is random.
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

    /// Returns whether this is the digest of its page secret.
    pub(crate) fn is_page(&self, page: &str) -> bool {
        !page.is_empty() && *self.scoped_page.as_ref().unwrap_or(&self.page) == page
    }

    /// Returns what it may do once it has proved that our page sends the request.
    pub fn scope(&self) -> Scope {
        // Without a recorded scope, `scoped_page` grants only reading.
        let widest = if self.scoped_page.is_some() { Scope::Read } else { Scope::All };
        self.scope.unwrap_or(widest)
    }

    /// Returns whether it is valid at a time.
    pub(super) fn counts(&self, now: Timestamp) -> bool {
        now.0.saturating_sub(self.used) < IDLE
    }
}
