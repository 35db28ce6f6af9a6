//! The server over HTTP: what answers at `/mcp`. Who may come in is decided before, in `serve/`.

use std::sync::Arc;

use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::hub::Hub;
use super::sessions::Sessions;

/// The largest request that is read.
const LARGEST_REQUEST: usize = 1024 * 1024;

/// Returns what answers MCP requests, until it is stopped.
pub(crate) fn service(hub: Arc<Hub>, stop: CancellationToken) -> StreamableHttpService<Connection, Sessions> {
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(stop)
        .with_max_request_body_bytes(LARGEST_REQUEST)
        // Hosts and origins are looked at before, for every path alike.
        .disable_allowed_hosts();
    StreamableHttpService::new(move || Ok(Connection::new(Arc::clone(&hub))), Arc::default(), config)
}
