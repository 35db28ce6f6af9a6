//! The log file, and what this process has read of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};
use taskyard::core::{Event, ListId};
use taskyard::store::StoreError;
use taskyard::store::kit::{Home, ListState};

use super::line::{Line, from_text, to_text};

/// The log of a directory, and what was read of it.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) directory: PathBuf,
    pub(super) lists: Mutex<Lists>,
}

/// Every list as far as the log was read.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// How many bytes of the log are in here.
    read: u64,
    lists: BTreeMap<ListId, (Arc<ListState>, Vec<Event>)>,
}

impl Lists {
    /// Returns the lists there are, by name.
    pub(super) fn names(&self) -> impl Iterator<Item = &ListId> {
        self.lists.iter().filter(|(_, (state, _))| state.exists).map(|(list, _)| list)
    }

    /// Returns a list as it is; one that does not exist is empty.
    pub(super) fn state(&self, list: &ListId) -> Arc<ListState> {
        let new = || Arc::new(ListState { home: Home::Images(list.directory().into()), ..ListState::default() });
        self.lists.get(list).map_or_else(new, |(state, _)| Arc::clone(state))
    }

    /// Returns the commits of a list.
    pub(super) fn journal(&self, list: &ListId) -> &[Event] {
        self.lists.get(list).map_or(&[], |(_, journal)| journal)
    }

    fn apply(&mut self, line: Line) {
        for (list, commit) in line {
            let new = self.state(&list);
            let (state, journal) = self.lists.entry(list.clone()).or_insert_with(|| (new, Vec::new()));
            Arc::make_mut(state).apply(&commit);
            journal.extend(commit.event(&list));
        }
    }
}

impl Log {
    /// Reads what the log has that was not read yet, and has a look at it.
    pub(super) fn caught_up<T>(&self, look: impl FnOnce(&Lists) -> T) -> Result<T, StoreError> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        match File::open(self.directory.join("log")) {
            Ok(file) => catch_up(&mut lists, file).map_err(failed("read the log"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("open the log")(error)),
        }
        Ok(look(&lists))
    }

    /// Writes the line that is to come after what the log holds: it exists when this has returned, whatever dies then.
    pub(super) fn append(&self, line: impl FnOnce(&Lists) -> Line) -> Result<(), StoreError> {
        let file = File::options().create(true).truncate(false).write(true).open(self.directory.join("log"));
        let file = file.map_err(failed("open the log"))?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| failed("lock the log")(error.into()))?;
        let (end, mut line) = self.caught_up(|lists| (lists.read, line(lists)))?;
        line.retain(|(_, commit)| !commit.is_empty());
        if line.is_empty() {
            return Ok(());
        }
        let written = file.set_len(end).and_then(|()| file.write_all_at(to_text(&line).as_bytes(), end));
        let written = written.and_then(|()| file.sync_data());
        // Half a line would be cut off by the next writer; a whole one whose flush failed must not be read.
        written.inspect_err(|_| drop(file.set_len(end))).map_err(failed("write to the log"))
    }
}

/// Wraps what the system said.
pub(super) fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Failed { doing: doing.to_owned(), source: source.into() }
}

fn catch_up(lists: &mut Lists, mut file: File) -> io::Result<()> {
    file.seek(SeekFrom::Start(lists.read))?;
    let mut file = BufReader::new(file);
    let mut text = Vec::new();
    while file.read_until(b'\n', &mut text)? > 0 && text.ends_with(b"\n") {
        lists.read += text.len() as u64;
        lists.apply(from_text(&text)?);
        text.clear();
    }
    Ok(())
}
