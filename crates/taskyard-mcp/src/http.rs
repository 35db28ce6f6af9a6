//! The HTTP server at `/mcp`, and the sessions of older protocol versions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection::Connection;
use super::hub::Hub;
use crate::http_admission::{Admissions, Hosts, drop_at_the_end};
use crate::json_rpc;
use crate::json_rpc::Fault;
use crate::served_list::Access;

/// The maximum size of a request in bytes.
const LARGEST_REQUEST: usize = 1024 * 1024;
/// The maximum size of an `initialize` request in bytes.
const LARGEST_GREETING: usize = 16 * 1024;
/// How long the body of a request may take to arrive.
const BODY: Duration = Duration::from_secs(30);
const JSON: &str = "application/json";

/// Returns a service that answers MCP requests for loopback hosts, until `stop` is cancelled. Claims expire by time,
/// whatever the options of the hub say.
pub fn answering(hub: Hub, stop: CancellationToken) -> Router {
    answering_to(Hosts::loopback(), hub, stop)
}

/// Returns a service that answers MCP requests for `hosts`, until `stop` is cancelled. Claims expire by time, whatever
/// the options of the hub say.
pub fn answering_to(hosts: Hosts, hub: Hub, stop: CancellationToken) -> Router {
    let hub = Arc::new(hub.with_leases_by_time());
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(stop)
        .with_max_request_body_bytes(LARGEST_REQUEST)
        // Hosts and origins are checked by `keep_to_hosts`.
        .disable_allowed_hosts();
    let sessions: Arc<Sessions> = Arc::default();
    let service: StreamableHttpService<Connection, Sessions> =
        StreamableHttpService::new(move || Ok(Connection::new(Arc::clone(&hub))), Arc::clone(&sessions), config);
    let service = Router::new().fallback_service(service);
    let service = service.layer(from_fn_with_state(Admissions::default(), take_up));
    service.layer(from_fn_with_state(sessions, keep_to_own)).layer(from_fn_with_state(hosts, keep_to_hosts))
}

/// Rejects requests for other hosts, and requests from pages of other hosts.
async fn keep_to_hosts(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match hosts.judge(&head) {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(status) => status.into_response(),
    }
}

/// Rejects requests for a session of another caller, and assigns a new session to the caller that opened it.
async fn keep_to_own(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    let access = request.extensions().get::<Access>().cloned();
    let named = request.headers().get(HEADER_SESSION_ID).map(|session| session.to_str().unwrap_or_default());
    if named.is_some_and(|session| !sessions.is_of(session, access.as_ref())) {
        // The protocol's answer for a session that does not exist.
        return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
    }
    let response = next.run(request).await;
    if let Some(opened) = response.headers().get(HEADER_SESSION_ID).and_then(|session| session.to_str().ok()) {
        sessions.give_to(opened, access.as_ref());
    }
    response
}

/// Reads the message of a request, and passes it on when it is admitted. Rejects invalid messages.
async fn take_up(State(admissions): State<Admissions>, request: Request, next: Next) -> Response {
    let is_message = request.method() == Method::POST && is_json(request.headers());
    // Other requests have no body, or are rejected without reading it.
    if !is_message {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > LARGEST_REQUEST) {
        return too_large(LARGEST_REQUEST);
    }
    let mut reading = admissions.read(length.unwrap_or(LARGEST_REQUEST)).await;
    let bytes = match tokio::time::timeout(BODY, to_bytes(body, LARGEST_REQUEST)).await {
        Ok(Ok(bytes)) => json_rpc::with_whole_characters(bytes.into()),
        Ok(Err(_)) if length.is_none() => return too_large(LARGEST_REQUEST),
        // A client that disconnected does not receive this.
        Ok(Err(_)) => return told(StatusCode::BAD_REQUEST, Fault::unreadable("the request ends too early")),
        Err(_) => return told(StatusCode::REQUEST_TIMEOUT, Fault::unreadable("the request took too long to arrive")),
    };
    match json_rpc::read(&bytes) {
        Ok(Some(ClientJsonRpcMessage::Request(asked))) => {
            // The client's description of itself is kept as long as its session.
            if matches!(asked.request, ClientRequest::InitializeRequest(_)) && bytes.len() > LARGEST_GREETING {
                return too_large(LARGEST_GREETING);
            }
            let session = parts.headers.get(HEADER_SESSION_ID).and_then(|session| session.to_str().ok());
            if session.is_some_and(|session| !reading.take_name(session.to_owned(), asked.id.clone())) {
                return told(StatusCode::BAD_REQUEST, Fault::id_in_use(asked.id.into_json_value()));
            }
        }
        Ok(Some(_)) => {}
        Ok(None) if bytes.trim_ascii().is_empty() => {
            return told(StatusCode::BAD_REQUEST, Fault::unreadable("the body is empty"));
        }
        // A notification that has no meaning here.
        Ok(None) => return StatusCode::ACCEPTED.into_response(),
        Err(fault) => return told(StatusCode::BAD_REQUEST, fault),
    }
    let admission = reading.admitted().await;
    parts.extensions.insert(admission.clone());
    let over = admission.unanswerable().clone().drop_guard();
    drop_at_the_end(next.run(Request::from_parts(parts, Body::from(bytes))).await, (admission, over))
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).is_some_and(|kind| kind.starts_with(JSON))
}

