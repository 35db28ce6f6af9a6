//! Files that the process that started us left open for us.
//!
//! A job lives long, and must not hold them: a lock on one, the pipe at the other end of which a reader waits for its end. Closing a file
//! descriptor whose owner we do not know is not for safe Rust, so a shell does it, where there is anything to close.

use std::path::Path;
use std::process::Command;

/// The bit that says that a file is closed when another program is begun.
const CLOSED_ON_EXEC: u32 = 0o2_000_000;
/// The first number that is not stdin, stdout or stderr.
const FIRST: u32 = 3;

/// Returns a command for our program that begins without the files that were left open for us.
pub(crate) fn without_inherited_files(program: &Path) -> Command {
    // What stands for the running program would stand for the shell.
    let held = if program.starts_with("/proc") { Vec::new() } else { inherited() };
    let shell = ["/bin/bash", "/usr/bin/bash", "/bin/sh"].into_iter().find(|shell| Path::new(shell).exists());
    let (Some(shell), false) = (shell, held.is_empty()) else { return Command::new(program) };
    // Not every shell knows numbers of more than one digit.
    let is_known = |number: &&u32| **number < 10 || shell.ends_with("bash");
    let closing: Vec<String> = held.iter().filter(is_known).map(|number| format!("{number}>&-")).collect();
    let mut command = Command::new(shell);
    command.arg("-c").arg(format!(r#"exec "$0" "$@" {}"#, closing.join(" "))).arg(program);
    command
}

/// Returns the numbers of the files that a program we start would find open.
fn inherited() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fdinfo") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut held: Vec<u32> = numbers.filter(|number| *number >= FIRST && is_inherited(*number)).collect();
    held.sort_unstable();
    held
}

fn is_inherited(number: u32) -> bool {
    let Ok(text) = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else { return false };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & CLOSED_ON_EXEC == 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{inherited, is_inherited};

    #[test]
    fn what_we_open_ourselves_is_not_inherited() {
        use std::os::fd::AsRawFd as _;

        let file = std::fs::File::open("/dev/null").unwrap();
        let number = u32::try_from(file.as_raw_fd()).unwrap();
        assert!(!is_inherited(number) && !inherited().contains(&number));
        // Stdin is, and is not our business here.
        assert!(is_inherited(0) && inherited().iter().all(|number| *number > 2));
    }
}
