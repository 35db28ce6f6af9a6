//! The WebDriver process, and one browser session with it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::patience::PATIENCE;
use crate::process::{Process, Program};

/// A running `chromedriver`.
#[derive(Debug)]
pub(super) struct Driver {
    process: Process,
    port: u16,
    /// The browser's profile directory.
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

    /// Sends a command to the driver; returns `None` if it does not answer.
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

/// A browser with a profile of its own.
#[derive(Debug)]
pub(super) struct Session {
    driver: Driver,
    id: String,
    /// The window that commands are carried out in.
    current: Mutex<String>,
}

impl Session {
    /// Starts a browser.
    pub(super) fn start() -> Self {
        let driver = Driver::start();
        let arguments = [
            "--headless=new",
            // Its sandbox needs rights that containers do not give; everything it shows is ours.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--force-device-scale-factor=1",
            "--lang=en",
        ];
        let wish = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "acceptInsecureCerts": true,
            "timeouts": { "script": PATIENCE.as_millis(), "pageLoad": PATIENCE.as_millis(), "implicit": 0 },
            "unhandledPromptBehavior": "ignore",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let begun =
            driver.call("POST", "/session", Some(&wish)).unwrap_or_else(|error| panic!("no browser: {error:?}"));
        let id = begun["sessionId"].as_str().unwrap().to_owned();
        let current = driver.call("GET", &format!("/session/{id}/window"), None).unwrap();
        let current = Mutex::new(current.as_str().unwrap().to_owned());
        Self { driver, id, current }
    }

    /// Returns the window that commands are carried out in.
    pub(super) fn current(&self) -> String {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes note that the window that commands are carried out in is closed.
    pub(super) fn forget_current(&self) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Has a command carried out in a window.
    pub(super) fn call(
        &self,
        window: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, DriverError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != window {
            self.driver.call("POST", &self.path("/window"), Some(&json!({ "handle": window })))?;
            window.clone_into(&mut current);
        }
        self.driver.call(method, &self.path(path), body)
    }

    /// Opens another window, and returns its handle.
    pub(super) fn another_window(&self, kind: &str) -> String {
        let made = self.driver.call("POST", &self.path("/window/new"), Some(&json!({ "type": kind }))).unwrap();
        made["handle"].as_str().unwrap().to_owned()
    }

    fn path(&self, path: &str) -> String {
        format!("/session/{}{path}", self.id)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.driver.ask("DELETE", &self.path(""), None);
    }
}

/// Decodes a text to bytes, skipping invalid characters.
pub(super) fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for value in text.bytes().filter_map(value_of) {
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(((bits >> held) & 0xff).to_le_bytes()[0]);
            bits &= (1 << held) - 1;
        }
    }
    bytes
}

fn value_of(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn texts_of_every_length_are_read() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9v\nYmFy", "foobar")] {
            assert_eq!(decode(text), bytes.as_bytes());
        }
        assert_eq!(decode("/+8A"), [0xff, 0xef, 0]);
    }
}
