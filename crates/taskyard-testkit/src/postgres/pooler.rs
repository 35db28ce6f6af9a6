//! pgbouncer in transaction mode, and a proxy that counts round trips.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{fs, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

use super::cluster::Cluster;
use crate::patience::wait_until;
use crate::process::{Process, Program};

/// A pooler in front of a server, until it is dropped.
#[derive(Debug)]
pub struct Pooler {
    _process: Process,
    behind: u16,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// Starts one.
    pub fn start(cluster: &Cluster) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let file = folder.path().join("pgbouncer.ini");
        let behind = cluster.port();
        let settings = format!(
            "[databases]\npostgres = host=127.0.0.1 port={behind} dbname=postgres user=postgres\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 20\n"
        );
        fs::write(&file, settings).unwrap();
        let mut command = Program::new("pgbouncer");
        command.args(["--quiet"]).arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.unprivileged().start();
        wait_until("the pooler to come up", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        Self { _process: process, behind, port, _folder: folder }
    }

    /// Returns an address of the server as one of the pooler.
    pub fn address_like(&self, address: &str) -> String {
        address.replace(&format!(":{}/", self.behind), &format!(":{}/", self.port))
    }
}

/// Stands between programs and a server, and counts.
#[derive(Debug)]
pub struct CountingProxy {
    port: u16,
    server: u16,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// When each round trip began, and the first bytes of what was asked.
    trips: Mutex<Vec<(Instant, String)>>,
    made: AtomicUsize,
    /// The clients' ends of all connections that may be open.
    open: Mutex<Vec<TcpStream>>,
    most_open: AtomicUsize,
    /// How many bytes the server answered.
    answered: AtomicUsize,
}

impl CountingProxy {
    /// Begins to listen on a port of its own.
    pub fn before(server: &Cluster) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (port, server) = (listener.local_addr().unwrap().port(), server.port());
        let counts: Arc<Counts> = Arc::default();
        let counted = Arc::clone(&counts);
        thread::spawn(move || {
            for client in listener.incoming() {
                pass_both(client.unwrap(), server, &counted);
            }
        });
        Self { port, server, counts }
    }

    /// Returns an address of the server as one that leads through here.
    pub fn address(&self, of_server: &str) -> String {
        of_server.replace(&format!(":{}/", self.server), &format!(":{}/", self.port))
    }

    /// Resets the counts, except that of open connections.
    pub fn reset(&self) {
        self.trips().clear();
        self.counts.made.store(0, Ordering::SeqCst);
        self.counts.answered.store(0, Ordering::SeqCst);
    }

    /// Returns how many bytes the server answered.
    pub fn bytes_answered(&self) -> usize {
        self.counts.answered.load(Ordering::SeqCst)
    }

    /// Returns how often the client asked after the server had answered. What it does to connect is not counted, nor are notifications,
    /// whose answers it does not wait for.
    pub fn round_trips(&self) -> usize {
        self.trips().len()
    }

    /// Returns when each round trip began, and the beginning of what was asked, for people.
    pub fn trips(&self) -> MutexGuard<'_, Vec<(Instant, String)>> {
        self.counts.trips.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many connections were made.
    pub fn connections(&self) -> usize {
        self.counts.made.load(Ordering::SeqCst)
    }

    /// Returns how many connections were open at once.
    pub fn most_open_connections(&self) -> usize {
        self.counts.most_open.load(Ordering::SeqCst)
    }

    /// Returns how many connections are open.
    pub fn open_connections(&self) -> usize {
        self.counts.count_open(None)
    }
}

impl Counts {
    /// Returns how many connections are open that their clients have not closed, with a new one.
    fn count_open(&self, new: Option<TcpStream>) -> usize {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // What a client closed is closed, even if not all that it sent before has been passed on.
        open.retain(|client| {
            let mut asked = [PollFd::new(client, PollFlags::RDHUP)];
            poll(&mut asked, Some(&Timespec::default())).unwrap();
            asked[0].revents().is_empty()
        });
        open.extend(new);
        open.len()
    }
}

fn pass_both(client: TcpStream, server: u16, counts: &Arc<Counts>) {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
    counts.made.fetch_add(1, Ordering::SeqCst);
    let open = counts.count_open(Some(client.try_clone().unwrap()));
    counts.most_open.fetch_max(open, Ordering::SeqCst);
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let is_answered = Arc::new(AtomicBool::new(true));
    let (answered, counted) = (Arc::clone(&is_answered), Arc::clone(counts));
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        let mut is_connected = false;
        pass(from, to, |bytes| {
            // Asking for TLS is a part of connecting, as is the first message, which has no letter of its own.
            let is_part_of_connecting = !is_connected;
            is_connected |= bytes != [0, 0, 0, 8, 4, 210, 22, 47];
            // The client does not wait for an answer to a notification, or to a goodbye.
            let is_goodbye = bytes == b"X\0\0\0\x04";
            let is_told = bytes.windows(7).any(|word| word == b"NOTIFY ") || is_goodbye;
            if !is_part_of_connecting && !is_told && answered.swap(false, Ordering::SeqCst) {
                let text = String::from_utf8_lossy(&bytes[..bytes.len().min(600)]).replace('\0', " ");
                counted.trips.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), text));
            }
        });
    });
    let counted = Arc::clone(counts);
    thread::spawn(move || {
        pass(server, client, |bytes| {
            counted.answered.fetch_add(bytes.len(), Ordering::SeqCst);
            is_answered.store(true, Ordering::SeqCst);
        });
    });
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut seen: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut buffer).unwrap_or(0);
        if count == 0 {
            let _ = to.shutdown(Shutdown::Write);
            return;
        }
        seen(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}
