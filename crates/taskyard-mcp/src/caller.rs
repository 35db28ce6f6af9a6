//! Who makes a call, and what it may do.

use crate::calls::Rights;
use axum::http::request::Parts;
use rmcp::model::Extensions;
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
