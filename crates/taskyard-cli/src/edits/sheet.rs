//! One text that is being edited.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{FlockOperation, flock};
use taskyard::private::{create_new, open_existing, open_to_read};

/// A text that is being edited, and what it began as. Dropped, it stays where it is.
#[derive(Debug)]
pub(crate) struct Sheet {
    path: PathBuf,
    /// Held while an editor has the text open.
    _lock: File,
}

impl Sheet {
    /// Makes the files of a text where there are none.
    pub(super) fn make(path: &Path, text: &str, base: &str) -> io::Result<Self> {
        let lock = create_new(&base_of(path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let sheet = Self { path: path.to_owned(), _lock: lock };
        let written = (&sheet._lock).write_all(base.as_bytes()).and_then(|()| {
            let mut file = create_new(path)?;
            file.write_all(text.as_bytes())
        });
        if let Err(error) = written {
            // The user has typed nothing yet. A text that was there under that name is not ours to remove.
            let is_others = error.kind() == io::ErrorKind::AlreadyExists;
            let _ = fs::remove_file(base_of(path));
            if !is_others {
                let _ = fs::remove_file(path);
            }
            return Err(error);
        }
        Ok(sheet)
    }

    /// Takes up a text that was left; none where an editor has it open.
    pub(super) fn take_up(path: &Path) -> io::Result<Option<Self>> {
        let lock = open_existing(&base_of(path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { path: path.to_owned(), _lock: lock })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns where the text is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text as it is now. One that is no UTF-8 is an error of the kind `InvalidData`.
    pub(crate) fn read(&self) -> io::Result<String> {
        fs::read_to_string(&self.path)
    }

    /// Returns what the text began as.
    pub(crate) fn base(&self) -> io::Result<String> {
        let mut text = String::new();
        open_to_read(&base_of(&self.path))?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Puts another text in the place of this one, all of it or nothing, and notes what it began as.
    pub(crate) fn replace(&self, text: &str, base: &str) -> io::Result<()> {
        let new = behind(&self.path, ".new");
        let written = create_new(&new).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written?;
        // A user who takes the text up merges it with what it began as: an older one tells of more conflicts, not of
        // fewer.
        let base_path = base_of(&self.path);
        let mut file = open_existing(&base_path)?;
        file.set_len(0)?;
        file.write_all(base.as_bytes())
    }

    /// Removes the text: it is saved, or nothing came of it.
    pub(crate) fn put_away(self) {
        for path in [self.path.clone(), base_of(&self.path)] {
            if let Err(error) = fs::remove_file(&path) {
                tracing::debug!(path = %path.display(), %error, "the text of an edit stays");
            }
        }
    }
}

/// Returns where it stands what a text began as.
pub(super) fn base_of(path: &Path) -> PathBuf {
    behind(path, ".base")
}

fn behind(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}
