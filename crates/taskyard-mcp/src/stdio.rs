//! The server on standard input and output, with one message per line.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta as _, ProtocolVersion, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::ServerInitializeError;
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, ServiceExt as _};
use taskyard::system::forbid_blocking;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::hub::Hub;
use crate::host::ServeError;
use crate::json_rpc;
use crate::json_rpc::{Fault, IdScanner};

/// How long calls in progress have to finish after the client has left.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one client until it leaves.
pub fn serve_stdio(hub: Hub) -> Result<(), ServeError> {
    let hub = Arc::new(hub);
    // One thread is enough for I/O: calls are made on separate threads.
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
        // A client that leaves before it has sent anything is not an error.
        Err(
            ServerInitializeError::ConnectionClosed(_)
            | ServerInitializeError::TransportError { .. }
            | ServerInitializeError::Cancelled,
        ) => Ok(()),
        Err(error) => Err(failed(&error)),
    }
}

/// Passes messages on, but drops anything other than requests until a client has settled the protocol version: it is
/// meaningless before that, and must not end the connection.
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

/// Returns whether a request settles the protocol version.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
    }
}

/// The maximum length of a message. The largest useful input is a task file, which is smaller.
const LONGEST_MESSAGE: usize = 8 * 1024 * 1024;
/// The maximum number of requests in progress; the next one is read when one is answered.
const REQUESTS: usize = 256;
/// The maximum total size of requests in progress, in bytes.
const BYTES: usize = 16 * 1024 * 1024;
/// The size of a read in bytes.
const PORTION: usize = 16 * 1024;

/// Messages over two pipes.
pub(crate) struct Lines<R, W> {
    input: R,
    /// Input that was read and not processed yet.
    portion: Vec<u8>,
    line: Vec<u8>,
    /// Scans for the id of a message that is too long, while the rest of its line is skipped.
    passed_over: Option<IdScanner>,
    is_over: bool,
    output: Arc<tokio::sync::Mutex<Option<W>>>,
    unanswered: Arc<Unanswered>,
    /// The error being sent for an invalid message. It is finished before anything else is read.
    answering: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

/// The requests in progress, with their lengths.
#[derive(Default)]
struct Unanswered {
    requests: Mutex<HashMap<RequestId, usize>>,
    answered: Notify,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    pub(crate) fn new(input: R, output: W) -> Self {
        Self {
            input,
            portion: Vec::new(),
            line: Vec::new(),
            passed_over: None,
            is_over: false,
            output: Arc::new(tokio::sync::Mutex::new(Some(output))),
            unanswered: Arc::default(),
            answering: None,
        }
    }

    /// Reads to the end of a line, or of the input; `None` at the end of input. If dropped half way, it continues the
    /// next time.
    async fn line(&mut self) -> Option<Result<Vec<u8>, Fault>> {
        loop {
            if let Some(end) = self.portion.iter().position(|byte| *byte == b'\n') {
                let rest = self.portion.split_off(end + 1);
                let mut last = std::mem::replace(&mut self.portion, rest);
                last.pop();
                self.keep(&last);
                return Some(self.finished_line());
            }
            let part = std::mem::take(&mut self.portion);
            self.keep(&part);
            if self.is_over {
                let is_nothing = self.line.is_empty() && self.passed_over.is_none();
                return if is_nothing { None } else { Some(self.finished_line()) };
            }
            self.portion.reserve(PORTION);
            match self.input.read_buf(&mut self.portion).await {
                Ok(0) => self.is_over = true,
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot read from the client");
                    self.is_over = true;
                }
            }
        }
    }

    fn keep(&mut self, part: &[u8]) {
        if let Some(scanner) = &mut self.passed_over {
            return scanner.scan(part);
        }
        if self.line.len() + part.len() > LONGEST_MESSAGE {
            let scanner = self.passed_over.insert(IdScanner::default());
            scanner.scan(&std::mem::take(&mut self.line));
            scanner.scan(part);
            return;
        }
        self.line.extend_from_slice(part);
    }

    fn finished_line(&mut self) -> Result<Vec<u8>, Fault> {
        match self.passed_over.take() {
            Some(scanner) => Err(Fault::too_long(LONGEST_MESSAGE, scanner.id())),
            None => Ok(std::mem::take(&mut self.line)),
        }
    }