fn too_large(largest: usize) -> Response {
    let fault = Fault::unreadable(&format!("the request is too large (the limit is {largest} bytes)"));
    ([(CONNECTION, "close")], told(StatusCode::PAYLOAD_TOO_LARGE, fault)).into_response()
}

fn told(status: StatusCode, fault: Fault) -> Response {
    (status, [(CONTENT_TYPE, JSON)], fault.into_json().to_string()).into_response()
}

/// How long a session may be idle before it ends.
const IDLE: Duration = Duration::from_secs(3600);
/// The maximum number of sessions. When it is exceeded, the least recently used session ends, so that clients that
/// leave without closing their session do not keep others out.
const SESSIONS: usize = 1_000;
/// The maximum number of sessions whose client has sent only `initialize`.
const HALF_OPEN: usize = 64;
/// A session whose client has sent only `initialize` for this long ends when another session begins.
const OPENING: Duration = Duration::from_secs(60);

/// Manages a bounded number of sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    kept: LocalSessionManager,
    activity: Mutex<HashMap<SessionId, SessionActivity>>,
    /// The maximum number of sessions.
    most: usize,
}

/// The activity and owner of a session.
#[derive(Debug)]
struct SessionActivity {
    /// When its client last made a request.
    last: Instant,
    /// Whether its client has sent anything after `initialize`.
    is_open: bool,
    /// The caller that opened it; `None` until it is recorded.
    owner: Option<Owner>,
}

#[derive(Debug)]
struct Owner {
    /// `None` if the embedding program does not distinguish callers.
    key: Option<String>,
    /// Stops waiting for the end of the caller's access once the session has ended.
    _waiting: DropGuard,
}

impl SessionActivity {
    /// Returns whether a session was begun and then abandoned.
    fn is_left(&self, now: Instant) -> bool {
        !self.is_open && now.duration_since(self.last) > OPENING
    }
}

type Failed = <LocalSessionManager as SessionManager>::Error;
type Transport = <LocalSessionManager as SessionManager>::Transport;

impl Default for Sessions {
    fn default() -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        let mut kept = LocalSessionManager::default();
        kept.session_config = config;
        Self { kept, activity: Mutex::default(), most: SESSIONS }
    }
}

impl Sessions {
    /// Records a request of a session's client.
    fn note_activity(&self, id: &SessionId) {
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        // A request does not revive a session that has ended.
        if let Some(session) = activity.get_mut(id) {
            (session.last, session.is_open) = (Instant::now(), true);
        }
    }

    fn begin(&self, id: &SessionId) {
        let begun = SessionActivity { last: Instant::now(), is_open: false, owner: None };
        self.activity.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(id), begun);
    }

    /// Assigns a session to the caller that opened it. The session ends when the caller's access ends.
    pub(crate) fn give_to(self: &Arc<Self>, id: &str, access: Option<&Access>) {
        let ended = CancellationToken::new();
        let owner = Owner { key: access.map(|access| access.key.clone()), _waiting: ended.clone().drop_guard() };
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = activity.get_mut(id) else { return };
        session.owner = Some(owner);
        drop(activity);
        if let Some(access) = access {
            let (sessions, id, end) = (Arc::clone(self), SessionId::from(id), access.end.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = ended.cancelled() => return,
                    () = end.cancelled() => {}
                }
                tracing::info!(session = %id, "a session ends with the access of its caller");
                if let Err(error) = sessions.close_session(&id).await {
                    tracing::warn!(%error, "a session did not end in order");
                }
            });
        }
    }

    /// Returns whether a session belongs to the caller.
    pub(crate) fn is_of(&self, id: &str, access: Option<&Access>) -> bool {
        let activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = activity.get(id).and_then(|session| session.owner.as_ref());
        owner.is_some_and(|owner| owner.key.as_deref() == access.map(|access| access.key.as_str()))
    }

    /// Returns the sessions that have to end to make room for another.
    async fn in_the_way(&self) -> Vec<SessionId> {
        let kept = self.kept.sessions.read().await;
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.retain(|id, _| kept.contains_key(id));
        let now = Instant::now();
        let mut by_age: Vec<_> = activity.iter().map(|(id, seen)| (!seen.is_left(now), seen.last, id)).collect();
        by_age.sort();
        let left = by_age.iter().take_while(|(is_kept, ..)| !is_kept).count();
        let too_many = (kept.len() + 1).saturating_sub(self.most);
        let mut ending: Vec<_> = by_age.into_iter().take(too_many.max(left)).map(|(_, _, id)| Arc::clone(id)).collect();
        let half_open = activity.iter().filter(|(id, session)| !session.is_open && !ending.contains(id));
        let mut half_open: Vec<_> = half_open.map(|(id, session)| (session.last, Arc::clone(id))).collect();
        half_open.sort();
        let too_many = (half_open.len() + 1).saturating_sub(HALF_OPEN);
        ending.extend(half_open.into_iter().take(too_many).map(|(_, id)| id));
        ending
    }
}

