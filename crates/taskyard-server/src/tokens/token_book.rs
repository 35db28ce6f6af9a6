//! The file of named tokens and browsers. Specified in `docs/formats/tokens.md`.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use taskyard::core::Timestamp;
use taskyard::private::{self, NotPrivate};

use super::browser_record::BrowserRecord;
use super::digest::{digest, random_secret};
use super::scope::Scope;

/// The file in the data directory.
const NAME: &str = "serve-tokens.json";
/// The file that writers lock.
const LOCK: &str = "serve-tokens.lock";
/// Prefix by which people recognize our tokens.
const PREFIX: &str = "ty_";
const VERSION: u64 = 1;

/// The stored record of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// The token's name, unique within the file.
    pub name: String,
    /// What its holder may do.
    pub scope: Scope,
    digest: String,
    /// When it was created, in milliseconds since 1970.
    pub made: i64,
    /// When it expires, in milliseconds since 1970; `None` for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    /// Unknown fields of later versions, preserved.
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Book {
    version: u64,
    tokens: Vec<TokenRecord>,
    /// Absent in files older than the recording of browsers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) browsers: Vec<BrowserRecord>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Default for Book {
    fn default() -> Self {
        Self { version: VERSION, tokens: Vec::new(), browsers: Vec::new(), others: Map::new() }
    }
}

impl Book {
    /// Returns whether the token behind a browser's link is still valid. The server's own always is.
    pub(super) fn has_token_of(&self, browser: &BrowserRecord, now: Timestamp) -> bool {
        let counts = |name: &String| self.tokens.iter().any(|token| token.name == *name && token.counts(now));
        browser.token.as_ref().is_none_or(counts)
    }
}

/// Why an operation on tokens failed.
#[derive(Debug)]
pub enum TokenProblem {
    /// The file cannot be read or written.
    #[allow(missing_docs)]
    Io { path: PathBuf, source: io::Error },
    /// The file is malformed, or written by a newer Taskyard.
    #[allow(missing_docs)]
    NotOurs { path: PathBuf, why: String },
    /// A valid token of that name exists.
    Taken,
    /// No token or browser has that name.
    Unknown,
    /// The name is invalid.
    BadName,
}

/// The named tokens of a data directory.
#[derive(Debug)]
pub struct TokenBook {
    data: PathBuf,
    known: Mutex<Known>,
}

/// The last contents read, and the identity of that file version.
#[derive(Debug, Default)]
struct Known {
    of: Option<(SystemTime, u64, u64)>,
    book: Book,
}

impl TokenBook {
    /// Returns the tokens of a data directory. Reads nothing yet.
    pub fn of(data: &Path) -> Self {
        Self { data: data.to_owned(), known: Mutex::default() }
    }

    /// Returns all tokens, including expired ones.
    pub fn all(&self) -> Result<Vec<TokenRecord>, TokenProblem> {
        Ok(self.read()?.tokens)
    }

    /// Returns the valid token with this secret. Does not read the file again if it is unchanged.
    pub(crate) fn find(&self, secret: &str, now: Timestamp) -> Result<Option<TokenRecord>, TokenProblem> {
        if !has_form(secret) {
            return Ok(None);
        }
        let digest = digest(secret);
        self.look(|book| book.tokens.iter().find(|token| token.digest == digest && token.counts(now)).cloned())
    }

    /// Returns whether the secret belonged to a token when the file was last read. Does not access the disk.
    pub(crate) fn has_known(&self, secret: &str) -> bool {
        let is_known = |digest: &str| self.known().book.tokens.iter().any(|token| token.digest == digest);
        has_form(secret) && is_known(&digest(secret))
    }

    /// Returns whether a browser had this cookie digest when the file was last read. Does not access the disk.
    pub(crate) fn has_known_browser(&self, cookie: &str) -> bool {
        self.known().book.browsers.iter().any(|browser| browser.cookie == cookie)
    }

    /// Returns the digests of all valid tokens and of all browsers' cookies. An idle browser is included, since it
    /// may still be listening.
    pub(crate) fn valid(&self, now: Timestamp) -> Result<HashSet<String>, TokenProblem> {
        self.look(|book| {
            let tokens = book.tokens.iter().filter(|token| token.counts(now)).map(|token| token.digest.clone());
            let browsers = book.browsers.iter().filter(|browser| book.has_token_of(browser, now));
            tokens.chain(browsers.map(|browser| browser.cookie.clone())).collect()
        })
    }

