//! Serialises the hooks that receive the whole list.
//!
//! A hook that reads the whole list keeps a copy of it somewhere, and the last hook to write the copy determines its
//! contents. These hooks therefore run one after the other, and each receives the list including everything that
//! earlier ones were given: a turn begins before the list is read, and ends when the change that the hook judged has
//! been made. It is not a lock of the list: a process waits for a turn only to pass the list to a hook, and the turn
//! ends with the process.

use std::fs::File;
use std::io;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use taskyard_core::ListId;

use crate::config::HookInput;
use crate::hooks::hook_settings::{Hook, HookTurn, HookWarning};
use crate::hooks::running_hooks::{Found, Hooks};
use crate::process::{Cancel, wait_aside};
use crate::{Error, private, system};

/// The delay before the first retry. It doubles with each retry, up to `LAST_PAUSE`.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LAST_PAUSE: Duration = Duration::from_millis(50);

enum Attempt {
    Taken(HookTurn),
    Held(File),
}

impl Hooks {
    /// Waits for the turn to pass a list to the hooks that were found. `None` if none of them reads it.
    ///
    /// If another hook takes longer than the hooks' timeout, or the file cannot be written, the change is not held up:
    /// it goes on out of turn, with a warning.
    pub(crate) fn turn(&self, found: &Found, list: &ListId) -> Result<Option<HookTurn>, Error> {
        let readers = || found.hooks().iter().filter(|hook| hook.stdin == Some(HookInput::Tasks));
        let Some(patience) = readers().map(|hook| hook.timeout).max() else { return Ok(None) };
        let Some(data) = &self.setup.data else { return Ok(None) };
        let wait = || {
            private::make_data_directory(data)?;
            take(&place(data, list), self.setup.turn.as_deref(), patience, &self.cancel)
        };
        match wait_aside(self.workplace.as_ref(), wait) {
            Ok(Some(turn)) => Ok(Some(turn)),
            Ok(None) if self.cancel.is_cancelled() => Err(Error::Cancelled),
            Ok(None) => {
                self.go_on_out_of_turn(readers(), format!("others have not ended within {} s", patience.as_secs()))
            }
            Err(error) => self.go_on_out_of_turn(readers(), error.to_string()),
        }
    }

    fn go_on_out_of_turn<'a>(
        &self,
        mut readers: impl Iterator<Item = &'a Hook>,
        why: String,
    ) -> Result<Option<HookTurn>, Error> {
        let command = readers.next().map(Hook::name).unwrap_or_default();
        self.warn(vec![HookWarning::OutOfTurn { command, why }]);
        Ok(None)
    }
}

fn place(data: &Path, list: &ListId) -> PathBuf {
    data.join("hook-turns").join(list.directory())
}

/// Waits for a turn. `None` if the wait was cancelled or timed out.
fn take(path: &Path, above: Option<&str>, patience: Duration, cancel: &Cancel) -> io::Result<Option<HookTurn>> {
    if let Some(folder) = path.parent() {
        private::make_directory(folder)?;
    }
    let started = Instant::now();
    let mut file = private::open(path)?;
    let mut pause = FIRST_PAUSE;
    loop {
        file = match attempt(file)? {
            Attempt::Taken(turn) => return Ok(Some(turn)),
            Attempt::Held(file) => file,
        };
        if let Some(above) = above
            && holder(&mut file)? == above
        {
            // The process that waits for us holds the turn, so waiting for it would deadlock.
            return Ok(Some(HookTurn { name: above.to_owned(), _file: None }));
        }
        if started.elapsed() >= patience || cancel.sleep(pause) {
            return Ok(None);
        }
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

fn attempt(mut file: File) -> io::Result<Attempt> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(Attempt::Held(file)),
        Err(error) => return Err(error.into()),
    }
    let name = new_name();
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(name.as_bytes())?;
    Ok(Attempt::Taken(HookTurn { name, _file: Some(file) }))
}

fn holder(file: &mut File) -> io::Result<String> {
    let mut name = String::new();
    file.rewind()?;
    file.read_to_string(&mut name)?;
    Ok(name)
}

/// Returns a unique name for a turn.
fn new_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}-{}", std::process::id(), system::now().0, COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::take;
    use crate::process::Cancel;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn turn_belongs_to_one_agent_and_its_hooks_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turns/L");
        let first = take(&path, None, LONG, &Cancel::new()).unwrap().unwrap();
        assert!(take(&path, None, Duration::ZERO, &Cancel::new()).unwrap().is_none());
        assert!(take(&path, Some("another"), Duration::ZERO, &Cancel::new()).unwrap().is_none());
        let below = take(&path, Some(first.name()), LONG, &Cancel::new()).unwrap().unwrap();
        assert_eq!(below.name(), first.name());
        drop(below);
        assert!(take(&path, None, Duration::ZERO, &Cancel::new()).unwrap().is_none());
        drop(first);
        assert!(take(&path, None, Duration::ZERO, &Cancel::new()).unwrap().is_some());
    }

    #[test]
    fn a_hook_that_waits_for_a_turn_can_be_called_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turns/L");
        let _first = take(&path, None, LONG, &Cancel::new()).unwrap().unwrap();
        let cancel = Cancel::new();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| take(&path, None, LONG, &cancel).unwrap().is_none());
            cancel.cancel();
            assert!(waiting.join().unwrap());
        });
    }
}
