//! How often a command waits for the server, counted on the wire.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use taskyard_testkit::Cluster;

use crate::one_shots::taskyard;
use crate::yards::fill;

/// The commands, in an order in which each can do what it says.
const COMMANDS: [&str; 12] = [
    "list",
    "lists",
    "show 1",
    "history",
    "ready",
    "create one",
    "claim 1 --as ana",
    "claim --next --as ben",
    "done 1 --as ana",
    "release 2 --as ben",
    "update 3 --subject new",
    "stats",
];

/// Prints how many round trips each command takes, besides those to connect.
pub(crate) fn measure(cluster: &Cluster) {
    let counter = Counter::before(cluster.port());
    let direct = format!("{}?schema=trips", cluster.address());
    fill(&direct, "L", 100);
    let address = direct.replace(&format!(":{}/", cluster.port()), &format!(":{}/", counter.port));
    println!("round trips of one-shot commands, and how many connections each made");
    for command in COMMANDS {
        counter.trips.store(0, Ordering::SeqCst);
        counter.connections.store(0, Ordering::SeqCst);
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(["--list", "L"]);
        let ran = taskyard(&address, &words).output().unwrap();
        assert!(ran.status.success(), "{command}: {ran:?}");
        let (trips, connections) = (counter.trips.load(Ordering::SeqCst), counter.connections.load(Ordering::SeqCst));
        // The first thing that is sent asks to be let in.
        println!("{command:<24} {:>2}  {connections}", trips - connections);
    }
}

/// A proxy that counts how often the client speaks after the server has.
struct Counter {
    port: u16,
    trips: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl Counter {
    fn before(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (trips, connections) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (counted, came) = (Arc::clone(&trips), Arc::clone(&connections));
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap());
                came.fetch_add(1, Ordering::SeqCst);
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                let is_answered = Arc::new(AtomicBool::new(true));
                let (answered, counted) = (Arc::clone(&is_answered), Arc::clone(&counted));
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || {
                    pass(from, to, |bytes| {
                        // The client does not wait for an answer to a notification, or to a goodbye. Asking for TLS is a part of
                        // connecting.
                        let asks_for_tls = bytes == [0, 0, 0, 8, 4, 210, 22, 47];
                        let is_goodbye = bytes == b"X\0\0\0\x04";
                        let is_told = bytes.windows(6).any(|word| word == b"NOTIFY") || is_goodbye || asks_for_tls;
                        if !is_told && answered.swap(false, Ordering::SeqCst) {
                            counted.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                });
                thread::spawn(move || pass(server, client, |_| is_answered.store(true, Ordering::SeqCst)));
            }
        });
        Self { port, trips, connections }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, seen: impl Fn(&[u8])) {
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
