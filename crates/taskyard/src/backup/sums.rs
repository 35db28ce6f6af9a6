//! The sums of everything in a backup, as `sha256sum` writes and checks them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// The name of the file.
pub(super) const FILE: &str = "SHA256SUMS";

/// The sum of one file.
pub(super) type Sum = [u8; 32];

/// The sums by the names of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums(pub(super) BTreeMap<String, Sum>);

/// Returns the sum of some bytes.
pub(super) fn sum_of(bytes: &[u8]) -> Sum {
    Sha256::digest(bytes).into()
}

/// Returns the sum of everything that can be read.
pub(super) fn sum_of_all(mut from: impl Read) -> io::Result<Sum> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(digest.finalize().into()),
            Ok(read) => digest.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Sums {
    /// Writes a line for each file. Names with line ends or backslashes are written as `sha256sum` does.
    pub(super) fn print(&self) -> String {
        let mut text = String::new();
        for (name, sum) in &self.0 {
            let escaped = name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
            if escaped != *name {
                text.push('\\');
            }
            for byte in sum {
                let _ = write!(text, "{byte:02x}");
            }
            let _ = writeln!(text, "  {escaped}");
        }
        text
    }

    /// Reads the lines; none where one of them is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.lines().map(line).collect::<Option<BTreeMap<_, _>>>().map(Self)
    }
}

fn line(line: &str) -> Option<(String, Sum)> {
    let (line, is_escaped) = line.strip_prefix('\\').map_or((line, false), |line| (line, true));
    let (digits, name) = line.split_at_checked(64)?;
    let name = name.strip_prefix("  ").or_else(|| name.strip_prefix(" *"))?;
    let mut sum = Sum::default();
    for (byte, place) in sum.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(place..place + 2)?, 16).ok()?;
    }
    Some((if is_escaped { unescaped(name) } else { name.to_owned() }, sum))
}

fn unescaped(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut characters = name.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::{FILE, Sums, sum_of, sum_of_all};

    #[test]
    fn the_sums_are_those_that_sha256sum_checks_whatever_the_names() {
        let folder = tempfile::tempdir().unwrap();
        let mut sums = Sums::default();
        for name in ["plain.json", "with space", "line\nend", "back\\slash", "ümlaut"] {
            fs::write(folder.path().join(name), name).unwrap();
            sums.0.insert(name.to_owned(), sum_of(name.as_bytes()));
            assert_eq!(sum_of_all(name.as_bytes()).unwrap(), sum_of(name.as_bytes()));
        }
        fs::write(folder.path().join(FILE), sums.print()).unwrap();
        let check =
            |folder| Command::new("sha256sum").args(["-c", "--strict", FILE]).current_dir(folder).output().unwrap();
        let checked = check(folder.path());
        assert!(checked.status.success(), "{checked:?}");
        assert_eq!(Sums::parse(&sums.print()), Some(sums));
        fs::write(folder.path().join("plain.json"), "other").unwrap();
        assert!(!check(folder.path()).status.success());
    }

    #[test]
    fn what_is_no_line_of_sums_is_not_taken_for_one() {
        for text in ["x", &"0".repeat(64), &format!("{} one", "g".repeat(64)), &format!("{}x  one", "0".repeat(63))] {
            assert_eq!(Sums::parse(text), None, "{text}");
        }
    }
}
