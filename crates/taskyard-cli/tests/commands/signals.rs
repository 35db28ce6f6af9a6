use rustix::process::Signal;

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
