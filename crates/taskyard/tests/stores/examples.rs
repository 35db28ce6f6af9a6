//! The examples of the library's page run, and do what they say.

use taskyard_testkit::{Program, example};

fn output(name: &str) -> String {
    let program = example("taskyard", name);
    Program::new(program).succeed()
}

#[test]
fn a_list_is_made_and_followed() {
    assert_eq!(output("create_and_follow"), "ready now: [#2]\nrevision 3: ana update #1\n");
}

#[test]
fn two_workers_do_every_task_once() {
    let output = output("worker");
    let mut taken: Vec<&str> = output.lines().filter_map(|line| line.split(" takes ").nth(1)).collect();
    taken.sort_unstable();
    assert_eq!(taken.len(), 8, "{output}");
    taken.dedup();
    assert_eq!(taken.len(), 8, "a task was done twice: {output}");
}

#[test]
fn a_store_of_ones_own_keeps_a_journal() {
    assert_eq!(output("own_store"), "revision 1: ana create #1\nrevision 2: ana update #1\n");
}

#[test]
fn a_team_shares_a_list_and_writes() {
    let output = output("teams");
    assert!(output.contains("ana has #1 Design the schema"), "{output}");
    assert!(output.contains("to ana, from team-lead: How far are you?"), "{output}");
}
