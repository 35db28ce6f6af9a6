//! Who makes a call, and what it may do.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::calls::Rights;
use axum::http::request::Parts;
use rmcp::model::Extensions;
use serde_json::Value;
use taskyard::core::AgentName;
use taskyard::core::tools::Scope;
use taskyard::operations::Resuming;
use tokio_util::sync::CancellationToken;

/// What a caller over HTTP may do. The program that lets requests in puts one into the extensions of each request; a request without one may
/// do everything.
#[derive(Clone, Debug)]
pub struct Access {
    /// Which tools it may call. `tools/list` names no others.
    pub scope: Scope,
    /// Tells this caller from all others that are let in. A session belongs to the caller that opened it; for all others it does not exist.
    pub key: String,
    /// The agent that the caller is known to be, if it is known.
    pub name: Option<String>,
    /// Cancelled when the caller is no longer let in. Its sessions end then.
    pub end: CancellationToken,
}

impl Access {
    /// Returns the access of the request that something came with; `None` over pipes.
    pub(crate) fn of(extensions: &Extensions) -> Option<Self> {
        extensions.get::<Parts>()?.extensions.get::<Self>().cloned()
    }
}

/// Who makes a call.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The agent.
    pub(crate) agent: AgentName,
    /// Whose todo list is meant: in a session of the client a caller without a name is the session itself.
    pub(crate) todos_of: String,
    /// The id the call carries.
    pub(crate) call: Option<String>,
    /// The same, where the client gave it and the call does not say which agent makes it: its transcripts tell which of its agents has made
    /// the call.
    pub(crate) clients_call: Option<String>,
    /// Whether the agent is named after a session over HTTP, and no agent can call under its name when that has ended.
    pub(crate) is_of_session: bool,
    /// What it may do.
    pub(crate) rights: Rights,
    /// Which tasks of its own the agent is given again when it asks for the next one.
    pub(crate) resuming: Resuming,
}

/// What tells one call of an agent from its others: the id it carries, the tool, a digest of its input, and what its caller may do. A client
/// that uses an id again for something else has made another call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    id: String,
    tool: &'static str,
    input: u64,
    scope: Scope,
}

/// A call whose id is longer is not remembered.
const LONGEST_ID: usize = 255;

impl CallKey {
    /// Returns the key of a call; `None` if its id is too long to be remembered.
    pub(crate) fn new(id: String, tool: &'static str, input: &Value, scope: Scope) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        input.to_string().hash(&mut hasher);
        (id.len() <= LONGEST_ID).then(|| Self { id, tool, input: hasher.finish(), scope })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use taskyard::core::tools::Scope;

    use super::CallKey;

    #[test]
    fn an_id_with_another_input_or_scope_is_another_call() {
        let key = |input, scope| CallKey::new("1".into(), "TaskCreate", &input, scope).unwrap();
        let first = key(json!({}), Scope::All);
        assert_eq!(first, key(json!({}), Scope::All));
        assert_ne!(first, key(json!({ "subject": "x" }), Scope::All));
        assert_ne!(first, key(json!({}), Scope::Read));
        assert!(CallKey::new("x".repeat(256), "TaskCreate", &json!({}), Scope::All).is_none());
    }
}