impl SessionManager for Sessions {
    type Error = Failed;
    type Transport = Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        for id in self.in_the_way().await {
            tracing::info!(session = %id, "a session ends to make room for another");
            self.close_session(&id).await?;
        }
        let created = self.kept.create_session().await?;
        self.begin(&created.0);
        Ok(created)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.kept.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.kept.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.kept.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.note_activity(id);
        self.kept.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.note_activity(id);
        self.kept.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.note_activity(id);
        self.kept.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.note_activity(id);
        self.kept.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use rmcp::transport::streamable_http_server::session::SessionManager as _;
    use taskyard::core::tools::Scope;
    use tokio_util::sync::CancellationToken;

    use super::{HALF_OPEN, OPENING, Sessions};
    use crate::served_list::Access;

    #[test]
    fn a_session_that_was_begun_and_left_ends_when_another_begins() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sessions = Sessions::default();
            let (left, _one) = sessions.create_session().await.unwrap();
            let (open, _two) = sessions.create_session().await.unwrap();
            sessions.note_activity(&open);
            for session in sessions.activity.lock().unwrap().values_mut() {
                session.last -= OPENING + Duration::from_secs(1);
            }
            let (new, _three) = sessions.create_session().await.unwrap();
            for (session, is_there) in [(&left, false), (&open, true), (&new, true)] {
                assert_eq!(sessions.has_session(session).await.unwrap(), is_there);
            }
        });
    }

    #[test]
    fn few_sessions_wait_for_their_clients_to_go_on() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sessions = Sessions::default();
            let (open, _one) = sessions.create_session().await.unwrap();
            sessions.note_activity(&open);
            let mut transports = Vec::new();
            for _ in 0..HALF_OPEN * 2 {
                transports.push(sessions.create_session().await.unwrap());
            }
            let (first, last) = (&transports[0].0, &transports[HALF_OPEN * 2 - 1].0);
            for (session, is_there) in [(&open, true), (first, false), (last, true)] {
                assert_eq!(sessions.has_session(session).await.unwrap(), is_there);
            }
            assert_eq!(sessions.activity.lock().unwrap().len(), HALF_OPEN + 1);
        });
    }

    #[test]
    fn a_session_is_its_owners_and_ends_with_the_owners_access() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sessions = Arc::new(Sessions::default());
            let (id, _transport) = sessions.create_session().await.unwrap();
            let access = |key: &str| Access {
                scope: Scope::Work,
                key: key.to_owned(),
                name: None,
                end: CancellationToken::new(),
            };
            let (one, two) = (access("one"), access("two"));
            assert!(!sessions.is_of(&id, Some(&one)), "nobody has it yet");
            sessions.give_to(&id, Some(&one));
            assert!(sessions.is_of(&id, Some(&one)));
            assert!(!sessions.is_of(&id, Some(&two)) && !sessions.is_of(&id, None));
            one.end.cancel();
            while sessions.has_session(&id).await.unwrap() {
                tokio::task::yield_now().await;
            }
            assert!(sessions.activity.lock().unwrap().is_empty());
        });
    }

    #[test]
    fn the_session_not_heard_of_for_longest_makes_room() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sessions = Sessions { most: 2, ..Sessions::default() };
            let (first, _one) = sessions.create_session().await.unwrap();
            let (second, _two) = sessions.create_session().await.unwrap();
            sessions.note_activity(&first);
            let (third, _three) = sessions.create_session().await.unwrap();
            for (session, is_there) in [(&first, true), (&second, false), (&third, true)] {
                assert_eq!(sessions.has_session(session).await.unwrap(), is_there);
            }
            assert_eq!(sessions.activity.lock().unwrap().len(), 2);
        });
    }
}
