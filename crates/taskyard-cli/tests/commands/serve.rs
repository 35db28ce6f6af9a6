use taskyard_testkit::Home;

use crate::test::Test;

#[test]
fn what_cannot_be_meant_is_wrong_usage() {
    Test::new()
        .run("serve --bind nowhere")
        .run("serve --tls-cert cert.pem")
        .run("serve --tls-cert cert.pem --tls-key key.pem --insecure")
        .run("serve --tls-cert cert.pem --tls-key key.pem --json")
        .snapshot();
}

#[test]
fn other_addresses_than_loopback_are_always_encrypted() {
    for (words, scheme) in [
        ("--bind 127.0.0.1", "http"),
        ("--bind 127.0.0.2", "http"),
        ("--bind localhost", "http"),
        ("--bind 0.0.0.0 --insecure", "http"),
        ("--bind 0.0.0.0", "https"),
    ] {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let mut served = home.command(&format!("serve --port 0 --quiet {words}")).start();
        let line = served.line().unwrap();
        assert!(line.starts_with(&format!("{scheme}://127.0.0.")), "{words}: {line}");
    }
}
