//! The server over HTTP: what answers at `/mcp`. Who may come in is decided before, in `serve/`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::hub::Hub;

/// A session that is not heard of for this long ends.
const IDLE: Duration = Duration::from_secs(3600);
/// So many sessions and requests outside of sessions there may be at once.
const CONNECTIONS: usize = 1_000;
/// The largest request that is read.
const LARGEST_REQUEST: usize = 1024 * 1024;

/// Returns what answers MCP requests, until it is stopped.
pub(crate) fn service(
    hub: Arc<Hub>,
    stop: CancellationToken,
) -> StreamableHttpService<Connection, LocalSessionManager> {
    let mut session = SessionConfig::default();
    session.keep_alive = Some(IDLE);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config = session;
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(stop)
        .with_max_request_body_bytes(LARGEST_REQUEST)
        // Hosts and origins are looked at before, for every path alike.
        .disable_allowed_hosts();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let connect = move || match Arc::clone(&room).try_acquire_owned() {
        Ok(permit) => Ok(Connection::new(Arc::clone(&hub)).holding(permit)),
        Err(_) => Err(io::Error::other("too many connections at once")),
    };
    StreamableHttpService::new(connect, Arc::new(sessions), config)
}
