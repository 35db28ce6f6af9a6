//! A server over HTTP, and requests made by hand: official clients send nothing that is wrong.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard_testkit::{Home, PATIENCE, Process, Program};

/// A running `taskyard serve`.
pub(crate) struct Served {
    child: Process,
    /// Where it listens, `127.0.0.1:1234` say.
    pub(crate) address: String,
    /// What lets one in.
    pub(crate) token: String,
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) body: String,
}

/// A connection over which requests go, one after the other.
pub(crate) struct Line {
    stream: BufReader<TcpStream>,
    address: String,
    token: String,
    /// The session, where the older versions are spoken.
    session: Option<String>,
    agent: String,
    next: u64,
}

impl Served {
    /// Starts a server in a home, on any port.
    pub(crate) fn start(home: &Home) -> Self {
        Self::spawn(home.command("serve --port 0 --json"))
    }

    /// Starts a server with flags, on any port.
    pub(crate) fn with(home: &Home, flags: &str) -> Self {
        Self::spawn(home.command(&format!("serve --port 0 --json {flags}")))
    }

    /// Starts a server on a store, on any port.
    pub(crate) fn on_store(home: &Home, store: &str) -> Self {
        let mut command = home.command("serve --port 0 --json");
        command.env("TASKYARD_STORE", store);
        Self::spawn(command)
    }

    /// Starts a server that may open so many files.
    pub(crate) fn with_open_files(home: &Home, files: usize) -> Self {
        let server = home.command("serve --port 0 --json");
        Self::spawn(server.limited(&format!("ulimit -n {files}")))
    }

    fn spawn(mut command: Program) -> Self {
        command.env_remove("TASKYARD_AGENT").stderr(Stdio::inherit());
        let mut child = command.start();
        let told = child.json().unwrap();
        let token = std::fs::read_to_string(told["tokenFile"].as_str().unwrap()).unwrap().trim().to_owned();
        let address = told["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Self { child, address, token }
    }

    /// Returns the address of the MCP server.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the process, and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.child.wait().code()
    }

    /// Opens a connection in the older way, with a session.
    pub(crate) fn session(&self, agent: &str) -> Line {
        self.session_with(&self.token, agent)
    }

