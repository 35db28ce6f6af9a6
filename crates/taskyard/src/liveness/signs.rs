//! Heartbeats: one file per process in the data directory (`docs/formats/signs.md`), and which processes they prove
//! alive.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use std::{fs, io, thread};

use serde::{Deserialize, Serialize};
use taskyard_core::rules::leases::leasing::{LeaseState, by_the_wall_clock, judge_lease};
use taskyard_core::rules::leases::liveness::{LONGEST_SILENCE, Liveness, ProcessSeen};
use taskyard_core::{Holder, Lease, Moment, ProcessMark, Timestamp};

use crate::liveness::processes::{liveness_of, own_mark, served_client};
use crate::{private, system};

/// How many heartbeats fit into the longest silence.
const SIGNS_IN_A_SILENCE: u32 = 3;
/// How long the heartbeats of processes that are not known to be alive are kept. Longer than a lease that is not
/// renewed.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Returns how long a process that cannot be seen counts as alive after its last heartbeat.
pub fn longest_silence() -> Duration {
    #[cfg(feature = "failpoints")]
    if let Some(silence) = crate::failpoint::longest_silence() {
        return silence;
    }
    LONGEST_SILENCE
}

/// The directories in which this process leaves heartbeats.
static LEAVING: Mutex<BTreeMap<Signs, Until>> = Mutex::new(BTreeMap::new());

/// How long this process leaves heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Until {
    #[default]
    NothingIsHeld,
    ItsDeath,
}

/// The heartbeats in a data directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signs {
    folder: PathBuf,
}

impl Signs {
    /// Returns the heartbeats in a data directory. Nothing is created before one is left.
    pub fn in_data(data: &Path) -> Self {
        Self { folder: data.join("alive") }
    }

    /// Returns what is known of a process: from the process table and, unless that shows it alive, from its heartbeats.
    pub fn see(&self, process: &ProcessMark) -> ProcessSeen {
        let liveness = liveness_of(process);
        let last_sign = if liveness == Liveness::Alive { None } else { self.last_of(process) };
        ProcessSeen { liveness, last_sign, longest_silence: longest_silence(), must_show_life: false }
    }

    /// Leaves a heartbeat of this process now, and then regularly while it runs. If none can be left, readers judge
    /// what the process holds by time.
    pub(crate) fn leave_from_now_on(&self) {
        static BEGUN: Once = Once::new();
        let work = || loop {
            thread::sleep(longest_silence() / SIGNS_IN_A_SILENCE);
            // `end` takes this lock, so no heartbeat is left after it.
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

    /// Like [`Self::leave_from_now_on`], but until the process dies: readers judge what it holds by its heartbeats.
    pub(crate) fn leave_to_the_last(&self) {
        self.leave_from_now_on();
        leaving().insert(self.clone(), Until::ItsDeath);
    }

    /// Stops leaving heartbeats and removes the last one, unless [`Self::leave_to_the_last`] was called.
    pub(crate) fn end(&self) {
        let mut leaving = leaving();
        if leaving.get(self) == Some(&Until::NothingIsHeld) {
            leaving.remove(self);
            self.take_back();
        }
    }

    /// Leaves a single heartbeat of this process, for a caller with its own schedule.
    pub fn leave_one(&self) {
        let process = own_mark();
        let leave = || {
            // A data directory that was removed must not be recreated.
            if !self.folder.exists() && self.folder.parent().is_some_and(Path::exists) {
                private::make_directory(&self.folder)?;
            }
            let file = private::open(&self.path(&process))?;
            let client = served_client().cloned();
            write(&file, &Sign { process: process.clone(), left: system::moment(), client })
        };
        let left: io::Result<()> = leave();
        if let Err(error) = left {
            tracing::debug!(%error, "no sign of life is left");
        }
    }

    /// Removes the heartbeat of this process, which holds nothing that other agents could wait for.
    pub fn take_back(&self) {
        let _ = fs::remove_file(self.path(&own_mark()));
    }

    fn last_of(&self, process: &ProcessMark) -> Option<Moment> {
        match read(&self.path(process)).ok()? {
            Ok(sign) => (sign.process == *process).then_some(sign.left),
            Err(written) => Some(by_the_wall_clock(written)),
        }
    }

    /// Returns the client that a process serves, according to its last heartbeat.
    pub(super) fn client_of(&self, process: &ProcessMark) -> Option<ProcessMark> {
        read(&self.path(process)).ok()?.ok().filter(|sign| sign.process == *process)?.client
    }

    fn path(&self, process: &ProcessMark) -> PathBuf {
        self.folder.join(name_of(process))
    }

    /// Removes the heartbeats of processes that are long gone.
    fn sweep(&self) {
        let is_old = |path: &Path| {
            let written = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
            written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age > KEPT))
        };
        let is_alive = |path: &Path| match read(path) {
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

/// The maximum length of a heartbeat file.
const LONGEST: u64 = 4096;

/// The JSON in the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    machine: String,
    pid_space: String,
    boot: String,
    pid: u32,
    started: u64,
    at: i64,
    since_boot: i64,
    /// The client that the process serves: its process id and start time, in the same pid namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<(u32, u64)>,
}

/// A heartbeat: the process, and when it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sign {
    pub(super) process: ProcessMark,
    pub(super) left: Moment,
    /// The client that the process serves; `None` if it serves none, or an older release wrote the heartbeat.
    pub(super) client: Option<ProcessMark>,
}

/// Returns the name of a process's heartbeat file. Marks come from databases, so characters that could lead to another
/// directory are removed.
pub(super) fn name_of(process: &ProcessMark) -> String {
    let ProcessMark { machine, pid_space, boot, pid, started } = process;
    let plain = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).take(64).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    format!("{}-{}-{}-{pid}-{started}", plain(machine), plain(pid_space), plain(boot))
}

