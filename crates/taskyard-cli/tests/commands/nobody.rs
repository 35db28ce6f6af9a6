//! Commands under a user whom permissions hold back.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use taskyard_testkit::{NOBODY, Program, is_root};

use crate::test::Test;

/// Runs a command as nobody and writes down what it said.
pub(crate) fn run_as_nobody(test: &mut Test, arguments: &str) {
    let mut command = as_nobody(test);
    command.args(arguments.split(' '));
    test.note(&format!("taskyard {arguments}"), &command.output());
}

/// Returns a command under a user whom permissions hold back, with the binary where that user can reach it.
pub(crate) fn as_nobody(test: &Test) -> Program {
    if !is_root() {
        return test.command(env!("CARGO_BIN_EXE_taskyard"));
    }
    let binary = test.path("taskyard");
    if !binary.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_taskyard"), &binary).unwrap();
        std::fs::set_permissions(test.path("."), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = test.command(binary);
    command.as_nobody();
    command
}

/// Sets the rights on a path; our data directory is nobody's meanwhile.
pub(crate) fn permit(test: &Test, path: &str, mode: u32) {
    give_away(&test.path("data"));
    std::fs::set_permissions(test.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Lets everybody write here and below.
pub(crate) fn open_up(path: &Path) {
    permit_below(path, 0o777, 0o666);
}

/// Lets nobody but root write here and below.
fn close_off(path: &Path) {
    permit_below(path, 0o555, 0o444);
}

/// Makes what is here and below nobody's, and private.
pub(crate) fn give_away(path: &Path) {
    permit_below(path, 0o700, 0o600);
    belong_below(path, NOBODY);
}

/// Makes what is here and below root's; nobody can read it and not write it.
pub(crate) fn take_back(path: &Path) {
    close_off(path);
    belong_below(path, 0);
}

fn belong_below(path: &Path, owner: u32) {
    if !is_root() {
        return;
    }
    if path.is_dir() {
        for inner in std::fs::read_dir(path).unwrap() {
            belong_below(&inner.unwrap().path(), owner);
        }
    }
    std::os::unix::fs::lchown(path, Some(owner), Some(owner)).unwrap();
}

fn permit_below(path: &Path, directories: u32, files: u32) {
    if path.is_dir() {
        for inner in std::fs::read_dir(path).unwrap() {
            permit_below(&inner.unwrap().path(), directories, files);
        }
    }
    let mode = if path.is_dir() { directories } else { files };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
