//! The file of passwords: `~/.pgpass`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::Secret;

/// The passwords that a file holds.
#[derive(Debug, Default)]
pub(crate) struct Passfile(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    /// Host, port, database, user; each may be `*`.
    of: [String; 4],
    password: Secret,
}

impl Passfile {
    /// Reads a file; one that is not there, or that other users may read, holds nothing.
    pub(crate) fn read(path: &Path) -> Self {
        match fs::read_to_string(path) {
            Ok(_) if is_open_to_others(path) => {
                tracing::warn!(path = %path.display(), "others can read it, so it is ignored; run `chmod 600` on it");
                Self::default()
            }
            Ok(text) => Self::parse(&text),
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    tracing::warn!(path = %path.display(), %error, "cannot be read");
                }
                Self::default()
            }
        }
    }

    fn parse(text: &str) -> Self {
        Self(text.lines().filter(|line| !line.starts_with('#')).filter_map(Entry::parse).collect())
    }

    /// Returns the first password that fits.
    pub(crate) fn password(&self, host: &str, port: u16, database: &str, user: &str) -> Option<&Secret> {
        let port = port.to_string();
        let wanted = [host, &port, database, user];
        let fits = |entry: &&Entry| entry.of.iter().zip(wanted).all(|(of, wanted)| of == "*" || of == wanted);
        self.0.iter().find(fits).map(|entry| &entry.password)
    }
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = vec![String::new()];
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            if letter == ':' && fields.len() < 5 {
                fields.push(String::new());
                continue;
            }
            let letter = if letter == '\\' { letters.next() } else { Some(letter) };
            fields.last_mut()?.extend(letter);
        }
        let password = fields.pop().filter(|password| !password.is_empty())?;
        Some(Self { of: fields.try_into().ok()?, password: Secret::new(password) })
    }
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_path: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::Passfile;

    fn password(text: &str, host: &str, user: &str) -> Option<String> {
        Passfile::parse(text).password(host, 5432, "db", user).map(|secret| secret.reveal().to_owned())
    }

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# a comment\nother:5432:db:ana:no\nhost:*:db:ana:first\nhost:5432:db:ana:second\n*:*:*:*:rest\n";
        assert_eq!(password(text, "host", "ana").as_deref(), Some("first"));
        assert_eq!(password(text, "host", "ben").as_deref(), Some("rest"));
        assert_eq!(password("host:5433:db:ana:x\n", "host", "ana"), None);
    }

    #[test]
    fn colons_and_backslashes_are_written_with_a_backslash_before_them() {
        assert_eq!(password(r"::1:5432:db:ana:x", "::1", "ana"), None);
        assert_eq!(password(r"\:\:1:5432:db:ana:a\:b\\c", "::1", "ana").as_deref(), Some(r"a:b\c"));
        assert_eq!(password("host:5432:db:ana:a:b", "host", "ana").as_deref(), Some("a:b"));
    }

    #[test]
    fn a_line_that_is_none_is_passed_over() {
        assert_eq!(
            password("host:5432:db\n\nhost:5432:db:ana:\nhost:5432:db:ana:x", "host", "ana").as_deref(),
            Some("x")
        );
    }
}
