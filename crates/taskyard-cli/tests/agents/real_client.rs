//! Claude Code 2.1.34 itself, its model played by a script, on one list with this binary: the conversations of `rivals/clients` that
//! need no other program. `scripts/interop` holds them with the other programs, too.
//!
//! At the usual scale two conversations of each subject are held, with every commit others; with `TASKYARD_TEST_SCALE=1` all of them.
#![allow(clippy::print_stdout, reason = "which conversations were played, and which wait, is worth reading")]

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;

use taskyard_testkit::{Program, Scale, install_claude};

/// Number of conversations of a subject at full scale, if it has that many.
const CONVERSATIONS: usize = 10;

/// Has conversations of a subject played; what was printed is the test's output.
fn hold(subject: &str) {
    let folder = install_claude();
    let most = Scale::from_environment(0.2).of(CONVERSATIONS).to_string();
    let seed = env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let from = (seed.unwrap_or(0) % 1000).to_string();
    let played = Program::new("node")
        .arg(folder.join("run.js"))
        .args(["--binary", env!("CARGO_BIN_EXE_taskyard"), "--client", "claude-2.1.34", "--subject", subject])
        .args(["--most", &most, "--from", &from])
        // A conversation waits as often as it computes.
        .args(["--at-once", "3"])
        .output();
    let said = String::from_utf8_lossy(&played.stdout);
    print!("{said}");
    assert!(played.status.success(), "{said}{}", String::from_utf8_lossy(&played.stderr));
}

/// Returns the names of all conversations, with whichever program.
fn names() -> BTreeSet<String> {
    let listed = Program::new("node").arg(install_claude().join("run.js")).arg("--list").output();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let titles = String::from_utf8(listed.stdout).unwrap();
    titles.lines().map(|title| title.splitn(3, " · ").nth(2).unwrap().to_owned()).collect()
}

#[test]
fn the_page_about_it_names_every_conversation_and_no_other() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/interop.md");
    let page = fs::read_to_string(page).unwrap();
    let table = page.split("## What is tried").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let told: BTreeSet<String> = rows.map(|row| row.split(" | ").next().unwrap()[2..].to_owned()).collect();
    assert_eq!(told, names());
}

macro_rules! conversations {
    ($($name:ident: $subject:literal,)*) => {
        $(#[test] fn $name() { hold($subject); })*

        #[test]
        fn every_subject_is_talked_about() {
            let files = fs::read_dir(install_claude().join("conversations")).unwrap();
            let subjects: BTreeSet<String> =
                files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
            assert_eq!(subjects, BTreeSet::from([$($subject.to_owned()),*]));
        }
    };
}

conversations! {
    displays_follow: "display",
    hooks_are_answered_and_asked: "hooks",
    malformed_input_is_taken_as_the_client_takes_it: "inputs",
    the_client_leads_a_team: "lead",
    the_client_makes_tasks_while_we_write: "locks",
    the_client_is_a_member_of_our_team: "member",
    native_tools_and_our_commands_take_turns: "mixed",
    an_agent_and_its_people_share_a_list: "one-list",
    set_up_and_plugin_are_found: "setup",
    stale_writes_are_noticed: "stale-writes",
    two_clients_share_a_list: "two-at-once",
}
