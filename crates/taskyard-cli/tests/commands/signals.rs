use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::test::Test;

#[test]
fn a_command_that_is_stopped_ends_with_128_and_the_signal() {
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let test = Test::new().quietly("create one");
        let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
        let mut child = command.args(["watch", "--since", "0"]).stdout(Stdio::piped()).spawn().unwrap();
        // The first line shows that the command is at work.
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(128 + number), "{name}");
        drop(stdout);
    }
}
