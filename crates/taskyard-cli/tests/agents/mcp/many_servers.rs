//! Many servers on one list: those that have nothing to guard and no client to tell leave its writers alone.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, TaskId};
use taskyard::operations::{NewTask, Patch, Update};
use taskyard_testkit::{Home, Scale, is_once_within, wait_until};

use crate::stdio::Piped;

/// Few at a time and often: the best of many short rounds says what is possible, whatever else the machine does.
const UPDATES: usize = 20;
const ROUNDS: usize = 30;

fn yard(home: &Home, list: &str) -> Yard {
    let yard = Yard::new(Arc::new(home.store()), ListId::new(list).unwrap(), AgentName::new("writer").unwrap());
    yard.create(NewTask { subject: "one".into(), ..NewTask::default() }).unwrap();
    yard
}

/// Updates a task many times, and returns how long that took.
fn write(yard: &Yard) -> Duration {
    let started = Instant::now();
    for number in 0..UPDATES {
        let patch = Patch { description: Some(format!("{number} {:?}", Instant::now())), ..Patch::default() };
        yard.update(&TaskId::number(1), Update { patch, ..Update::default() }).unwrap();
    }
    started.elapsed()
}

/// Returns for how long processes have been computing, in hundredths of a second.
fn ticks(servers: &[Piped]) -> u64 {
    let of = |server: &Piped| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
        // The name of the command may hold spaces; the times are the 14th and 15th of all fields, and the state is the third.
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    servers.iter().map(of).sum()
}

/// Waits until servers have done what they do as they come up.
fn until_quiet(servers: &[Piped]) {
    let mut before = ticks(servers);
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = ticks(servers);
        if now == before {
            return;
        }
        before = now;
    }
}

#[test]
fn idle_servers_do_nothing_for_the_writes_of_others() {
    let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
    let count = Scale::from_environment(0.2).of(50).max(8);
    let (served, alone) = (yard(&home, "L"), yard(&home, "alone"));
    let mut servers: Vec<Piped> = (0..count).map(|_| Piped::start(&home, "--as idle").initialized()).collect();
    for server in &mut servers {
        assert!(server.call("TaskList", json!({})).contains("one"));
    }
    write(&served);
    until_quiet(&servers);
    let (mut best, mut best_alone, mut computed, mut computed_idle) = (Duration::MAX, Duration::MAX, 0, 0);
    let started = Instant::now();
    for _ in 0..ROUNDS {
        let before = ticks(&servers);
        best_alone = best_alone.min(write(&alone));
        let between = ticks(&servers);
        best = best.min(write(&served));
        computed_idle += between - before;
        computed += ticks(&servers) - between;
    }
    let rate = |took: Duration| UPDATES as f64 / took.as_secs_f64();
    println!(
        "{count} idle servers: {:.0} updates a second, {:.0} without them; ticks {computed} while others write, {computed_idle} \
         while nothing happens",
        rate(best),
        rate(best_alone)
    );
    // A look at the leases by the clock now and then: the longer this took, the more of them.
    let little = count as u64 / 5 + 3 + count as u64 * started.elapsed().as_secs() / 10;
    assert!(computed <= little, "{count} servers computed for {computed} ticks while another process wrote");
    assert!(computed_idle <= little, "{count} servers computed for {computed_idle} ticks while nothing happened");
    let is_as_fast = || {
        (best_alone, best) = (best_alone.min(write(&alone)), best.min(write(&served)));
        best < best_alone * 2
    };
    wait_until("writes beside idle servers to be as fast as without them", is_as_fast);
    // They have missed nothing.
    for server in &mut servers {
        assert!(server.call("TaskGet", json!({ "taskId": "1" })).contains(&format!("{} Instant", UPDATES - 1)));
    }
}

#[test]
fn server_follows_list_only_while_it_guards_a_claim() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create One");
    let mut server = Piped::start(&home, "--as ana").initialized();
    // A server that follows the list watches its journal, too.
    let inode = fs::metadata(home.sidecar("L")).unwrap().ino();
    let watches = |server: &Piped| {
        let open = fs::read_dir(format!("/proc/{}/fdinfo", server.pid())).unwrap();
        let text = |file: fs::DirEntry| fs::read_to_string(file.path()).unwrap_or_default();
        open.flatten().any(|file| text(file).contains(&format!(" ino:{inode:x} ")))
    };
    let until = |server: &Piped, wanted: bool| {
        wait_until(&format!("the list to be followed: {wanted}"), || watches(server) == wanted);
    };
    server.call("TaskList", json!({}));
    assert!(!watches(&server));
    server.call("TaskClaim", json!({ "taskId": "1" }));
    until(&server, true);
    server.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    until(&server, false);
}

/// The last of many followers is told within this.
const TOLD_WITHIN: Duration = Duration::from_millis(100);

#[test]
fn last_of_many_followers_hears_at_once_on_one_inotify() {
    let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
    let count = Scale::from_environment(0.2).of(50).max(8);
    let writer = yard(&home, "L");
    let mut servers: Vec<Piped> = (0..count).map(|_| Piped::start(&home, "--as follower").initialized()).collect();
    for server in &mut servers {
        server.ask("resources/subscribe", json!({ "uri": "taskyard://list" }));
        // What was said before is no news of what happens now.
        server.call("TaskList", json!({}));
    }
    let mut round = 0;
    is_once_within(TOLD_WITHIN, "telling the last follower", || {
        let started = Instant::now();
        round += 1;
        let patch = Patch { subject: Some(format!("round {round}")), ..Patch::default() };
        writer.update(&TaskId::number(1), Update { patch, ..Update::default() }).unwrap().done().unwrap();
        for server in &mut servers {
            while server.message().unwrap()["method"] != "notifications/resources/updated" {}
        }
        started.elapsed()
    });
    let instances = |server: &Piped| {
        let open = fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().flatten();
        let leads_to = |file: fs::DirEntry| fs::read_link(file.path()).unwrap_or_default();
        open.map(leads_to).filter(|place| place.to_string_lossy().contains("inotify")).count()
    };
    assert!(servers.iter().all(|server| instances(server) == 1));
}
