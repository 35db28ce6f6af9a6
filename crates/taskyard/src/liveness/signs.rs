//! Signs of life: a file per process in the data directory, for processes that cannot see it in their process table.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

use taskyard_core::rules::leases::leasing::by_the_wall_clock;
use taskyard_core::rules::leases::liveness::{LONGEST_SILENCE, Liveness, ProcessSeen};
use taskyard_core::{Moment, ProcessMark};

use super::client_process::served_client;
use super::process_table::{liveness_of, own_mark};
use super::sign_file::{self, Sign};
use crate::{clock, private};

/// How often a sign is left while another one is waited for.
const SIGNS_IN_A_SILENCE: u32 = 3;
/// Signs of those that are not seen alive are kept this long: longer than a lease that no process renews.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Returns how long a process that cannot be seen counts as alive after its last sign of life.
pub fn longest_silence() -> Duration {
    #[cfg(feature = "failpoints")]
    if let Some(silence) = crate::failpoint::longest_silence() {
        return silence;
    }
    LONGEST_SILENCE
}

/// The places in which this process leaves signs.
static LEAVING: Mutex<BTreeMap<Signs, Until>> = Mutex::new(BTreeMap::new());

/// How long this process leaves signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Until {
    #[default]
    NothingIsHeld,
    ItsDeath,
}

/// The signs of life in a data directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signs {
    folder: PathBuf,
}

impl Signs {
    /// Returns the signs in a data directory. Nothing is made before one is left.
    pub fn in_data(data: &Path) -> Self {
        Self { folder: data.join("alive") }
    }

    /// Returns what is known of a process: by the process table, and where that does not show it alive by its signs.
    pub fn see(&self, process: &ProcessMark) -> ProcessSeen {
        let liveness = liveness_of(process);
        let last_sign = if liveness == Liveness::Alive { None } else { self.last_of(process) };
        ProcessSeen { liveness, last_sign, longest_silence: longest_silence(), must_show_life: false }
    }

    /// Leaves a sign of this process now, and from now on as long as it runs, as often as readers want to see one. Where none can be left,
    /// readers go by the time of what it holds.
    pub(crate) fn leave_from_now_on(&self) {
        static BEGUN: Once = Once::new();
        let work = || loop {
            thread::sleep(longest_silence() / SIGNS_IN_A_SILENCE);
            // `end` waits for this lock: no sign is left after that.
            leaving().keys().for_each(Self::leave_one);
        };
        let mut leaving = leaving();
        self.leave_one();
        let is_new = !leaving.contains_key(self);
        leaving.entry(self.clone()).or_default();
        drop(leaving);
        if is_new {
            self.sweep();
        }
        BEGUN.call_once(|| {
            let begun = thread::Builder::new().name("taskyard-signs".into()).spawn(work);
            let _ = begun.inspect_err(|error| tracing::warn!(%error, "no more signs of life are left"));
        });
    }

    /// Does the same, and nothing but the death of this process ends it: readers know what it holds by these signs.
    pub(crate) fn leave_to_the_last(&self) {
        self.leave_from_now_on();
        leaving().insert(self.clone(), Until::ItsDeath);
    }

    /// Leaves no more signs of this process and takes the last one away, unless they are left to the last.
    pub(crate) fn end(&self) {
        let mut leaving = leaving();
        if leaving.get(self) == Some(&Until::NothingIsHeld) {
            leaving.remove(self);
            self.take_back();
        }
    }

    /// Leaves one sign of this process, for a caller that has a rhythm of its own.
    pub fn leave_one(&self) {
        let process = own_mark();
        let leave = || {
            // A data directory that was taken away must not be made anew.
            if !self.folder.exists() && self.folder.parent().is_some_and(Path::exists) {
                private::make_directory(&self.folder)?;
            }
            let file = private::open(&self.path(&process))?;
            let client = served_client().cloned();
            sign_file::write(&file, &Sign { process: process.clone(), left: clock::moment(), client })
        };
        let left: io::Result<()> = leave();
        if let Err(error) = left {
            tracing::debug!(%error, "no sign of life is left");
        }
    }

    /// Takes the sign of this process away: it has nothing any more that other agents could wait for.
    pub fn take_back(&self) {
        let _ = fs::remove_file(self.path(&own_mark()));
    }

