//! The server's own token.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use taskyard::private::{self, NotPrivate};

use super::digest::random_secret;
use taskyard::core::problem::{Problem, ProblemKind};

/// The file in the data directory.
const NAME: &str = "serve-token";
/// Minimum length; a shorter token could be guessed.
const SHORTEST: usize = 32;

/// The server's own token and the file that contains it. Only the user can read that file.
#[derive(Clone, Debug)]
pub struct ServerToken {
    secret: String,
    path: PathBuf,
    was_readable: bool,
}

#[derive(Debug, Default)]
struct Found {
    secret: String,
    was_readable: bool,
}

impl ServerToken {
    /// Reads the token, creating it if it does not exist.
    pub fn load_or_make(data: &Path) -> Result<Self, Problem> {
        let path = data.join(NAME);
        let failed = |error: &io::Error| {
            let doubtful = error.get_ref().is_some_and(|why| why.is::<NotPrivate>());
            let hint = if doubtful {
                "another user may know it or have created it: remove it; the next start creates a new one"
            } else {
                "check that this path is writable, or set TASKYARD_HOME to another directory"
            };
            Problem::io(&format!("cannot use the token `{}`", path.display()), error).hint(hint)
        };
        let Found { secret, was_readable } = match read(&path).map_err(|error| failed(&error))? {
            Some(found) => found,
            None => {
                make(data, &path).map_err(|error| failed(&error))?;
                // Another server may have created it first; use what exists now.
                read(&path).map_err(|error| failed(&error))?.unwrap_or_default()
            }
        };
        if secret.len() < SHORTEST {
            return Err(Problem::new(
                ProblemKind::CouldNot,
                "token",
                format!("the token in `{}` is too short", path.display()),
            )
            .hint("remove the file; the next start creates a new one"));
        }
        Ok(Self { secret, path, was_readable })
    }

    /// Returns the secret.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns the path of the token file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether other users could read the file until now.
    pub fn was_readable(&self) -> bool {
        self.was_readable
    }

    /// Returns whether this is the token. Compares in constant time.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (secret, given) = (self.secret.as_bytes(), given.as_bytes());
        let differences = secret.iter().zip(given).fold(0, |all, (left, right)| all | (left ^ right));
        secret.len() == given.len() && differences == 0
    }
}

/// Reads the token and makes the file unreadable to other users. Fails if another user owns the file or can write to
/// it, and so may know the token.
fn read(path: &Path) -> io::Result<Option<Found>> {
    let mut file = match private::open_to_read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut found = Found::default();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let metadata = file.metadata()?;
        if !private::is_ours_or_roots(metadata.uid()) {
            return Err(NotPrivate::ForeignOwner { path: path.to_owned(), owner: metadata.uid() }.into());
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(NotPrivate::OpenToOthers { path: path.to_owned() }.into());
        }
        found.was_readable = metadata.mode() & 0o077 != 0;
        if found.was_readable {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    file.read_to_string(&mut found.secret)?;
    found.secret = found.secret.trim().to_owned();
    Ok(Some(found))
}

/// Creates the token file atomically. Never replaces an existing one.
fn make(data: &Path, path: &Path) -> io::Result<()> {
    private::make_data_directory(data)?;
    let temporary = data.join(format!(".{NAME}.{}.tmp", std::process::id()));
    let _ = fs::remove_file(&temporary);
    let made = write(&temporary).and_then(|()| match fs::hard_link(&temporary, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    let _ = fs::remove_file(&temporary);
    made
}

fn write(path: &Path) -> io::Result<()> {
    let secret = random_secret()?;
    let mut file = private::create_new(path)?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::ServerToken;

    #[test]
    fn a_token_is_made_once_and_only_the_user_can_read_it() {
        let data = tempfile::tempdir().unwrap();
        let token = ServerToken::load_or_make(&data.path().join("new")).unwrap();
        let mode = || fs::metadata(token.path()).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(token.path(), fs::Permissions::from_mode(0o644)).unwrap();
        let again = ServerToken::load_or_make(&data.path().join("new")).unwrap();
        assert_eq!((again.secret.as_str(), mode()), (token.secret.as_str(), 0o600));
        assert_eq!(token.secret.len(), 64);
        assert!(token.is(&again.secret));
        for wrong in ["", &token.secret[1..], &format!("{}0", token.secret), &"0".repeat(64)] {
            assert!(!token.is(wrong));
        }
    }

    #[test]
    fn a_token_that_others_can_write_is_refused_and_so_is_a_link() {
        let data = tempfile::tempdir().unwrap();
        let token = ServerToken::load_or_make(data.path()).unwrap();
        for mode in [0o620, 0o602, 0o666] {
            fs::set_permissions(token.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert!(ServerToken::load_or_make(data.path()).is_err(), "{mode:o}");
        }
        fs::set_permissions(token.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let elsewhere = data.path().join("elsewhere");
        fs::rename(token.path(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, token.path()).unwrap();
        assert!(ServerToken::load_or_make(data.path()).is_err());
    }

    #[test]
    fn a_token_of_another_user_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let token = ServerToken::load_or_make(data.path()).unwrap();
        // Only root can change a file's owner.
        if std::os::unix::fs::chown(token.path(), Some(65534), None).is_ok() {
            let problem = ServerToken::load_or_make(data.path()).unwrap_err();
            assert!(problem.report().message.contains("another user"), "{problem:?}");
        }
    }

    #[test]
    fn a_token_that_is_too_short_lets_nobody_in() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join(super::NAME), "\n").unwrap();
        assert!(ServerToken::load_or_make(data.path()).is_err());
    }
}
