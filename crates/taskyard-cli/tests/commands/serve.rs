use std::io::{BufRead as _, BufReader};

use taskyard_testkit::Home;

use crate::test::Test;

#[test]
fn beyond_this_machine_it_wants_to_be_told_that_nothing_is_encrypted() {
    Test::new().run("serve --bind 0.0.0.0").run("serve --bind :: --json").run("serve --bind nowhere").snapshot();
    for address in ["192.0.2.7", "::ffff:192.0.2.7", "::ffff:0.0.0.0", "fe80::1", "169.254.1.1"] {
        let ran = Home::new(env!("CARGO_BIN_EXE_taskyard")).run(&format!("serve --port 0 --bind {address}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{address}");
    }
}

#[test]
fn this_machine_has_several_addresses() {
    for words in ["--bind 127.0.0.1", "--bind 127.0.0.2", "--bind localhost", "--bind 0.0.0.0 --insecure"] {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let mut served = home.command(&format!("serve --port 0 --quiet {words}")).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(served.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        served.kill().unwrap();
        served.wait().unwrap();
        assert!(line.starts_with("http://127.0.0."), "{words}: {line}");
    }
}
