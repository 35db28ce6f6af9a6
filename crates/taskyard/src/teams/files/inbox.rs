//! One inbox on disk.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use taskyard_core::dialect::inbox::{self, BadInbox, Contents, EMPTY, LARGEST, Manner};
use taskyard_core::{ClientVersion, Message, MessageKey};

use super::known_whole::KnownWhole;
use crate::store::{Found, Guarded, Replaced, StoreError, read_unlocked};
use crate::teams::{SetAside, TeamError};
use crate::{clock, private};

/// How often a change begins again because a client wrote without the lock.
const ATTEMPTS: u32 = 16;
/// ... the first of them with the client kept out only while the file is replaced.
const EAGER_ATTEMPTS: u32 = 3;
/// How long an inbox that seems to be in the middle of being written is looked at again.
const LONGEST_PAUSE: Duration = Duration::from_millis(150);

/// An inbox.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    pub(super) path: PathBuf,
    /// Where our processes queue for the locks of inboxes.
    pub(super) queues: PathBuf,
    pub(super) whole: KnownWhole,
}

/// What an inbox is to hold.
enum Draft {
    /// As it is.
    Unchanged,
    /// This, made from what could be read.
    Sure(Vec<u8>),
    /// This, which is whole where the inbox was.
    Unsure(Vec<u8>),
}

impl Inbox {
    /// Adds a message. The directory of the inbox is made where the one above it exists.
    pub(super) fn append(&self, message: &Message, version: ClientVersion) -> Result<(), TeamError> {
        if let Some(directory) = self.path.parent() {
            match fs::create_dir(directory) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(TeamError::io("cannot create", directory)(error));
                }
                _ => {}
            }
        }
        self.change_keeping(|bytes| Ok((Draft::Unsure(inbox::append(bytes, message, version)?), ())), |()| Ok(()))
    }

    /// Takes messages out that the recipient has read, and what is no message where it is to be set aside.
    pub(super) fn consume(
        &self,
        is_read: impl Fn(&MessageKey) -> bool,
        manner: Manner,
        aside: Option<&Path>,
    ) -> Result<(HashSet<MessageKey>, Option<SetAside>), TeamError> {
        if self.path.symlink_metadata().is_err() {
            return Ok((HashSet::new(), None));
        }
        let mut kept = None;
        let (taken, malformed) = self.change_keeping(
            |bytes| {
                let consumed = inbox::consume(&bytes, &is_read, manner, aside.is_some())?;
                let draft = consumed.bytes.map_or(Draft::Unchanged, Draft::Sure);
                Ok((draft, (consumed.taken, consumed.set_aside)))
            },
            // Kept before it is taken out, so that it is never nowhere.
            |(_, malformed): &(HashSet<MessageKey>, Vec<Value>)| {
                if let Some(folder) = aside.filter(|_| !malformed.is_empty() && kept.is_none()) {
                    kept = Some(keep_aside(folder, &self.path, malformed)?);
                }
                Ok(())
            },
        )?;
        let set_aside = kept.map(|path| SetAside { kept_in: path.display().to_string(), count: malformed.len() });
        Ok((taken, set_aside))
    }

    /// Reads it without its lock; none where there is none. One that seems to be half written is looked at again for a while.
    pub(super) fn read(&self) -> Result<Option<Contents>, TeamError> {
        let mut pause = Duration::from_micros(250);
        loop {
            let why = match read_unlocked(&self.path, LARGEST).map_err(TeamError::io("cannot read", &self.path))? {
                Found::Nothing => return Ok(None),
                found => match bytes_of(found).and_then(|bytes| inbox::read(&bytes)) {
                    Ok(contents) => return Ok(Some(contents)),
                    Err(why) => why,
                },
            };
            if !why.may_be_torn() || pause > LONGEST_PAUSE {
                return Err(TeamError::bad_inbox(&self.path, why));
            }
            thread::sleep(pause);
            pause *= 2;
        }
    }

    /// Changes it under its lock. `before` is called with what came of it before the file is replaced.
    fn change_keeping<T>(
        &self,
        change: impl Fn(Vec<u8>) -> Result<(Draft, T), BadInbox>,
        mut before: impl FnMut(&T) -> Result<(), TeamError>,
    ) -> Result<T, TeamError> {
        let mut was_missing = false;
        for attempt in 1..=ATTEMPTS {
            // First with no client kept out while we write and flush; what goes wrong there is done again under the lock.
            let is_locked = attempt > EAGER_ATTEMPTS;
            let take = if is_locked { Guarded::lock } else { Guarded::wait_for_turn };
            let mut guarded = take(&self.path, &self.queues, EMPTY.as_bytes())?;
            let bad = |why| TeamError::bad_inbox(&self.path, why);
            let (draft, is_whole, answer) = match guarded.read(LARGEST)? {
                // Removed in the instant before we had the lock; or a link that leads nowhere.
                Found::Nothing => {
                    was_missing = true;
                    continue;
                }
                found => {
                    let is_whole = self.whole.has(&self.path, guarded.print());
                    match bytes_of(found).and_then(&change) {
                        Ok((draft, answer)) => (draft, is_whole, answer),
                        // The client may be in the middle of writing it.
                        Err(why) if !is_locked && why.may_be_torn() => continue,
                        Err(why) => return Err(bad(why)),
                    }
                }
            };
            before(&answer)?;
            let replaced = match draft {
                Draft::Unchanged => return Ok(answer),
                Draft::Unsure(bytes) if !is_whole => guarded.replace_if(&bytes, || inbox::is_whole(&bytes))?,
                Draft::Unsure(bytes) | Draft::Sure(bytes) => guarded.replace_if(&bytes, || true)?,
            };
            match replaced {
                Replaced::Yes => {
                    self.whole.remember(&self.path, guarded.print());
                    return Ok(answer);
                }
                Replaced::No => {}
                Replaced::NotRight if !is_locked => {}
                // What stands there says best what is wrong with it.
                Replaced::NotRight => match guarded.read(LARGEST)? {
                    Found::Nothing => {}
                    found => drop(bytes_of(found).and_then(|bytes| inbox::read(&bytes)).map_err(bad)?),
                },
            }
        }
        if was_missing {
            return Err(TeamError::io("cannot open", &self.path)(std::io::ErrorKind::NotFound.into()));
        }
        Err(TeamError::too_many_conflicts(&self.path, ATTEMPTS))
    }
}

fn bytes_of(found: Found) -> Result<Vec<u8>, BadInbox> {
    match found {
        Found::Bytes(bytes) => Ok(bytes),
        Found::TooLarge(size) => Err(BadInbox::TooLarge { size }),
        Found::NotAFile(found) => Err(BadInbox::NotAFile { found }),
        Found::Nothing => Ok(EMPTY.as_bytes().to_vec()),
    }
}

/// Writes what was no message to a file of ours, one JSON value on each line.
fn keep_aside(folder: &Path, inbox: &Path, malformed: &[Value]) -> Result<PathBuf, TeamError> {
    private::make_directory(folder).map_err(StoreError::io("cannot create", folder))?;
    let name = inbox.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let path = folder.join(format!("{name}-{}.jsonl", clock::wall() / 1_000));
    let lines: String = malformed.iter().map(|entry| format!("{entry}\n")).collect();
    let written = private::create(&path).and_then(|mut file| {
        std::io::Write::write_all(&mut file, lines.as_bytes())?;
        file.sync_data()
    });
    written.map_err(StoreError::io("cannot write", &path))?;
    Ok(path)
}