    fn last_of(&self, process: &ProcessMark) -> Option<Moment> {
        match sign_file::read(&self.path(process)).ok()? {
            Ok(sign) => (sign.process == *process).then_some(sign.left),
            Err(written) => Some(by_the_wall_clock(written)),
        }
    }

    /// Returns the client that a process serves, as its last sign of life has it.
    pub(super) fn client_of(&self, process: &ProcessMark) -> Option<ProcessMark> {
        sign_file::read(&self.path(process)).ok()?.ok().filter(|sign| sign.process == *process)?.client
    }

    fn path(&self, process: &ProcessMark) -> PathBuf {
        self.folder.join(sign_file::name_of(process))
    }

    /// Removes the signs of processes that are long gone.
    fn sweep(&self) {
        let is_old = |path: &Path| {
            let written = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
            written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age > KEPT))
        };
        let is_alive = |path: &Path| match sign_file::read(path) {
            Ok(Ok(sign)) => liveness_of(&sign.process) == Liveness::Alive,
            Ok(Err(_)) | Err(_) => false,
        };
        let paths = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in paths.filter(|path| is_old(path) && !is_alive(path)) {
            let _ = fs::remove_file(path);
        }
    }
}

fn leaving() -> MutexGuard<'static, BTreeMap<Signs, Until>> {
    LEAVING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use taskyard_core::ProcessMark;
    use taskyard_core::rules::leases::liveness::Liveness;

    use super::{KEPT, Sign, Signs, own_mark, sign_file};
    use crate::clock;
    use crate::private;

    fn elsewhere() -> ProcessMark {
        ProcessMark { machine: "another".into(), ..own_mark() }
    }

    fn left_by(signs: &Signs, process: &ProcessMark) -> std::path::PathBuf {
        let path = signs.path(process);
        let left = clock::moment();
        sign_file::write(&private::open(&path).unwrap(), &Sign { process: process.clone(), left, client: None })
            .unwrap();
        path
    }

    #[test]
    fn a_process_that_cannot_be_seen_is_known_by_its_signs() {
        let data = tempfile::tempdir().unwrap();
        let signs = Signs::in_data(data.path());
        let seen = signs.see(&elsewhere());
        assert_eq!((seen.liveness, seen.last_sign), (Liveness::Unknown, None));
        let before = clock::moment();
        signs.leave_from_now_on();
        left_by(&signs, &elsewhere());
        let sign = signs.see(&elsewhere()).last_sign.unwrap();
        assert!(sign.boot == before.boot && sign.since_boot >= before.since_boot);
        // A process that sees it run asks for no sign.
        assert_eq!(signs.see(&own_mark()).last_sign, None);
        assert!(signs.last_of(&own_mark()).is_some());
        signs.take_back();
        assert_eq!(signs.last_of(&own_mark()), None);
    }

    #[test]
    fn signs_end_unless_they_are_left_to_the_last() {
        let data = tempfile::tempdir().unwrap();
        let signs = Signs::in_data(data.path());
        signs.end();
        signs.leave_from_now_on();
        signs.end();
        assert_eq!(signs.last_of(&own_mark()), None);
        signs.leave_from_now_on();
        assert!(signs.last_of(&own_mark()).is_some(), "there is something to wait for again");
        signs.leave_to_the_last();
        signs.leave_from_now_on();
        signs.end();
        assert!(signs.last_of(&own_mark()).is_some());
    }

    #[test]
    fn signs_of_those_long_gone_are_swept() {
        let data = tempfile::tempdir().unwrap();
        let signs = Signs::in_data(data.path());
        signs.leave_one();
        let old = left_by(&signs, &elsewhere());
        let new = left_by(&signs, &ProcessMark { pid: 1, ..elsewhere() });
        let long_ago = SystemTime::now() - KEPT - Duration::from_secs(60);
        for path in [&old, &signs.path(&own_mark())] {
            File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
        }
        signs.sweep();
        assert!(!old.exists() && new.exists(), "the one that is old goes");
        assert!(signs.path(&own_mark()).exists(), "we are alive");
        fs::remove_dir_all(data.path()).unwrap();
    }
}