    /// Passes the contents of the file to `look`. Reads the file only if it has changed.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Book) -> T) -> Result<T, TokenProblem> {
        let mut known = self.known();
        let stamp = self.stamp();
        if stamp.is_none() || known.of != stamp {
            *known = Known { of: stamp, book: self.read()? };
        }
        Ok(look(&known.book))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a token and returns its secret, which cannot be retrieved later.
    pub fn create(
        &self,
        name: &str,
        scope: Scope,
        life: Option<Duration>,
        now: Timestamp,
    ) -> Result<(TokenRecord, String), TokenProblem> {
        let is_name = |character: char| character.is_ascii_alphanumeric() || "-_.@".contains(character);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
            return Err(TokenProblem::BadName);
        }
        let secret = format!("{PREFIX}{}", random_secret().map_err(|source| self.io(source))?);
        let expires = life.map(|life| now.0.saturating_add(i64::try_from(life.as_millis()).unwrap_or(i64::MAX)));
        let record = TokenRecord {
            name: name.to_owned(),
            scope,
            digest: digest(&secret),
            made: now.0,
            expires,
            others: Map::new(),
        };
        self.change(|book| {
            if book.tokens.iter().any(|token| token.name == name && token.counts(now)) {
                return Err(TokenProblem::Taken);
            }
            book.tokens.retain(|token| token.name != name);
            book.tokens.push(record.clone());
            Ok(())
        })?;
        Ok((record, secret))
    }

    /// Revokes a token or a browser, effective from the next request. Tokens and browsers never share a name.
    pub fn revoke(&self, name: &str) -> Result<(), TokenProblem> {
        self.change(|book| {
            let before = book.tokens.len() + book.browsers.len();
            book.tokens.retain(|token| token.name != name);
            book.browsers.retain(|browser| browser.name != name);
            let is_gone = book.tokens.len() + book.browsers.len() < before;
            if is_gone { Ok(()) } else { Err(TokenProblem::Unknown) }
        })
    }

    fn path(&self) -> PathBuf {
        self.data.join(NAME)
    }

    pub(super) fn io(&self, source: io::Error) -> TokenProblem {
        TokenProblem::Io { path: self.path(), source }
    }

    fn stamp(&self) -> Option<(SystemTime, u64, u64)> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = fs::metadata(self.path()).ok()?;
        Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
    }

    fn read(&self) -> Result<Book, TokenProblem> {
        let mut file = match private::open_to_read(&self.path()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Book::default()),
            Err(error) => return Err(self.io(error)),
        };
        let mut text = String::new();
        check_owner(&file, &self.path())
            .and_then(|()| file.read_to_string(&mut text))
            .map_err(|error| self.io(error))?;
        let not_ours = |why: String| TokenProblem::NotOurs { path: self.path(), why };
        let book: Book = serde_json::from_str(&text).map_err(|error| not_ours(error.to_string()))?;
        match book.version {
            VERSION => Ok(book),
            newer => Err(not_ours(format!("its format {newer} is newer than this version supports"))),
        }
    }

    /// Changes the file atomically, serialized with other writers.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut Book) -> Result<(), TokenProblem>,
    ) -> Result<(), TokenProblem> {
        private::make_data_directory(&self.data).map_err(|error| self.io(error))?;
        let lock = self.data.join(LOCK);
        match private::create_new(&lock) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(self.io(error)),
            _ => {}
        }
        let locked = private::open_to_read(&lock).map_err(|error| self.io(error))?;
        flock(&locked, FlockOperation::LockExclusive).map_err(|error| self.io(error.into()))?;
        let mut book = self.read()?;
        change(&mut book)?;
        let written = serde_json::to_string_pretty(&book).map_err(|error| self.io(error.into()))?;
        self.replace(&written).map_err(|error| self.io(error))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let temporary = self.data.join(format!(".{NAME}.{}.tmp", std::process::id()));
        let _ = fs::remove_file(&temporary);
        let mut file = private::create_new(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, self.path())
    }
}

