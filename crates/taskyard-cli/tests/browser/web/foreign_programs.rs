//! Programs of others that know nothing of us but the document.

use std::path::Path;

use taskyard_testkit::{Program, Scale};

/// Runs a script to its end, which has to succeed, and returns what it prints.
fn run(script: &str, words: &[&str]) -> String {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    Program::inheriting(project.join("scripts").join(script)).args(words).succeed()
}

#[test]
fn made_up_requests_find_no_error_of_ours_and_no_answer_that_is_not_described() {
    let requests = Scale::from_environment(0.1).of(20).to_string();
    let told = run("fuzz-api", &[&requests, env!("CARGO_BIN_EXE_taskyard")]);
    assert!(told.contains(" generated, "), "{told}");
}

#[test]
fn a_client_that_was_generated_makes_claims_and_completes_a_task() {
    let told = run("generated-client", &[env!("CARGO_BIN_EXE_taskyard")]);
    assert!(told.contains("created, claimed, completed"), "{told}");
}
