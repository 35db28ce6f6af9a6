//! The file in which the client keeps variables for the commands of a session (`CLAUDE_ENV_FILE`).

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use taskyard::operations::shell_word;

/// Sets a variable for the commands that the client runs later, unless the file sets it to that already.
pub(crate) fn set(path: &Path, variable: &str, value: &str) -> io::Result<()> {
    let line = format!("export {variable}={}", shell_word(value));
    let present = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        present => present?,
    };
    let assignment = format!("export {variable}=");
    // The shell that reads the file believes the last line.
    if present.lines().rev().find(|line| line.starts_with(&assignment)) == Some(line.as_str()) {
        return Ok(());
    }
    let before = if present.is_empty() || present.ends_with('\n') { "" } else { "\n" };
    // In one write: other hooks of the session append to the same file.
    OpenOptions::new().append(true).create(true).open(path)?.write_all(format!("{before}{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::set;

    #[test]
    fn a_variable_is_set_once_and_what_others_set_stays() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("env.sh");
        for value in ["claude-code-1", "claude-code-1", "it's"] {
            set(&file, "A", value).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "export A=claude-code-1\nexport A='it'\\''s'\n");
        std::fs::write(&file, "export B=2").unwrap();
        set(&file, "A", "x").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "export B=2\nexport A=x\n");
    }
}
