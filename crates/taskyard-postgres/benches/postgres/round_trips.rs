//! How often a command waits for the server, counted on the wire.

use taskyard_testkit::{Cluster, CountingProxy};

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
    let counter = CountingProxy::before(cluster);
    let direct = format!("{}?schema=trips", cluster.address());
    fill(&direct, "L", 100);
    let address = counter.address(&direct);
    println!("round trips of one-shot commands, and how many connections each made");
    for command in COMMANDS {
        counter.reset();
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(["--list", "L"]);
        let ran = taskyard(&address, &words).output().unwrap();
        assert!(ran.status.success(), "{command}: {ran:?}");
        println!("{command:<24} {:>2}  {}", counter.round_trips(), counter.connections());
    }
}
