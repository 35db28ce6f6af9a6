//! The server over HTTP: what answers at `/mcp`. Who may come in is decided before, in `serve/`.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::admission::Admissions;
use super::caller::Access;
use super::connection::Connection;
use super::hosts::Hosts;
use super::hub::Hub;
use super::messages::{self, Fault};
use super::sessions::Sessions;
use crate::response_end::drop_at_the_end;

/// The largest request that is read.
const LARGEST_REQUEST: usize = 1024 * 1024;
/// The largest `initialize`.
const LARGEST_GREETING: usize = 16 * 1024;
/// So long its body may take to come.
const BODY: Duration = Duration::from_secs(30);
const JSON: &str = "application/json";

/// Returns what answers MCP requests for loopback hosts, until it is stopped. Claims live by time, whatever the options of the hub say.
pub fn answering(hub: Hub, stop: CancellationToken) -> Router {
    answering_to(Hosts::loopback(), hub, stop)
}

/// Returns what answers MCP requests for some hosts, until it is stopped. Claims live by time, whatever the options of the hub say.
pub fn answering_to(hosts: Hosts, hub: Hub, stop: CancellationToken) -> Router {
    let hub = Arc::new(hub.with_leases_by_time());
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(stop)
        .with_max_request_body_bytes(LARGEST_REQUEST)
        // We judge hosts and origins ourselves.
        .disable_allowed_hosts();
    let sessions: Arc<Sessions> = Arc::default();
    let service: StreamableHttpService<Connection, Sessions> =
        StreamableHttpService::new(move || Ok(Connection::new(Arc::clone(&hub))), Arc::clone(&sessions), config);
    let service = Router::new().fallback_service(service);
    let service = service.layer(from_fn_with_state(Admissions::default(), take_up));
    service.layer(from_fn_with_state(sessions, keep_to_own)).layer(from_fn_with_state(hosts, keep_to_hosts))
}

/// Answers no request for another host, and none from a page of another one.
async fn keep_to_hosts(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match hosts.judge(&head) {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(status) => status.into_response(),
    }
}

/// Lets a request come to no session but one of its caller's own, and gives the caller the session that it opens.
async fn keep_to_own(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    let access = request.extensions().get::<Access>().cloned();
    let named = request.headers().get(HEADER_SESSION_ID).map(|session| session.to_str().unwrap_or_default());
    if named.is_some_and(|session| !sessions.is_of(session, access.as_ref())) {
        // The protocol's answer to a session that does not exist.
        return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
    }
    let response = next.run(request).await;
    if let Some(opened) = response.headers().get(HEADER_SESSION_ID).and_then(|session| session.to_str().ok()) {
        sessions.give_to(opened, access.as_ref());
    }
    response
}

/// Reads the message of a request, and passes it on when it is its turn. What is no message is told so here.
async fn take_up(State(admissions): State<Admissions>, request: Request, next: Next) -> Response {
    let is_message = request.method() == Method::POST && is_json(request.headers());
    // Everything else has nothing to read, or is turned away without reading it.
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
        Ok(Ok(bytes)) => messages::with_whole_characters(bytes.into()),
        Ok(Err(_)) if length.is_none() => return too_large(LARGEST_REQUEST),
        // A client that broke off hears nothing of it.
        Ok(Err(_)) => return told(StatusCode::BAD_REQUEST, Fault::unreadable("the request ends too early")),
        Err(_) => return told(StatusCode::REQUEST_TIMEOUT, Fault::unreadable("the request took too long to come")),
    };
    match messages::read(&bytes) {
        Ok(Some(ClientJsonRpcMessage::Request(asked))) => {
            // What a client says of itself is kept as long as its session.
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
            return told(StatusCode::BAD_REQUEST, Fault::unreadable("there is no message"));
        }
        // A notification that means nothing to us.
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
    let fault = Fault::unreadable(&format!("a request may have {largest} bytes"));
    ([(CONNECTION, "close")], told(StatusCode::PAYLOAD_TOO_LARGE, fault)).into_response()
}

fn told(status: StatusCode, fault: Fault) -> Response {
    (status, [(CONTENT_TYPE, JSON)], fault.into_json().to_string()).into_response()
}
