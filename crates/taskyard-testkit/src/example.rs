//! The examples of our crates, as programs.

use std::path::PathBuf;

use crate::process::Program;

/// Returns the program of an example. Cargo builds examples together with all tests of a crate; where only some were asked for, they
/// are built now.
pub fn example(package: &str, name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("tests lie in a folder of their profile");
    let program = profile.join("examples").join(name);
    if !program.exists() {
        let mut cargo = Program::inheriting(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let built = cargo.args(["build", "--quiet", "--package", package, "--examples"]).status();
        assert!(built.success(), "the examples of {package} are not built");
    }
    program
}
