//! Messages on a pipe, one to a line: none is read while too many are being answered, and each that is none is told so.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

use super::id_scanner::IdScanner;
use super::messages::{self, Fault};

/// A longer message is not read. The largest input that is of use is a task's file, and those are smaller.
const LONGEST_MESSAGE: usize = 8 * 1024 * 1024;
/// So many requests are answered at once; the next is read when one of them is.
const REQUESTS: usize = 256;
/// So many bytes they may have together.
const BYTES: usize = 16 * 1024 * 1024;
/// So many bytes are read at once.
const PORTION: usize = 16 * 1024;

/// Messages on two pipes.
pub(crate) struct Lines<R, W> {
    input: R,
    /// What was read and not looked at.
    portion: Vec<u8>,
    line: Vec<u8>,
    /// Looks for the id of a message that is too long, while the rest of its line is passed over.
    passed_over: Option<IdScanner>,
    is_over: bool,
    output: Arc<tokio::sync::Mutex<Option<W>>>,
    unanswered: Arc<Unanswered>,
    /// The answer to something that is no message, on its way. It is finished before anything else is read.
    answering: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

/// The requests that are being answered, with how long they are.
#[derive(Default)]
struct Unanswered {
    requests: Mutex<HashMap<RequestId, usize>>,
    answered: Notify,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    /// Returns what speaks over two pipes.
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

    /// Reads to the end of a line, or of the input; none when there is nothing more. Dropped half-way, it goes on the next time.
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

    /// Reads one message; none where the line holds none that goes on.
    fn message(&self, line: Vec<u8>) -> Result<Option<ClientJsonRpcMessage>, Fault> {
        let length = line.len();
        let message = messages::read(&messages::with_whole_characters(line))?;
        match &message {
            Some(ClientJsonRpcMessage::Request(request)) if !self.unanswered.begin(&request.id, length) => {
                return Err(Fault::id_in_use(request.id.clone().into_json_value()));
            }
            // A request that is no longer wanted is not answered.
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
    /// Begins a request; returns whether its id is free.
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

    /// Waits until another request can be taken up.
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