impl TokenRecord {
    /// Returns the digest of the secret.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns whether the token is valid at a time.
    pub fn counts(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now.0 < expires)
    }
}

/// Returns whether a text has the form of a token. Anything else is rejected without a lookup.
fn has_form(secret: &str) -> bool {
    let digits = secret.strip_prefix(PREFIX);
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Rejects a file that another user owns or can write to: that user could grant access to anyone.
#[cfg(unix)]
fn check_owner(file: &fs::File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = file.metadata()?;
    if !private::is_ours_or_roots(metadata.uid()) {
        return Err(NotPrivate::ForeignOwner { path: path.to_owned(), owner: metadata.uid() }.into());
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(NotPrivate::OpenToOthers { path: path.to_owned() }.into());
    }
    Ok(())
}

/// Other systems have no such ownership.
#[cfg(not(unix))]
fn check_owner(_: &fs::File, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use taskyard::core::Timestamp;

    use super::{NAME, Scope, TokenBook, TokenProblem};

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    #[test]
    fn a_secret_is_known_until_it_is_revoked_or_its_time_is_over() {
        let data = tempfile::tempdir().unwrap();
        let book = TokenBook::of(data.path());
        let (_, work) = book.create("ci", Scope::Work, None, NOW).unwrap();
        let (_, short) = book.create("short", Scope::Read, Some(Duration::from_secs(5)), NOW).unwrap();
        assert_eq!(book.find(&work, NOW).unwrap().unwrap().scope, Scope::Work);
        assert_eq!(book.find(&short, NOW).unwrap().unwrap().name, "short");
        assert!(book.find(&short, Timestamp(NOW.0 + 5_000)).unwrap().is_none());
        for wrong in ["", "ty_", &work[3..], &format!("{work}0")] {
            assert!(book.find(wrong, NOW).unwrap().is_none());
        }
        assert!(matches!(book.create("ci", Scope::All, None, NOW), Err(TokenProblem::Taken)));
        TokenBook::of(data.path()).revoke("ci").unwrap();
        assert!(book.find(&work, NOW).unwrap().is_none(), "another process revoked it");
        assert!(matches!(book.revoke("ci"), Err(TokenProblem::Unknown)));
    }

    #[test]
    fn a_token_counts_again_when_the_clock_is_set_right() {
        let data = tempfile::tempdir().unwrap();
        let book = TokenBook::of(data.path());
        let (_, secret) = book.create("ci", Scope::Work, Some(Duration::from_secs(5)), NOW).unwrap();
        assert!(book.find(&secret, Timestamp(NOW.0 + 1_000_000_000)).unwrap().is_none());
        assert!(book.find(&secret, Timestamp(NOW.0 + 4_000)).unwrap().is_some());
        assert!(book.find(&secret, Timestamp(NOW.0 - 1_000_000_000)).unwrap().is_some());
    }

    #[test]
    fn no_secret_is_in_the_file_and_only_the_user_reads_it() {
        let data = tempfile::tempdir().unwrap();
        let book = TokenBook::of(data.path());
        let (_, secret) = book.create("ci", Scope::Work, None, NOW).unwrap();
        let path = data.path().join(NAME);
        assert!(!fs::read_to_string(&path).unwrap().contains(&secret[3..]));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
        assert!(book.all().is_err(), "another user could let in anyone");
    }

    #[test]
    fn what_a_later_version_keeps_stays_and_its_format_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let (book, path) = (TokenBook::of(data.path()), data.path().join(NAME));
        book.create("ci", Scope::Work, None, NOW).unwrap();
        let text = fs::read_to_string(&path).unwrap().replace("\"name\": \"ci\"", "\"name\": \"ci\", \"used\": 7");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        book.create("two", Scope::Work, None, NOW).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"used\": 7"), "{text}");
        fs::write(&path, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
        assert!(matches!(book.create("three", Scope::Work, None, NOW), Err(TokenProblem::NotOurs { .. })));
    }

    #[test]
    fn a_name_is_one_word() {
        let data = tempfile::tempdir().unwrap();
        for name in ["", "a b", "a/b", "\u{1b}[2J", &"x".repeat(65)] {
            let made = TokenBook::of(data.path()).create(name, Scope::Read, None, NOW);
            assert!(matches!(made, Err(TokenProblem::BadName)), "{name}");
        }
    }
}
