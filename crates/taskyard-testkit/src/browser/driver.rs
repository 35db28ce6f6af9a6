//! The driver: a process that takes commands as JSON over HTTP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::patience::PATIENCE;
use crate::process::{Process, Program};

/// A running `chromedriver`.
#[derive(Debug)]
pub(super) struct Driver {
    process: Process,
    port: u16,
    /// Where the browser keeps what it keeps.
    _folder: TempDir,
}

/// The driver's no: the standard's word for what went wrong, and its own.
#[derive(Debug)]
pub(super) struct DriverError {
    pub(super) code: String,
    pub(super) message: String,
}

impl Driver {
    /// Starts the driver on any port.
    pub(super) fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("taskyard-browser-").tempdir().unwrap();
        let mut command = Program::new("chromedriver");
        command.arg("--port=0").env("HOME", folder.path()).env("TMPDIR", folder.path()).leading_group();
        let mut process = command.stderr(Stdio::null()).start();
        let mut lines = process.take_output().lines();
        let started = lines.by_ref().map_while(Result::ok).find_map(|line| port_in(&line));
        let port = started.expect("chromedriver says on which port it listens");
        // What it says later is not needed, and a full pipe would stop it.
        thread::spawn(move || lines.for_each(drop));
        Self { process, port, _folder: folder }
    }

    /// Has the driver carry out a command.
    pub(super) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, DriverError> {
        let answer = self.ask(method, path, body).unwrap_or_else(|| panic!("no answer to {method} {path}"));
        match answer["value"]["error"].as_str() {
            Some(code) => {
                let message = answer["value"]["message"].as_str().unwrap_or_default();
                Err(DriverError { code: code.to_owned(), message: message.to_owned() })
            }
            None => Ok(answer["value"].clone()),
        }
    }

    /// Has the driver carry out a command; none where it does not answer.
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Value> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let (port, length) = (self.port, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE * 2)).ok()?;
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body.as_bytes()).ok()?;
        read_answer(&mut BufReader::new(stream))
    }
}

impl Drop for Driver {
    /// A test leaves no browser behind, however it ends.
    fn drop(&mut self) {
        let _ = self.ask("GET", "/shutdown", None);
        self.process.kill();
    }
}

fn port_in(line: &str) -> Option<u16> {
    line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
}

fn read_answer(stream: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse().ok()?,
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
