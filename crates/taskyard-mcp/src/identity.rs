//! Finding out who makes a call.

use crate::calls::Rights;
use rmcp::RoleServer;
use rmcp::model::Extensions;
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use serde_json::Value;
use taskyard::core::AgentName;
use taskyard::operations::Resuming;

use super::caller::{Access, Caller};
use super::hub::Hub;
use super::options::Leases;

/// The key under which a call names the agent that makes it, where several share a connection.
const AGENT: &str = "taskyard/agent";
/// The keys under which a call carries an id of its own: the client's, and that of other clients.
const CALL_IDS: [&str; 2] = ["claudecode/toolUseId", "taskyard/callId"];
/// So many characters of a client's name are used.
const LONGEST_NAME: usize = 40;

/// Returns who makes a call: the agent it names, the one the server was started for, or one named after the client and its
/// session.
pub(crate) fn caller(hub: &Hub, context: &RequestContext<RoleServer>) -> Caller {
    let call = call_id(context);
    let access = Access::of(&context.extensions);
    let rights = |agent: &AgentName, is_of_session| match &access {
        Some(access) => {
            Rights { scope: access.scope, is_proved: is_of_session || access.name.as_deref() == Some(agent.as_str()) }
        }
        None => Rights::ALL,
    };
    let said = context.meta.get(AGENT).and_then(Value::as_str).and_then(|name| AgentName::new(name).ok());
    if let Some(agent) = said.or_else(|| hub.named_agent.clone()) {
        return Caller {
            todos_of: agent.as_str().to_owned(),
            rights: rights(&agent, false),
            agent,
            call,
            clients_call: None,
            is_of_session: false,
            resuming: Resuming::All,
        };
    }
    let agent = unnamed(hub, context.client_info().map(|client| client.name), &context.extensions);
    let session = hub.session.clone().filter(|_| hub.options.leases == Leases::Connection);
    let is_of_session = is_of_session(hub, &context.extensions);
    Caller {
        todos_of: session.unwrap_or_else(|| agent.as_str().to_owned()),
        rights: rights(&agent, is_of_session),
        agent,
        clients_call: context.meta.get(CALL_IDS[0]).and(call.clone()),
        call,
        is_of_session,
        resuming: Resuming::FromEndedServer,
    }
}

/// Returns the agent of a connection that has just begun.
pub(crate) fn agent_of(hub: &Hub, context: &NotificationContext<RoleServer>) -> AgentName {
    let client = context.peer.peer_info().map(|client| client.client_info.name.clone());
    hub.named_agent.clone().unwrap_or_else(|| unnamed(hub, client, &context.extensions))
}

fn is_of_session(hub: &Hub, extensions: &Extensions) -> bool {
    hub.options.leases == Leases::Time && session(hub, extensions).is_some()
}

/// Names an agent after its client and session.
fn unnamed(hub: &Hub, client: Option<String>, extensions: &Extensions) -> AgentName {
    // The user who started an HTTP server is not its caller.
    if let Some(agent) = hub.client_name().filter(|_| hub.options.leases == Leases::Connection) {
        return agent;
    }
    let client = client.map(|client| plain(&client)).filter(|name| !name.is_empty());
    let client = client.unwrap_or_else(|| "agent".to_owned());
    let name = match session(hub, extensions) {
        Some(session) => format!("{client}-{session}"),
        None => client,
    };
    AgentName::new(name).unwrap_or_else(|_| AgentName::elsewhere())
}

/// Returns the id a call carries, by which a repetition of it is known.
fn call_id(context: &RequestContext<RoleServer>) -> Option<String> {
    let id = CALL_IDS.into_iter().find_map(|key| context.meta.get(key)?.as_str());
    id.filter(|id| !id.is_empty()).map(str::to_owned)
}

/// Returns what tells this session of the client from its others, and stays the same where the server is started anew.
fn session(hub: &Hub, extensions: &Extensions) -> Option<String> {
    match hub.options.leases {
        Leases::Connection => {
            let session = hub.session.as_deref().and_then(|session| session.get(..8)).map(str::to_owned);
            session.or_else(client_process)
        }
        // The user who started an HTTP server is not its caller: its own session says nothing of the callers.
        Leases::Time => {
            let parts = extensions.get::<axum::http::request::Parts>()?;
            let session = parts.headers.get(HEADER_SESSION_ID)?.to_str().ok()?;
            session.get(..8).map(str::to_owned)
        }
    }
}

/// The process that started us is the client, and it outlives a server that is started anew.
#[cfg(unix)]
fn client_process() -> Option<String> {
    Some(std::os::unix::process::parent_id().to_string())
}

#[cfg(not(unix))]
fn client_process() -> Option<String> {
    None
}

/// Makes a client's name into one that reads well as an owner.
fn plain(name: &str) -> String {
    let kept = |character: char| if character.is_alphanumeric() || "-_.".contains(character) { character } else { '-' };
    name.trim().chars().take(LONGEST_NAME).map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_clients_name_becomes_a_short_word() {
        assert_eq!(plain("claude-code"), "claude-code");
        assert_eq!(plain(" Visual Studio Code\n"), "Visual-Studio-Code");
        assert_eq!(plain(&"x".repeat(1000)).len(), 40);
    }
}