/// Overwrites a heartbeat. The file keeps its name and inode, so that no follower of a list is woken.
pub(super) fn write(file: &File, sign: &Sign) -> io::Result<()> {
    let Sign { process, left, client } = sign.clone();
    let wire = Wire {
        machine: process.machine,
        pid_space: process.pid_space,
        boot: process.boot,
        pid: process.pid,
        started: process.started,
        at: left.wall.0,
        since_boot: left.since_boot,
        client: client.map(|client| (client.pid, client.started)),
    };
    let mut text = serde_json::to_vec(&wire)?;
    text.push(b'\n');
    file.write_all_at(&text, 0)?;
    file.set_len(text.len() as u64)
}

/// Reads a heartbeat. If the contents cannot be parsed, returns the time at which the file was last written instead;
/// the file name identifies the process.
pub(super) fn read(path: &Path) -> io::Result<Result<Sign, Timestamp>> {
    let file = private::open_to_read(path)?;
    let metadata = file.metadata()?;
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text)?;
    let Ok(wire) = serde_json::from_slice::<Wire>(&text) else {
        let written = metadata.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        return Ok(Err(Timestamp(i64::try_from(written.as_millis()).unwrap_or(i64::MAX))));
    };
    let Wire { machine, pid_space, boot, pid, started, at, since_boot, client } = wire;
    let left = Moment { wall: Timestamp(at), boot: boot.clone(), since_boot };
    let process = ProcessMark { machine, pid_space, boot, pid, started };
    let client = client.map(|(pid, started)| ProcessMark { pid, started, ..process.clone() });
    Ok(Ok(Sign { process, left, client }))
}

/// What is known of the processes that hold leases. Tests substitute one whose processes they control.
pub trait World: Debug + Send + Sync {
    /// Returns what is known of a process.
    fn see(&self, process: &ProcessMark) -> ProcessSeen;

    /// Records that something was granted to a holder. If the holder is this process, it leaves heartbeats from now on.
    fn holds_now(&self, holder: &Holder);

    /// Records that a holder took a seat in a team. If the holder is this process, it leaves heartbeats until it ends:
    /// other members determine by them whether it is alive.
    fn sits_now(&self, holder: &Holder) {
        self.holds_now(holder);
    }

    /// Records that this process holds no lease any more, and is about to end.
    fn holds_nothing(&self) {}

    /// Returns the client that a process serves; `None` if it serves none, or that is not known.
    fn client_of(&self, _process: &ProcessMark) -> Option<ProcessMark> {
        None
    }

    /// Returns the current time of the clock that heartbeats are compared with.
    fn now(&self) -> Moment {
        system::moment()
    }

    /// Judges a lease at a time of its store's clock. A server that has ended may be restarted by its client while the
    /// client lives.
    fn judge_at(&self, lease: &Lease, now: &Moment) -> LeaseState {
        let state = judge_lease(lease, now, |process| self.see(process));
        let client = match (&state, &lease.holder) {
            (LeaseState::Lapsing(_), Some(holder)) => self.client_of(holder.process()),
            _ => None,
        };
        match client.map(|client| self.see(&client).liveness) {
            Some(Liveness::Dead) => LeaseState::ProcessEnded,
            Some(Liveness::Alive | Liveness::Unknown) | None => state,
        }
    }

