//! Programs of others that know nothing of us but the document.

use std::path::Path;

use taskyard_testkit::{Program, Scale};

/// Runs a script to its end, which has to succeed, and returns what it prints.
fn run(script: &str, words: &[&str]) -> String {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    Program::inheriting(project.join("scripts").join(script)).args(words).succeed()
}

#[test]
fn fuzzed_requests_find_no_error_or_undescribed_answer() {
    let requests = Scale::from_environment(0.05).of(20).to_string();
    let told = run("fuzz-api", &[&requests, env!("CARGO_BIN_EXE_taskyard")]);
    assert!(told.contains(" generated, "), "{told}");
}

#[test]
fn generated_client_creates_claims_and_completes() {
    let told = run("generated-client", &[env!("CARGO_BIN_EXE_taskyard")]);
    assert!(told.contains("created, claimed, completed"), "{told}");
}
