//! The token that lets programs in.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::problem::Problem;

/// The file in our data directory.
const NAME: &str = "serve-token";
/// So many random bytes it is made of.
const BYTES: usize = 32;

/// The token that lets programs in, and the file that holds it. Only the user can read that file.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    secret: String,
    path: PathBuf,
}

impl Token {
    /// Reads the token, or makes it where there is none yet.
    pub(crate) fn load_or_make(data: &Path) -> Result<Self, Problem> {
        let path = data.join(NAME);
        let failed = |error: &io::Error| {
            Problem::io(&format!("cannot use the token `{}`", path.display()), error)
                .hint("see that this path can be written, or set TASKYARD_HOME to another directory")
        };
        let secret = match read(&path).map_err(|error| failed(&error))? {
            Some(secret) => secret,
            None => {
                make(data, &path).map_err(|error| failed(&error))?;
                // Another server may have been faster; what is there now counts.
                read(&path).map_err(|error| failed(&error))?.unwrap_or_default()
            }
        };
        if secret.len() < BYTES {
            return Err(Problem::new(
                Exit::CouldNot,
                "token",
                format!("the token in `{}` is too short", path.display()),
            )
            .hint("remove the file; the next start makes a new one"));
        }
        Ok(Self { secret, path })
    }

    /// Returns where it is kept.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Tells whether this is the token, in a time that does not depend on how much of it is right.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (secret, given) = (self.secret.as_bytes(), given.as_bytes());
        let differences = secret.iter().zip(given).fold(0, |all, (left, right)| all | (left ^ right));
        secret.len() == given.len() && differences == 0
    }
}

/// Reads the token, and takes away from others the right to do so.
fn read(path: &Path) -> io::Result<Option<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    let mut secret = String::new();
    file.read_to_string(&mut secret)?;
    Ok(Some(secret.trim().to_owned()))
}

/// Makes the token where there is none: it appears whole or not at all, and never in the place of another.
fn make(data: &Path, path: &Path) -> io::Result<()> {
    fs::create_dir_all(data)?;
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
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut bytes = [0; BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = options.open(path)?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::Token;

    #[test]
    fn a_token_is_made_once_and_only_the_user_can_read_it() {
        let data = tempfile::tempdir().unwrap();
        let token = Token::load_or_make(&data.path().join("new")).unwrap();
        let mode = || fs::metadata(token.path()).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(token.path(), fs::Permissions::from_mode(0o644)).unwrap();
        let again = Token::load_or_make(&data.path().join("new")).unwrap();
        assert_eq!((again.secret.as_str(), mode()), (token.secret.as_str(), 0o600));
        assert_eq!(token.secret.len(), 64);
        assert!(token.is(&again.secret));
        for wrong in ["", &token.secret[1..], &format!("{}0", token.secret), &"0".repeat(64)] {
            assert!(!token.is(wrong));
        }
    }

    #[test]
    fn a_token_that_is_too_short_lets_nobody_in() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join(super::NAME), "\n").unwrap();
        assert!(Token::load_or_make(data.path()).is_err());
    }
}
