use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::terminals::terminal::{Home, Terminal};

/// Returns a home with a directory of programs among which no compiler is; each of those that would change something writes down that it ran.
fn without_a_compiler() -> (Home, PathBuf) {
    let home = Home::new();
    let programs = home.path("programs");
    fs::create_dir_all(home.path("built/demo")).unwrap();
    fs::create_dir(&programs).unwrap();
    for name in ["bash", "dirname"] {
        let found =
            ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name)).into_iter().find(|path| path.exists());
        symlink(found.unwrap(), programs.join(name)).unwrap();
    }
    let script = |path: PathBuf, text: &str| {
        fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    };
    script(programs.join("id"), "echo 1000");
    script(programs.join("sudo"), &format!("echo \"$@\" >> {}", home.path("installed").display()));
    script(programs.join("cargo"), "true");
    script(home.path("built/demo/taskyard"), "echo the demo runs");
    (home, programs)
}

fn demo(home: &Home, programs: &Path) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/demo");
    format!("PATH={} CARGO_TARGET_DIR={} {script}", programs.display(), home.path("built").display())
}

#[test]
fn the_demo_asks_before_it_installs_anything() {
    let (home, programs) = without_a_compiler();
    for (answer, installs) in [("n", false), ("", false), ("y", true)] {
        let terminal = Terminal::start(&home, 100, 30, &["sh"]);
        let end = terminal.begin(&demo(&home, &programs));
        terminal.wait_for("Install it now? [y/N]");
        terminal.text(answer).keys(&["Enter"]);
        let screen = terminal.wait_for_line(&end);
        assert_eq!(home.path("installed").exists(), installs, "{screen}");
        assert_eq!(screen.contains("the demo runs"), installs, "{screen}");
    }
    let installed = fs::read_to_string(home.path("installed")).unwrap();
    assert_eq!(installed, "apt-get update -qq\napt-get install -y gcc libc6-dev\n");
}

#[test]
fn where_nobody_can_be_asked_the_demo_installs_nothing() {
    let (home, programs) = without_a_compiler();
    let output = home.command("sh").arg("-c").arg(format!("{} </dev/null", demo(&home, &programs))).output();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("Install a C compiler") && !home.path("installed").exists(), "{told}");
}
