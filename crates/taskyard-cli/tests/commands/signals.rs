use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use taskyard_testkit::wait_until;

use crate::test::Test;

#[test]
fn a_command_that_is_stopped_ends_with_128_and_the_signal() {
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
        let test = Test::new().quietly("create one");
        let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
        let mut child = command.args(["watch", "--since", "0"]).start();
        // The first line shows that the command is at work.
        child.line();
        child.signal(signal);
        assert_eq!(child.wait().code(), Some(128 + number), "{signal:?}");
    }
}

#[test]
fn a_reader_without_a_turn_is_ended_by_the_signal() {
    let test = Test::new().quietly("create one").env("TASKYARD_FAILPOINTS", "at rest: found=stop");
    // A journal that was just written is not read at rest.
    for list in fs::read_dir(test.path("data/lists")).unwrap() {
        for file in fs::read_dir(list.unwrap().path()).unwrap() {
            let file = File::options().write(true).open(file.unwrap().path()).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(9)).unwrap();
        }
    }
    let mut child = test.command(env!("CARGO_BIN_EXE_taskyard")).args(["list"]).start();
    wait_until("the command reads the journal", || child.is_stopped());
    child.signal(Signal::TERM);
    child.signal(Signal::CONT);
    assert_eq!(child.wait().signal(), Some(15));
}
