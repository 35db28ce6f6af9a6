//! `serve --open` hands the link to the user's browser, and to no other user.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use taskyard_testkit::{Home, wait_until};

use crate::web::served::Served;

#[test]
fn the_browser_gets_the_link_by_a_private_file() {
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
    // Every user of the machine can read the command line of the opener, and of the browser that it starts.
    let arguments = fs::read_to_string(opened).unwrap();
    let code = served.link.rsplit_once('/').unwrap().1;
    assert!(!arguments.contains(code) && !arguments.contains("http"), "{arguments}");
    let page = Path::new(&arguments);
    assert_eq!(page.parent(), Some(home.data().as_path()));
    assert_eq!(fs::metadata(page).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(page).unwrap().contains(&format!("content=\"0;url={}\"", served.link)));
    let path = &served.link[served.link.find("/open/").unwrap()..];
    let from_a_file = [
        ("Host", served.address.as_str()),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    let let_in = served.line().bare("GET", path, &from_a_file, b"");
    assert_eq!((let_in.status, let_in.header("set-cookie").is_some()), (200, true));
    assert!(!page.exists(), "it was used");
}

#[test]
fn a_page_that_was_not_used_goes_with_the_server() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let programs = home.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let opener = programs.join(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    fs::write(&opener, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command("serve --port 0 --json --open");
    command.env("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default()));
    let served = Served::spawn(command);
    assert_eq!(served.line().get("/healthz").status, 200);
    let page = home.data().join(format!("serve-open-{}.html", served.pid()));
    assert!(page.exists());
    served.signal(rustix::process::Signal::TERM);
    served.end();
    assert!(!page.exists());
}

#[test]
fn link_is_printed_when_no_browser_starts() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut command = home.command("serve --port 0 --json --open");
    command.env("PATH", home.path());
    let served = Served::spawn(command);
    assert_eq!(served.line().get("/api/v1/where").status, 200);
}
