//! Events as sent over the wire. Each is serialized once for all clients.

use axum::body::Bytes;
use taskyard::core::answers::answer_document::to_vec;
use taskyard::core::answers::history_answers::{AgentEvent, CommitEvent, JobEvent, ListEvent, MessageEvent};
use taskyard::core::{AgentName, Event};
use taskyard::stream::Happening;

use super::event_id::EventId;

/// A commit with more entries than this is sent without them.
const ENTRIES: usize = 200;
/// So is one whose serialized entries exceed this many bytes.
const LARGEST: usize = 256 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Its number within its reader.
    pub(crate) number: u64,
    /// The last revision announced.
    pub(crate) revision: u64,
    /// Whether it announces a commit.
    pub(crate) is_commit: bool,
    /// Whether the list went back to this revision. Commits after it are sent again.
    pub(crate) is_reset: bool,
    /// The agent it is for; `None` for all clients.
    pub(crate) audience: Option<AgentName>,
    pub(crate) bytes: Bytes,
}

/// The name and content of an event.
pub(super) struct EventText {
    pub(super) name: &'static str,
    pub(super) data: Vec<u8>,
    pub(super) audience: Option<AgentName>,
    /// The revision, if it announces a commit.
    pub(super) revision: Option<u64>,
}

/// Returns the event for something that happened, or `None` if it does not concern clients.
pub(super) fn event_text(happening: &Happening) -> Option<EventText> {
    let to_all = |name, data| Some(EventText { name, data, audience: None, revision: None });
    match happening {
        Happening::Commit(event) => {
            Some(EventText { name: "commit", data: commit(event), audience: None, revision: Some(event.revision.0) })
        }
        Happening::JobEnded(notice) => {
            let (list, agent) = (notice.job.list.as_str(), notice.agent.as_str());
            let (at, job) = (notice.queued.to_string(), (&notice.job).into());
            to_all("job_ended", to_vec(JobEvent { list, agent, at, job }))
        }
        Happening::Message { agent, team, delivery } => {
            let body = MessageEvent { agent: agent.as_str(), team: team.as_str(), message: delivery.as_ref().into() };
            let audience = Some(agent.clone());
            Some(EventText { name: "message", data: to_vec(body), audience, revision: None })
        }
        Happening::AgentCame { team, member } => {
            to_all("agent_came", to_vec(AgentEvent { team: team.as_str(), agent: &member.name }))
        }
        Happening::AgentWent { team, name } => {
            to_all("agent_went", to_vec(AgentEvent { team: team.as_str(), agent: name }))
        }
        Happening::ListCame(list) => {
            to_all("list_came", to_vec(ListEvent { list: Some(list.as_str()), revision: None }))
        }
        Happening::ListWent(list) => {
            to_all("list_went", to_vec(ListEvent { list: Some(list.as_str()), revision: None }))
        }
        Happening::WentBack { list, revision } => {
            let data = to_vec(ListEvent { list: Some(list.as_str()), revision: Some(revision.0) });
            Some(EventText { name: "reset", data, audience: None, revision: Some(revision.0) })
        }
        _ => None,
    }
}

/// Serializes a commit.
pub(super) fn commit(event: &Event) -> Vec<u8> {
    let count = event.entries.len();
    let told = |entries: Vec<_>| {
        let complete = entries.len() == count;
        to_vec(CommitEvent { list: event.list.as_str(), revision: event.revision.0, count, complete, entries })
    };
    if count <= ENTRIES {
        let whole = told(event.entries.iter().map(Into::into).collect());
        if whole.len() <= LARGEST {
            return whole;
        }
    }
    told(Vec::new())
}

/// Returns an event as sent over the wire.
pub(super) fn written(id: Option<&EventId>, name: &str, data: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(data.len() + 64);
    if let Some(id) = id {
        text.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    text.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
    // A single line: serialized JSON has line breaks only between tokens.
    text.extend_from_slice(data.trim_ascii_end());
    text.extend_from_slice(b"\n\n");
    Bytes::from(text)
}
