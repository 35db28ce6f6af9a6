//! `serve --open` hands the link to the user's browser.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use taskyard_testkit::{Home, wait_until};

use crate::served::Served;

#[test]
fn the_browser_is_handed_the_link_which_lets_it_in() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let programs = home.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let opener = programs.join(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    // It appears whole: written beside, and renamed.
    fs::write(&opener, "#!/bin/sh\nprintf '%s' \"$1\" >opened.part\nmv opened.part opened\n").unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command("serve --port 0 --json --open");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display()));
    let served = Served::spawn(command);
    let opened = home.path().join("opened");
    wait_until("a browser to be started", || opened.exists());
    let link = fs::read_to_string(opened).unwrap();
    assert_eq!(link, served.link);
    let path = &link[link.find("/open/").unwrap()..];
    let let_in = served.line().bare("GET", path, &[("Host", &served.address)], b"");
    assert_eq!((let_in.status, let_in.header("set-cookie").is_some()), (200, true));
}

#[test]
fn where_no_browser_can_be_started_the_link_is_there_all_the_same() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut command = home.command("serve --port 0 --json --open");
    command.env("PATH", home.path());
    let served = Served::spawn(command);
    assert_eq!(served.line().get("/api/v1/where").status, 200);
}