    /// Returns whether a holder belongs to a client: it is the client's process, or a server of that client.
    fn lives_with(&self, holder: &Holder, client: &ProcessMark) -> bool {
        holder.process() == client || self.client_of(holder.process()).as_ref() == Some(client)
    }
}

/// This machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThisMachine {
    signs: Option<Signs>,
}

impl ThisMachine {
    /// Returns this machine, with the heartbeats in a data directory. Without one, what processes that cannot be seen
    /// hold is judged by time.
    pub(crate) fn with_signs_in(data: &Path) -> Self {
        Self { signs: Some(Signs::in_data(data)) }
    }
}

impl World for ThisMachine {
    fn see(&self, process: &ProcessMark) -> ProcessSeen {
        let unsigned = || {
            let (liveness, longest_silence) = (liveness_of(process), longest_silence());
            ProcessSeen { liveness, last_sign: None, longest_silence, must_show_life: false }
        };
        self.signs.as_ref().map_or_else(unsigned, |signs| signs.see(process))
    }

    fn holds_now(&self, holder: &Holder) {
        if let Some(signs) = self.signs.as_ref().filter(|_| *holder.process() == own_mark()) {
            signs.leave_from_now_on();
        }
    }

    fn sits_now(&self, holder: &Holder) {
        if let Some(signs) = self.signs.as_ref().filter(|_| *holder.process() == own_mark()) {
            signs.leave_to_the_last();
        }
    }

    fn client_of(&self, process: &ProcessMark) -> Option<ProcessMark> {
        self.signs.as_ref()?.client_of(process)
    }

    fn holds_nothing(&self) {
        self.signs.iter().for_each(Signs::end);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use taskyard_core::ProcessMark;
    use taskyard_core::rules::leases::liveness::Liveness;

    use super::{KEPT, Sign, Signs, own_mark, write};
    use crate::private;
    use crate::system;

    fn elsewhere() -> ProcessMark {
        ProcessMark { machine: "another".into(), ..own_mark() }
    }

    fn left_by(signs: &Signs, process: &ProcessMark) -> std::path::PathBuf {
        let path = signs.path(process);
        let left = system::moment();
        write(&private::open(&path).unwrap(), &Sign { process: process.clone(), left, client: None }).unwrap();
        path
    }

    #[test]
    fn a_process_that_cannot_be_seen_is_known_by_its_signs() {
        let data = tempfile::tempdir().unwrap();
        let signs = Signs::in_data(data.path());
        let seen = signs.see(&elsewhere());
        assert_eq!((seen.liveness, seen.last_sign), (Liveness::Unknown, None));
        let before = system::moment();
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

#[cfg(test)]
mod sign_file_tests {
    use taskyard_core::{Moment, ProcessMark, Timestamp};

    use super::{Sign, name_of, read, write};
    use crate::private;

    fn sign(since_boot: i64) -> Sign {
        let process = ProcessMark {
            machine: "host:a/../b".into(),
            pid_space: "pid:[4026531836]".into(),
            boot: "b-1".into(),
            pid: 7,
            started: 9,
        };
        let client = Some(ProcessMark { pid: 3, started: 4, ..process.clone() });
        Sign { left: Moment { wall: Timestamp(5), boot: process.boot.clone(), since_boot }, process, client }
    }

    #[test]
    fn a_sign_is_read_as_it_was_left_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sign");
        let file = private::open(&path).unwrap();
        for since_boot in [1_000_000, 7] {
            write(&file, &sign(since_boot)).unwrap();
            assert_eq!(read(&path).unwrap(), Ok(sign(since_boot)));
        }
        let of_older_release = r#"{"machine":"m","pidSpace":"","boot":"b","pid":7,"started":9,"at":5,"sinceBoot":7}"#;
        std::fs::write(&path, of_older_release).unwrap();
        assert_eq!(read(&path).unwrap().map(|sign| sign.client), Ok(None));
        std::fs::write(&path, b"").unwrap();
        assert!(read(&path).unwrap().is_err_and(|written| written.0 > 1_700_000_000_000));
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        assert!(read(&folder.path().join("link")).is_err());
    }

    #[test]
    fn the_name_of_a_sign_leads_nowhere_else() {
        assert_eq!(name_of(&sign(1).process), "hostab-pid4026531836-b1-7-9");
    }
}
