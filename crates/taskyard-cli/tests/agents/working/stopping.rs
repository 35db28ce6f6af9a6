//! Ctrl-C, once and twice, from a terminal and alone.

use std::fs;

use rustix::process::Signal;

use crate::working::site::{Site, Worker, await_end_of};

/// A line of shell that says when it is up, and says goodbye when it is asked to end.
const POLITE: &str = "trap 'echo bye > bye-$TASKYARD_TASK_ID; exit 0' TERM; echo $$ > up-$TASKYARD_TASK_ID; while :; do sleep 0.02; done";

#[test]
fn signal_ends_commands_releases_tasks_and_counts_nothing() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let site = Site::with(&["one", "two", "three"]);
        let worker = site.start("-j 2 --as ana", POLITE);
        let (one, two) = (site.await_file("up-1"), site.await_file("up-2"));
        worker.send(signal);
        let ran = worker.end();
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stdout.ends_with("2 interrupted (#1, #2)\n"), "{ran:?}");
        for (id, pid) in [("1", one), ("2", two)] {
            assert_eq!(site.await_file(&format!("bye-{id}")), "bye");
            await_end_of(&pid);
            let task = site.task(id);
            assert_eq!((task["status"].as_str(), task["owner"].as_str()), (Some("pending"), None));
            assert!(task["metadata"]["attempts"].is_null());
            assert_eq!(site.notes(id), ["interrupted: `taskyard work` was stopped"]);
        }
        assert!(!fs::exists(site.path("up-3")).unwrap());
    }
}

#[test]
fn a_second_signal_kills_at_once() {
    let site = Site::with(&["one"]);
    site.configure("[jobs]\ngrace = \"1h\"\n");
    let line = "trap 'echo asked > asked' TERM; echo $$ > up; while :; do sleep 0.02; done";
    let worker = site.start("", line);
    let pid = site.await_file("up");
    worker.send(Signal::INT);
    site.await_file("asked");
    worker.send(Signal::INT);
    // Long before the first signal's patience is over.
    let ran = worker.end();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    await_end_of(&pid);
    assert_eq!(site.task("1")["status"], "pending");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_on_a_terminal_reaches_the_commands_through_us_alone() {
    use std::io::{Read as _, Write as _};

    let site = Site::with(&["one --active-form Doing", "two"]);
    let (mut master, terminal) = terminal();
    let work = site.work("-j 2 --as ana --color never", POLITE);
    // The terminal must be the controlling one for its Ctrl-C to be a signal.
    let mut command = work.started_by("setsid", &["--ctty", "--wait"]);
    command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
    command.envs([("TERM", "xterm"), ("LANG", "C.UTF-8")]);
    let worker = Worker::of(command.start());
    drop(command);
    let mut screen = master.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = screen.read(&mut piece) {
            seen.extend_from_slice(&piece[..count]);
        }
        String::from_utf8_lossy(&seen).into_owned()
    });
    let pids = [site.await_file("up-1"), site.await_file("up-2")];
    master.write_all(b"\x03").unwrap();
    assert_eq!(worker.end().code, Some(130));
    for (id, pid) in ["1", "2"].iter().zip(pids) {
        // Asked by SIGTERM: a SIGINT from the terminal would have ended it without a word.
        assert_eq!(site.await_file(&format!("bye-{id}")), "bye");
        await_end_of(&pid);
        assert_eq!(site.task(id)["status"], "pending");
    }
    let modes = rustix::termios::tcgetattr(&master).unwrap().local_modes;
    assert!(modes.contains(rustix::termios::LocalModes::ECHOCTL), "the terminal is as it was");
    drop(master);
    let screen = reader.join().unwrap();
    for shown in ["#1 Doing", "#2 two", "#1 one: interrupted", "2 interrupted (#1, #2)"] {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    // Where the terminal writes it at the end of a full line, that line cannot be taken away any more.
    assert!(!screen.contains("^C"), "{screen}");
}

#[cfg(target_os = "linux")]
fn terminal() -> (std::fs::File, std::fs::File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = fs::File::options().read(true).write(true).open(name).unwrap();
    (fs::File::from(master), terminal)
}