    /// Parses one message; `None` if the line has none to pass on.
    fn message(&self, line: Vec<u8>) -> Result<Option<ClientJsonRpcMessage>, Fault> {
        let length = line.len();
        let message = json_rpc::read(&json_rpc::with_whole_characters(line))?;
        match &message {
            Some(ClientJsonRpcMessage::Request(request)) if !self.unanswered.begin(&request.id, length) => {
                return Err(Fault::id_in_use(request.id.clone().into_json_value()));
            }
            // A cancelled request is not answered.
            Some(ClientJsonRpcMessage::Notification(told)) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(request) = &cancelled.params.request_id
                {
                    self.unanswered.end(request);
                }
            }
            _ => {}
        }
        Ok(message)
    }
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<R, W> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (output, unanswered) = (Arc::clone(&self.output), Arc::clone(&self.unanswered));
        async move {
            let answered = match &message {
                ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
                ServerJsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let written = match serde_json::to_vec(&message) {
                Ok(line) => write(&output, line).await,
                Err(error) => Err(error.into()),
            };
            if let Some(request) = answered {
                unanswered.end(&request);
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(answering) = &mut self.answering {
                let answered = answering.await;
                self.answering = None;
                answered.ok()?;
            }
            self.unanswered.room().await;
            let line = self.line().await?;
            match line.and_then(|line| self.message(line)) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(fault) => {
                    let (output, line) = (Arc::clone(&self.output), fault.into_json().to_string().into_bytes());
                    self.answering = Some(Box::pin(async move { write(&output, line).await }));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}

impl Unanswered {
    /// Registers a request; returns whether its id is free.
    fn begin(&self, request: &RequestId, length: usize) -> bool {
        let mut requests = self.requests();
        let is_free = !requests.contains_key(request);
        if is_free {
            requests.insert(request.clone(), length);
        }
        is_free
    }

    fn end(&self, request: &RequestId) {
        self.requests().remove(request);
        self.answered.notify_one();
    }

    /// Waits until another request can be accepted.
    async fn room(&self) {
        loop {
            {
                let requests = self.requests();
                if requests.len() < REQUESTS && requests.values().sum::<usize>() < BYTES {
                    return;
                }
            }
            self.answered.notified().await;
        }
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, usize>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write<W: AsyncWrite + Unpin>(output: &tokio::sync::Mutex<Option<W>>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    let output = output.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
    output.write_all(&line).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
    use rmcp::transport::Transport as _;
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split};

    use super::{Lines, REQUESTS};

    type Server = Lines<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

    /// Returns a server that has been sent some input, and its client.
    async fn sent(bytes: &[u8]) -> (Server, DuplexStream) {
        let (mut client, server) = duplex(1 << 20);
        client.write_all(bytes).await.unwrap();
        let (input, output) = split(server);
        (Lines::new(input, output), client)
    }

    fn ping(id: usize) -> String {
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string()
    }

    async fn next_id(server: &mut Server) -> Option<Value> {
        match server.receive().await? {
            ClientJsonRpcMessage::Request(request) => Some(request.id.into_json_value()),
            other => panic!("{other:?}"),
        }
    }

    async fn answer(server: &mut Server, id: usize) {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        server.send(serde_json::from_value::<ServerJsonRpcMessage>(answer).unwrap()).await.unwrap();
    }

    /// Closes the server and returns what it sent.
    async fn said(mut server: Server, mut client: DuplexStream) -> Vec<Value> {
        server.close().await.unwrap();
        drop(server);
        let mut said = String::new();
        client.read_to_string(&mut said).await.unwrap();
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn each_line_is_a_message_or_is_refused() {
        let text = format!("{}\r\n\nno json\n{}", ping(1), ping(2));
        let (mut server, mut client) = sent(text.as_bytes()).await;
        client.shutdown().await.unwrap();
        assert_eq!(next_id(&mut server).await, Some(json!(1)));
        assert_eq!(next_id(&mut server).await, Some(json!(2)), "the last line needs no end");
        assert_eq!(next_id(&mut server).await, None);
        let said = said(server, client).await;
        let codes: Vec<&Value> = said.iter().map(|said| &said["error"]["code"]).collect();
        assert_eq!(codes, [&json!(-32700)]);
    }

    #[tokio::test]
    async fn id_of_an_unanswered_request_is_not_free() {
        let text = format!("{}\n{}\n{}\n", ping(1), ping(1), ping(2));
        let (mut server, mut client) = sent(text.as_bytes()).await;
        assert_eq!(next_id(&mut server).await, Some(json!(1)));
        assert_eq!(next_id(&mut server).await, Some(json!(2)));
        answer(&mut server, 1).await;
        client.write_all(format!("{}\n", ping(1)).as_bytes()).await.unwrap();
        assert_eq!(next_id(&mut server).await, Some(json!(1)));
        let said = said(server, client).await;
        assert_eq!((&said[0]["error"]["code"], &said[0]["id"]), (&json!(-32600), &json!(1)));
        assert_eq!((said.len(), &said[1]["result"]), (2, &json!({})));
    }

    #[tokio::test]
    async fn no_request_is_read_while_too_many_are_unanswered() {
        let text: String = (0..=REQUESTS).map(|id| format!("{}\n", ping(id))).collect();
        let (mut server, client) = sent(text.as_bytes()).await;
        for id in 0..REQUESTS {
            assert_eq!(next_id(&mut server).await, Some(json!(id)));
        }
        let is_pending = pin!(server.receive()).poll(&mut Context::from_waker(Waker::noop())).is_pending();
        assert!(is_pending);
        answer(&mut server, 7).await;
        assert_eq!(next_id(&mut server).await, Some(json!(REQUESTS)));
        drop(client);
    }

    #[tokio::test]
    async fn cancelled_request_makes_room_for_another() {
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        let text = format!("{}\n{cancel}\n{}\n", ping(1), ping(1));
        let (mut server, client) = sent(text.as_bytes()).await;
        assert_eq!(next_id(&mut server).await, Some(json!(1)));
        let told = server.receive().await;
        assert!(matches!(told, Some(ClientJsonRpcMessage::Notification(_))), "{told:?}");
        assert_eq!(next_id(&mut server).await, Some(json!(1)));
        drop(client);
    }
}
