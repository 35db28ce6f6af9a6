//! Asking the same user's server that already listens on the port for a link, so that a browser can sign in there.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Timeout for that server.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks the server at an address for a single-use link. Returns `None` if the server is not ours, or does not answer
/// plain HTTP.
pub(super) fn link_to_running(address: SocketAddr, token: &str) -> Option<String> {
    let address = match address.ip().is_unspecified() {
        true => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        false => address,
    };
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let head = format!(
        "POST /api/v1/links HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.take(64 * 1024).read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let made: Value = serde_json::from_str(body).ok().filter(|_| head.starts_with("HTTP/1.1 201"))?;
    Some(made["link"].as_str()?.to_owned())
}
