//! Running commands, apart from what they are run for.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use taskyard::process::{Cancel, CommandLine, Ending, Program, Sink};
use taskyard_testkit::{PATIENCE, finishes};

fn shell(line: &str) -> Program {
    Program {
        command: CommandLine::Shell(line.to_owned()),
        directory: PathBuf::from("/"),
        environment: vec![("WORD".into(), "said".into())],
        stdin: Vec::new(),
        timeout: None,
    }
}

fn heard() -> (Sink, Receiver<String>) {
    let (send, receive) = channel();
    (Box::new(move |bytes: &[u8]| drop(send.send(String::from_utf8_lossy(bytes).into_owned()))), receive)
}

#[test]
fn what_a_command_writes_comes_as_it_is_written() {
    let place = tempfile::tempdir().unwrap();
    let go = place.path().join("go");
    let line = format!("echo $WORD; while [ ! -e '{}' ]; do sleep 0.01; done; echo end", go.display());
    let (sink, hear) = heard();
    let running = thread::spawn(move || shell(&line).run(sink, Box::new(|_| {}), &Cancel::new()).unwrap());
    // The command still waits for us: this did not come at its end.
    assert_eq!(hear.recv_timeout(PATIENCE).unwrap(), "said\n");
    std::fs::write(go, "").unwrap();
    assert_eq!(hear.recv_timeout(PATIENCE).unwrap(), "end\n");
    assert_eq!(finishes(move || running.join().unwrap()), Ending::Exited(0));
}

#[test]
fn every_way_to_end_is_told() {
    let ended = |line: &str, timeout| {
        let program = Program { timeout, ..shell(line) };
        finishes(move || program.run_captured(10, &Cancel::new()).unwrap().ending)
    };
    assert_eq!(ended("exit 7", None), Ending::Exited(7));
    assert_eq!(ended("kill -TERM $$", None), Ending::Signalled(15));
    assert_eq!(ended("sleep 600", Some(Duration::from_millis(50))), Ending::TimedOut);
    assert_eq!(ended("exit 0", Some(Duration::MAX)), Ending::Exited(0));
}

#[test]
fn a_command_that_closed_its_pipes_is_still_waited_for() {
    let program = shell("exec >&- 2>&-; sleep 0.3; exit 3");
    assert_eq!(finishes(move || program.run_captured(10, &Cancel::new()).unwrap().ending), Ending::Exited(3));
}

#[test]
fn stdin_reaches_the_command_whatever_its_length() {
    let program = Program { stdin: vec![b'x'; 3_000_000], ..shell("wc -c") };
    let finished = finishes(move || program.run_captured(100, &Cancel::new()).unwrap());
    assert_eq!(finished.stdout.trim(), "3000000");
}

#[test]
fn many_commands_at_once_all_end() {
    let running: Vec<_> = (0..20)
        .map(|number| thread::spawn(move || shell(&format!("exit {number}")).run_captured(10, &Cancel::new()).unwrap()))
        .collect();
    for (number, running) in running.into_iter().enumerate() {
        let finished = finishes(move || running.join().unwrap());
        assert_eq!(finished.ending, Ending::Exited(i32::try_from(number).unwrap()));
    }
}

#[test]
fn a_command_that_ends_while_it_is_cancelled_is_told_once() {
    for _ in 0..50 {
        let cancel = Cancel::new();
        let running = thread::spawn({
            let cancel = cancel.clone();
            move || shell("true").run_captured(10, &cancel).unwrap().ending
        });
        cancel.cancel();
        let ending = finishes(move || running.join().unwrap());
        assert!(matches!(ending, Ending::Exited(0) | Ending::Cancelled), "{ending:?}");
    }
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let program = Program { directory: PathBuf::from("/not/there"), ..shell("true") };
    assert!(program.run_captured(10, &Cancel::new()).is_err());
}

#[test]
fn what_a_command_leaves_behind_may_talk_for_ever() {
    let program = shell("(while :; do echo again; sleep 0.02; done) & echo $!");
    let finished = finishes(move || program.run_captured(1000, &Cancel::new()).unwrap());
    let pid = finished.stdout.lines().find_map(|line| line.parse().ok()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(finished.ending, Ending::Exited(0));
}
