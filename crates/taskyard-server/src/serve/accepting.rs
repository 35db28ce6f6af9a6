//! Accepting connections and answering their requests, with limits on number and time.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::http::{HeaderValue, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use taskyard_mcp::drop_at_the_end;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::first_bytes::FirstBytes;
use super::tls::Tls;
use super::write_deadline::WriteDeadline;
use crate::connections::{Connections, Entered, Standing, Visit};
use crate::web::{Peer, Unsent};

/// How long a client may take to authenticate.
const STRANGER: Duration = Duration::from_secs(10);
/// How long an authenticated client may take until the head of its next request is complete, including idle time.
const HEAD: Duration = Duration::from_secs(60);
/// Maximum size of a request's head in bytes, and of each connection's buffer.
const LARGEST_HEAD: usize = 64 * 1024;
/// Pause after a failed accept: there may be no file descriptor available.
const AFTER_A_FAILURE: Duration = Duration::from_millis(50);

/// Answers requests until stopped, then waits for those in progress.
pub(super) async fn accept(
    socket: TcpListener,
    rooms: Router,
    tls: Option<Tls>,
    open_files: usize,
    stop: CancellationToken,
) {
    let connections = Connections::new(open_files);
    let accepting = async {
        loop {
            match socket.accept().await {
                Ok((stream, peer)) => {
                    let entered = connections.enter().await;
                    let (rooms, stop, peer) = (rooms.clone(), stop.clone(), Peer(peer.ip().to_canonical()));
                    tokio::spawn(take_up(stream, tls.clone(), entered, peer, rooms, stop));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken up");
                    tokio::time::sleep(AFTER_A_FAILURE).await;
                }
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop.cancelled() => {}
    }
    connections.all_ended().await;
}

/// Accepts one connection. A TLS handshake must complete within [`STRANGER`].
async fn take_up(
    stream: TcpStream,
    tls: Option<Tls>,
    entered: Entered,
    peer: Peer,
    rooms: Router,
    stop: CancellationToken,
) {
    // Answers are sent in several small parts, which Nagle's algorithm would delay.
    let _ = stream.set_nodelay(true);
    let stream = FirstBytes::noted(stream, Visit::clone(&entered));
    let Some(tls) = tls else { return attend(stream, entered, peer, rooms, stop).await };
    let encrypting = tokio::time::timeout(STRANGER, tls.acceptor().accept(stream));
    let encrypted = tokio::select! {
        encrypted = encrypting => encrypted,
        () = entered.end().cancelled() => return,
        () = stop.cancelled() => return,
    };
    match encrypted {
        Ok(Ok(stream)) => attend(stream, entered, peer, rooms, stop).await,
        Ok(Err(error)) => tracing::debug!(%error, "a connection could not be encrypted"),
        Err(_) => tracing::debug!("a connection took too long to be encrypted"),
    }
}

/// Answers the requests of one connection.
async fn attend<S>(stream: S, entered: Entered, peer: Peer, rooms: Router, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let unsent = Unsent::default();
    let answering = {
        let (visit, unsent) = (Visit::clone(&entered), unsent.clone());
        service_fn(move |request| answer(request, rooms.clone(), visit.clone(), peer, unsent.clone()))
    };
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(LARGEST_HEAD);
    let mut served = pin!(server.serve_connection(TokioIo::new(WriteDeadline::of(stream, unsent)), answering));
    let mut proving = pin!(tokio::time::sleep(STRANGER));
    let (mut is_proved, mut is_leaving) = (false, false);
    loop {
        tokio::select! {
            result = &mut served => {
                return result.unwrap_or_else(|error| tracing::debug!(%error, "a connection ended early"));
            }
            () = entered.end().cancelled() => return,
            () = &mut proving, if !is_proved => match entered.is_of_stranger() {
                true => return,
                false => is_proved = true,
            },
            () = either(&stop, entered.leave()), if !is_leaving => {
                is_leaving = true;
                served.as_mut().graceful_shutdown();
            }
        }
    }
}

async fn either(one: &CancellationToken, other: &CancellationToken) {
    tokio::select! {
        () = one.cancelled() => {}
        () = other.cancelled() => {}
    }
}

async fn answer(
    mut request: Request<Incoming>,
    rooms: Router,
    visit: Visit,
    peer: Peer,
    unsent: Unsent,
) -> Result<Response, Infallible> {
    request.extensions_mut().insert(visit.clone());
    request.extensions_mut().insert(peer);
    let mut response = unsent.follow(TowerToHyperService::new(rooms).call(request).await?);
    if visit.is_of_stranger() {
        return Ok(response);
    }
    if response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        visit.is_now(Standing::Streaming);
    }
    if visit.connections().are_many() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(drop_at_the_end(response, AnswerOver(visit)))
}

/// Marks the connection as idle on drop.
struct AnswerOver(Visit);

impl Drop for AnswerOver {
    fn drop(&mut self) {
        self.0.is_now(Standing::Idle);
    }
}
