//! A running `taskyard serve`, for browsers and programs of tests.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::home::Home;
use crate::process::Process;

/// A running `taskyard serve`, which ends with it.
#[derive(Debug)]
pub struct Server {
    process: Process,
    /// What it said of itself: `link`, `url`, `tokenFile`.
    told: Value,
}

impl Server {
    /// Starts a server in a home on any port, unless the flags name one.
    pub fn start(home: &Home, flags: &str) -> Self {
        let port = if flags.contains("--port") { "" } else { "--port 0" };
        let mut command = home.command(&format!("serve {port} --json {flags}"));
        command.env_remove("TASKYARD_AGENT").env("USER", "uma").stderr(Stdio::inherit());
        let mut process = command.start();
        let told = process.json().expect("a server says where it listens");
        Self { process, told }
    }

    /// Returns the link that lets one browser in.
    pub fn link(&self) -> &str {
        self.told["link"].as_str().unwrap()
    }

    /// Makes another link, which lets one more browser in.
    pub fn another_link(&self) -> String {
        let (_, made) = self.request("POST", "/api/v1/links");
        let made: Value = serde_json::from_str(&made).unwrap_or_else(|error| panic!("{error}: {made}"));
        made["link"].as_str().unwrap().to_owned()
    }

    /// Asks for something with the token of the server, and returns the head and the body of the answer.
    pub fn request(&self, method: &str, path: &str) -> (String, String) {
        let token = fs::read_to_string(self.told["tokenFile"].as_str().unwrap()).unwrap();
        let host = self.url().split_once("://").unwrap().1;
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            token.trim()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
        (head.to_owned(), body.to_owned())
    }

    /// Returns its address, `http://127.0.0.1:1234` say.
    pub fn url(&self) -> &str {
        self.told["url"].as_str().unwrap()
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.url().rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap()
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) -> Option<i32> {
        self.process.signal(Signal::TERM);
        self.process.wait().code()
    }
}