    /// Opens a connection with a session, and proves with another token.
    pub(crate) fn session_with(&self, token: &str, agent: &str) -> Line {
        let mut line = self.half_session_with(token, agent);
        let told = line.post(&[], br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(told.status, 202, "{told:?}");
        line
    }

    /// Begins a session, and does not say that the client is ready.
    pub(crate) fn half_session(&self, agent: &str) -> Line {
        self.half_session_with(&self.token, agent)
    }

    fn half_session_with(&self, token: &str, agent: &str) -> Line {
        let mut line = self.line_with(token, agent);
        let client = json!({ "name": "claude-code", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = line.post(&[], message.to_string().as_bytes());
        assert_eq!(response.status, 200, "{response:?}");
        line.session = response.session;
        assert!(line.session.is_some());
        line
    }

    /// Opens a connection on which every request stands for itself.
    pub(crate) fn line(&self, agent: &str) -> Line {
        self.line_with(&self.token, agent)
    }

    /// Opens such a connection, and proves with another token.
    pub(crate) fn line_with(&self, token: &str, agent: &str) -> Line {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Line {
            stream: BufReader::new(stream),
            address: self.address.clone(),
            token: token.to_owned(),
            session: None,
            agent: agent.to_owned(),
            next: 0,
        }
    }
}

impl Line {
    /// Calls a tool and returns the whole result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.try_call(tool, arguments).unwrap_or_else(|response| panic!("no answer: {response:?}"))
    }

    /// Calls a tool; what came instead where that is no result.
    pub(crate) fn try_call(&mut self, tool: &str, arguments: Value) -> Result<Value, Response> {
        self.begin_call(tool, arguments);
        let response = self.response();
        let data = response.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
        let answer = messages.find(|message| message["id"] == self.next && message.get("method").is_none());
        answer.map(|answer| answer["result"].clone()).ok_or(response)
    }

    /// Calls a tool without waiting for the answer.
    pub(crate) fn begin_call(&mut self, tool: &str, arguments: Value) {
        self.next += 1;
        let mut meta = json!({ "taskyard/agent": self.agent });
        let mut headers = Vec::new();
        if self.session.is_none() {
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "tester", "version": "1" });
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
            headers.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)]);
        }
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let message = json!({ "jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params });
        self.send_with_proof(&headers, message.to_string().as_bytes());
    }

    /// Asks something, and returns the result.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        let response = self.post(&[], message.to_string().as_bytes());
        let data = response.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
        let answer = messages.find(|message| message["id"] == self.next && message.get("method").is_none());
        answer.unwrap_or_else(|| panic!("no answer: {response:?}"))["result"].clone()
    }

    /// Proves with another token from now on.
    pub(crate) fn proving(self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self }
    }

    /// Makes a request of the session that carries no message.
    pub(crate) fn bare(&mut self, method: &str) -> Response {
        let (host, proof) = (self.address.clone(), format!("Bearer {}", self.token));
        let session = self.session.clone().unwrap();
        self.send(method, &[("Host", &host), ("Authorization", &proof), ("Mcp-Session-Id", &session)], b"");
        self.response()
    }

    /// Sends a message with all that is needed, and what is given beyond.
    pub(crate) fn post(&mut self, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.send_with_proof(headers, body);
        self.response()
    }

    fn send_with_proof(&mut self, headers: &[(&str, &str)], body: &[u8]) {
        let (host, proof) = (self.address.clone(), format!("Bearer {}", self.token));
        let mut all = vec![("Host", host.as_str()), ("Authorization", proof.as_str())];
        let session = self.session.clone();
        all.extend(session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        all.extend(headers);
        self.send("POST", &all, body);
    }

    /// Sends a message with these headers and those of the content alone.
    pub(crate) fn post_as(&mut self, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.send("POST", headers, body);
        self.response()
    }

    /// Ends the session.
    pub(crate) fn end_session(&mut self) {
        let (host, proof) = (self.address.clone(), format!("Bearer {}", self.token));
        let session = self.session.take().unwrap();
        self.send("DELETE", &[("Host", &host), ("Authorization", &proof), ("Mcp-Session-Id", &session)], b"");
        assert_eq!(self.response().status, 202);
    }

    /// Opens the stream on which the server speaks unasked, and returns when it has begun.
    pub(crate) fn open_stream(&mut self) {
        let (host, proof) = (self.address.clone(), format!("Bearer {}", self.token));
        let session = self.session.clone().unwrap();
        self.send("GET", &[("Host", &host), ("Authorization", &proof), ("Mcp-Session-Id", &session)], b"");
        self.is_answered();
    }

    /// Waits until an answer has begun.
    pub(crate) fn is_answered(&mut self) {
        assert!(self.header_line().contains("200"));
    }

    /// Reads a stream to its end, which is a chunk without bytes.
    pub(crate) fn read_to_the_end(&mut self) {
        while self.header_line() != "0" {}
    }

    /// Returns another connection to the same session.
    pub(crate) fn beside(&self, served: &Served) -> Self {
        Self { session: self.session.clone(), ..served.line(&self.agent) }
    }

    /// Sends a request whose line is written as given.
    pub(crate) fn ask_for(&mut self, line: &str, headers: &[(&str, &str)]) -> Response {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        self.write(format!("{line}\r\n{headers}Content-Length: 0\r\n\r\n").as_bytes());
        self.response()
    }

    fn send(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut request = format!("{method} /mcp HTTP/1.1\r\nContent-Type: application/json\r\n");
        request.push_str("Accept: application/json, text/event-stream\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body);
        // A server that refuses a large body may close before it has read all of it.
        let _ = self.stream.get_mut().write_all(&bytes);
    }

    /// Sends bytes as they are. A server that has closed cannot be written to.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let _ = self.stream.get_mut().write_all(bytes);
    }

    /// Waits for an answer; one without a status where the server has closed.
    pub(crate) fn response(&mut self) -> Response {
        let status = self.header_line().split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        let (mut session, mut length, mut is_chunked) = (None, None, false);
        loop {
            let line = self.header_line();
            let Some((name, value)) = line.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "mcp-session-id" => session = Some(value.trim().to_owned()),
                "content-length" => length = value.trim().parse::<usize>().ok(),
                "transfer-encoding" => is_chunked = value.trim() == "chunked",
                _ => {}
            }
        }
        let mut body = Vec::new();
        if is_chunked {
            while let Ok(size @ 1..) = usize::from_str_radix(self.header_line().trim(), 16) {
                self.take(size, &mut body);
                self.header_line();
            }
            self.header_line();
        } else {
            self.take(length.unwrap_or_default(), &mut body);
        }
        Response { status, session, body: String::from_utf8_lossy(&body).into_owned() }
    }

    fn take(&mut self, size: usize, body: &mut Vec<u8>) {
        let from = body.len();
        body.resize(from + size, 0);
        self.stream.read_exact(&mut body[from..]).unwrap();
    }

    fn header_line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.stream.read_line(&mut line);
        line.trim_end().to_owned()
    }
}

/// Waits a moment between two looks at something outside.
pub(crate) fn a_moment() {
    std::thread::sleep(Duration::from_millis(20));
}
