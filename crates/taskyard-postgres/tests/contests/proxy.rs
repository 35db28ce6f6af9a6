//! A network that can be cut: bytes wait until it is whole again.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Passes bytes on to a server, unless it is cut.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<(Mutex<bool>, Condvar)>,
}

impl Proxy {
    /// Begins to pass bytes on to a port.
    pub(crate) fn start(to: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { continue };
                for (from, into) in [
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (server.try_clone().unwrap(), client.try_clone().unwrap()),
                ] {
                    let state = Arc::clone(&shared);
                    thread::spawn(move || pass_on(from, into, &state));
                }
            }
        });
        Self { port, state }
    }

    /// Returns the port to connect to.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Cuts the network, or makes it whole.
    pub(crate) fn cut(&self, is_cut: bool) {
        *self.state.0.lock().unwrap() = is_cut;
        self.state.1.notify_all();
    }
}

fn pass_on(mut from: TcpStream, mut into: TcpStream, state: &(Mutex<bool>, Condvar)) {
    let mut bytes = [0; 16_384];
    while let Ok(count) = from.read(&mut bytes) {
        let mut is_cut = state.0.lock().unwrap();
        while *is_cut {
            is_cut = state.1.wait(is_cut).unwrap();
        }
        drop(is_cut);
        if count == 0 || into.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = into.shutdown(Shutdown::Both);
}
