//! A server, and requests made by hand: programs that speak HTTP for us send nothing that is wrong.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard_testkit::{Home, PATIENCE, Process, Program};

use crate::web::contract::Contract;

/// A running `taskyard serve`.
pub(crate) struct Served {
    child: Process,
    /// Where it listens, `127.0.0.1:1234` say.
    pub(crate) address: String,
    /// What lets one in.
    pub(crate) token: String,
    /// The link that lets a browser in.
    pub(crate) link: String,
}

/// An answer over HTTP.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// A connection over which requests go, one after the other.
pub(crate) struct Line {
    pub(crate) stream: BufReader<TcpStream>,
    address: String,
    token: String,
}

impl Served {
    /// Starts a server in a home, on any port.
    pub(crate) fn start(home: &Home) -> Self {
        Self::with(home, "")
    }

    /// Starts a server with flags, on any port unless they say otherwise.
    pub(crate) fn with(home: &Home, flags: &str) -> Self {
        let port = if flags.contains("--port") { "" } else { "--port 0" };
        Self::spawn(home.command(&format!("serve {port} --json {flags}")))
    }

    /// Starts a server by a command.
    pub(crate) fn spawn(mut command: Program) -> Self {
        command.env_remove("TASKYARD_AGENT").env("USER", "uma").stderr(Stdio::inherit());
        let mut child = command.start();
        let told = child.json().unwrap();
        let token = std::fs::read_to_string(told["tokenFile"].as_str().unwrap()).unwrap().trim().to_owned();
        let address = told["url"].as_str().unwrap().split_once("://").unwrap().1.to_owned();
        Self { child, address, token, link: told["link"].as_str().unwrap().to_owned() }
    }

    /// Returns the id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        self.address.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Sends the process a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        self.child.signal(signal);
    }

    /// Waits for the end of the process, and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.child.wait().code()
    }

    /// Opens a connection.
    pub(crate) fn line(&self) -> Line {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Line { stream: BufReader::new(stream), address: self.address.clone(), token: self.token.clone() }
    }

    /// Opens a connection that proves with another token.
    pub(crate) fn line_with(&self, token: &str) -> Line {
        Line { token: token.to_owned(), ..self.line() }
    }

    /// Returns what its answers are held against.
    pub(crate) fn contract(&self) -> Contract {
        let described = self.line().get("/api/v1/openapi.json");
        assert_eq!(described.status, 200);
        Contract::of(described.json())
    }

    /// Returns how much memory the process has, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }
}

impl Line {
    /// Asks for something.
    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.ask("GET", path, &[], None)
    }

    /// Does something, with a body.
    pub(crate) fn post(&mut self, path: &str, body: Value) -> Response {
        self.ask("POST", path, &[], Some(body))
    }

    /// Does something, which has to succeed, and returns the answer.
    pub(crate) fn done(&mut self, path: &str, body: Value) -> Value {
        let response = self.post(path, body);
        assert!((200..300).contains(&response.status), "{path}: {response:?}");
        response.json()
    }

    /// Makes a task, and returns its id.
    pub(crate) fn create(&mut self, subject: &str) -> String {
        let made = self.done("/api/v1/lists/L/tasks", json!({ "subject": subject }));
        made["task"]["id"].as_str().unwrap().to_owned()
    }

    /// Makes a request with the token, and headers besides.
    pub(crate) fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<Value>) -> Response {
        let (host, token) = (self.address.clone(), format!("Bearer {}", self.token));
        let mut all = vec![("Host", host.as_str()), ("Authorization", token.as_str())];
        if body.is_some() {
            all.push(("Content-Type", "application/json"));
        }
        all.extend_from_slice(headers);
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.bare(method, path, &all, body.as_bytes())
    }

    /// Makes a request with these headers and no others.
    pub(crate) fn bare(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.send(method, path, headers, body);
        // The answer to a HEAD names the length of a body that does not come.
        if method == "HEAD" {
            let (status, headers) = self.head();
            return Response { status, headers, body: String::new() };
        }
        self.response()
    }

    /// Sends a request, and does not wait for the answer.
    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        if method != "GET" || !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        self.write(&[head.as_bytes(), body].concat());
    }

    /// Sends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Reads an answer to its end.
    pub(crate) fn response(&mut self) -> Response {
        let (status, headers) = self.head();
        let length =
            headers.iter().find(|(name, _)| name == "content-length").map(|(_, length)| length.parse().unwrap());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).unwrap();
        Response { status, headers, body: String::from_utf8(body).unwrap() }
    }

    /// Reads the head of an answer.
    pub(crate) fn head(&mut self) -> (u16, Vec<(String, String)>) {
        let first = self.text_line();
        let status = first.split_whitespace().nth(1).unwrap_or_else(|| panic!("no answer: `{first}`")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.text_line();
            let Some((name, value)) = line.split_once(':') else { return (status, headers) };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// Reads a line of text.
    pub(crate) fn text_line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Tells whether the other end has closed the connection within a time.
    pub(crate) fn is_closed_within(&mut self, time: Duration) -> bool {
        self.stream.get_mut().set_read_timeout(Some(time)).unwrap();
        let mut rest = [0; 4096];
        loop {
            match self.stream.read(&mut rest) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }
}

impl Response {
    /// Returns the answer as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the word for what is wrong.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_else(|| panic!("no error: {self:?}")).to_owned()
    }

    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
