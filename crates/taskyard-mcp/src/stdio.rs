//! The server on standard input and output.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::service::ServerInitializeError;
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, ServiceExt as _};
use taskyard::blocking::forbid_blocking;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::hub::Hub;
use super::lines::Lines;
use crate::error::ServeError;

/// How long calls that are still being made when the client leaves have to come to an end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one client until it leaves.
pub fn serve_stdio(hub: Hub) -> Result<(), ServeError> {
    let hub = Arc::new(hub);
    // One thread suffices for what comes and goes: calls are made on threads of their own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(ServeError::Start)?;
    let passing_messages = forbid_blocking();
    let served = runtime.block_on(serve(Arc::clone(&hub)));
    drop(passing_messages);
    hub.cancel.cancel();
    runtime.shutdown_timeout(PATIENCE);
    hub.end_signs();
    served
}

async fn serve(hub: Arc<Hub>) -> Result<(), ServeError> {
    let (input, output) = stdio_pipes();
    let stop = CancellationToken::new();
    let _attendance = hub.cancel.attend();
    let _stopped = hub.cancel.on_cancel({
        let stop = stop.clone();
        move || stop.cancel()
    });
    let transport = Lines::new(input, output);
    let failed = |error: &dyn std::fmt::Display| ServeError::Connection(error.to_string());
    let connection = Connection::new(hub);
    let transport = Opening { transport, is_over: false, left: connection.left().clone() };
    match connection.serve_with_ct(transport, stop).await {
        Ok(service) => service.waiting().await.map(drop).map_err(|error| failed(&error)),
        // A client that leaves before it has said anything is no problem of ours.
        Err(
            ServerInitializeError::ConnectionClosed(_)
            | ServerInitializeError::TransportError { .. }
            | ServerInitializeError::Cancelled,
        ) => Ok(()),
        Err(error) => Err(failed(&error)),
    }
}

/// Passes messages on. What is no request is left out until a client has said which version it speaks: it cannot mean
/// anything by then, and must not end the connection.
struct Opening<T> {
    transport: T,
    is_over: bool,
    left: CancellationToken,
}

impl<T: Transport<RoleServer, Error = io::Error>> Transport<RoleServer> for Opening<T> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(message) = self.transport.receive().await else {
                self.left.cancel();
                return None;
            };
            match &message {
                _ if self.is_over => return Some(message),
                ClientJsonRpcMessage::Request(request) => {
                    self.is_over = opens(&request.request);
                    return Some(message);
                }
                _ => tracing::debug!("a message that came too early is left out"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

/// Tells whether a request settles which version is spoken.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
    }
}
