//! Removes old data, except what retention guarantees to keep (`docs/design/retention.md`).

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use rustix::fs::{FlockOperation, flock};
use taskyard_core::rules::history::retention::{ClockDoubt, ClockTrust, Doubt, Elapsed, Reading};
use taskyard_core::{TaskId, Timestamp};

use crate::store::{
    ListMemory, Pace, StoreError, TidiedJournal, TidyTerms, TimeCount, finish_putting_away, list_memories,
    list_sidecars, newest_time, tidy_journal,
};
use crate::{private, system};

/// The interval between automatic runs, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// The daily cleanup, held by one process at a time.
#[derive(Debug)]
pub struct DailyTidying<'a> {
    household: &'a Household,
    file: File,
    last: LastTime,
    count: TimeCount,
    is_new_doubt: bool,
}

impl<'a> DailyTidying<'a> {
    /// Starts the daily cleanup, unless a process has done it within the last day or is doing it now.
    pub fn begin(household: &'a Household) -> Option<Self> {
        begin(household).unwrap_or_else(|error| {
            tracing::debug!(%error, "nothing is tidied");
            None
        })
    }

    /// Returns why nothing will be cleaned up: the clock was moved back, or forward by more than a month. Returned only
    /// the first time.
    pub fn new_doubt(&self) -> Option<ClockDoubt> {
        self.count.elapsed.in_doubt().filter(|_| self.is_new_doubt)
    }

    /// Cleans up our records of some lists, for at most `at_most`. Continues after the list where the last run ended,
    /// waits for no writer, and reports no errors. Does nothing while the clock is in doubt.
    pub fn run(self, at_most: Duration) {
        if self.count.is_doubted() {
            return;
        }
        let ended = tidy_after(self.household, &self.last, &self.count, &Pace::at_most(at_most));
        let _ = LastTime { at: system::now().0, list: ended }.write(&self.file);
    }
}

fn begin(household: &Household) -> io::Result<Option<DailyTidying<'_>>> {
    let path = LastTime::path(&household.data);
    let is_new = !path.exists();
    let file = private::open(&path)?;
    let now = system::now().0;
    if is_new {
        // If no process has ever cleaned up, nothing is old yet.
        LastTime { at: now, list: String::new() }.write(&file)?;
        CountFile::try_open(&household.data)?.map(CountFile::count).transpose()?;
        return Ok(None);
    }
    let last = LastTime::read(&file)?;
    // A time in the future was written while the clock was wrong.
    if (0..DAY).contains(&now.saturating_sub(last.at))
        || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    {
        return Ok(None);
    }
    let Some(counted) = CountFile::try_open(&household.data)? else { return Ok(None) };
    let (count, reading) = counted.count()?;
    // Record the run before doing anything: if this process dies or is slow, the next command must not run it again.
    LastTime { at: now, list: last.list.clone() }.write(&file)?;
    let is_new_doubt = reading == Reading::Doubted { is_new: true };
    Ok(Some(DailyTidying { household, file, last, count, is_new_doubt }))
}

/// Cleans up one list after another, starting after `last`, and returns the last list that was completed.
fn tidy_after(household: &Household, last: &LastTime, count: &TimeCount, pace: &Pace) -> String {
    let mut sidecars = list_sidecars(&household.data);
    let name = |sidecar: &Path| sidecar.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let first = sidecars.partition_point(|sidecar| name(sidecar) <= last.list);
    sidecars.rotate_left(first);
    let mut ended = last.list.clone();
    if first == 0 {
        finish_putting_away(&household.data);
    }
    let terms = household.terms(count, pace.clone());
    for sidecar in sidecars {
        if pace.is_over() {
            break;
        }
        if let Err(error) = tidy_journal(&sidecar, &terms) {
            tracing::debug!(%error, "a journal is not tidied");
        }
        ended = name(&sidecar);
    }
    ended
}

/// Our records on this machine, and how long to keep them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Household {
    /// Our data directory.
    pub data: PathBuf,
    /// How long everything is kept.
    pub keep: Duration,
    /// Maximum size in bytes of a list's journal before it is thinned out earlier.
    pub max_size: u64,
}

/// Tasks that may be removed because the caller named them, although no agent deleted them on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Our data directory for their list.
    pub sidecar: Option<PathBuf>,
    /// The tasks.
    pub tasks: HashSet<TaskId>,
}

/// The result of cleaning up our records of one list, or of a dry run.
#[derive(Debug)]
pub struct TidiedList {
    /// Our records before the cleanup.
    pub memory: ListMemory,
    /// What was done; `None` if there is no journal.
    pub done: Result<Option<TidiedJournal>, StoreError>,
}

impl Household {
    /// Reads the clock and adds the time that has passed to the count.
    pub fn count_time(&self) -> Result<TimeCount, StoreError> {
        let counted = CountFile::open(&self.data).and_then(CountFile::count).map(|(count, _)| count);
        counted.map_err(StoreError::io("cannot count the time in", &self.data))
    }

    /// Like [`Household::count_time`], but counts all the time that has passed by the clock, because the user confirmed
    /// the clock.
    pub fn confirm_time(&self) -> Result<TimeCount, StoreError> {
        let confirmed = CountFile::open(&self.data).and_then(CountFile::confirm);
        confirmed.map_err(StoreError::io("cannot count the time in", &self.data))
    }

    /// Returns why cleanup is suspended, if the clock is in doubt; `None` if nothing has been cleaned up yet.
    pub fn clock_doubt(&self) -> Option<ClockDoubt> {
        doubt(&self.data)
    }

    /// Returns what counting the time would yield, without recording it.
    pub fn try_to_count_time(&self, trust: ClockTrust) -> TimeCount {
        look(&self.data, trust)
    }

    /// Cleans up our records of all lists of all stores. A failure for one list does not affect the others.
    pub fn tidy(&self, count: &TimeCount, named: &Named) -> Vec<TidiedList> {
        finish_putting_away(&self.data);
        self.each(named, |memory, named| memory.tidy(&self.terms(count, Pace::unhurried()), named))
    }

    /// Like [`Household::tidy`], but only returns what would be done.
    pub fn try_to_tidy(&self, count: &TimeCount, named: &Named) -> Vec<TidiedList> {
        self.each(named, |memory, named| memory.try_tidy(&self.terms(count, Pace::unhurried()), named))
    }

    fn each(
        &self,
        named: &Named,
        tidy: impl Fn(&ListMemory, &HashSet<TaskId>) -> Result<Option<TidiedJournal>, StoreError>,
    ) -> Vec<TidiedList> {
        let nobody = HashSet::new();
        let tidied = |memory: ListMemory| {
            let is_named = named.sidecar.as_ref() == Some(&memory.sidecar);
            let done = tidy(&memory, if is_named { &named.tasks } else { &nobody });
            TidiedList { memory, done }
        };
        list_memories(&self.data).into_iter().map(tidied).collect()
    }

    fn terms(&self, count: &TimeCount, pace: Pace) -> TidyTerms {
        TidyTerms { keep: self.keep, count: count.clone(), max_size: self.max_size, pace }
    }
}

/// When a server first checks whether a cleanup is due, and the interval of further checks.
const FIRST_LOOK: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);
/// How long a server cleans up at a time.
const AT_MOST: Duration = Duration::from_secs(2);

/// A background thread that cleans up periodically until this is dropped.
#[derive(Debug)]
pub struct Caretaker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Caretaker {
    /// Starts the thread; if it cannot be started, nothing is cleaned up.
    pub fn of(household: Household) -> Self {
        Self::looking(household, FIRST_LOOK, LOOK_EVERY)
    }

    /// Starts the thread with the given time to the first check and interval of further checks.
    pub(crate) fn looking(household: Household, first: Duration, every: Duration) -> Self {
        let (stop, stopped) = channel::<()>();
        let care = move || {
            let mut pause = first;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if let Some(tidying) = DailyTidying::begin(&household) {
                    if let Some(doubt) = tidying.new_doubt() {
                        tracing::warn!("old history is kept: {doubt}; `taskyard gc` asks what to do");
                    }
                    tidying.run(AT_MOST);
                }
                pause = every;
            }
        };
        let thread = thread::Builder::new().name("taskyard-caretaker".to_owned()).spawn(care).ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Caretaker {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The thread ends within the maximum duration of a run; a process that exits does not wait for it.
        drop(self.thread.take());
    }
}

const TIDIED: &str = "tidied";
const ELAPSED: &str = "elapsed";
/// Maximum size in bytes of the files that we write.
const LONGEST: u64 = 4 * 1024;

/// When the last automatic cleanup took place, and the last list it completed.
#[derive(Debug)]
struct LastTime {
    at: i64,
    list: String,
}

impl LastTime {
    fn path(data: &Path) -> PathBuf {
        data.join(TIDIED)
    }

    /// Returns when a process last cleaned up automatically; `None` if none ever did.
    fn in_data(data: &Path) -> Option<Timestamp> {
        let file = private::open_to_read(&Self::path(data)).ok()?;
        Self::read(&file).ok().map(|last| Timestamp(last.at))
    }

    fn read(file: &File) -> io::Result<Self> {
        let text = contents(file)?;
        let (at, list) = text.trim_end().split_once(' ').unwrap_or((text.trim_end(), ""));
        Ok(Self { at: at.parse().unwrap_or(0), list: list.to_owned() })
    }

    fn write(&self, file: &File) -> io::Result<()> {
        replace(file, &format!("{} {}\n", self.at, self.list))
    }
}

/// The `elapsed` file, locked against other processes.
#[derive(Debug)]
struct CountFile {
    file: File,
    name: String,
    elapsed: Elapsed,
}

impl CountFile {
    /// Opens the file, waiting for a process that holds it.
    fn open(data: &Path) -> io::Result<Self> {
        let file = private::open(&data.join(ELAPSED))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Self::read(file, data)
    }

    /// Opens the file; returns `None` if another process holds it.
    fn try_open(data: &Path) -> io::Result<Option<Self>> {
        let file = private::open(&data.join(ELAPSED))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Self::read(file, data).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn read(file: File, data: &Path) -> io::Result<Self> {
        let (name, elapsed) = parse(&contents(&file)?).unwrap_or_else(|| (new_name(), first_count(data)));
        Ok(Self { file, name, elapsed })
    }

    /// Takes a reading of the clock.
    fn count(mut self) -> io::Result<(TimeCount, Reading)> {
        let reading = self.elapsed.read(system::now());
        self.write()?;
        Ok((self.into_count(ClockTrust::Plausible), reading))
    }

    /// Takes a reading of a clock that the user confirmed.
    fn confirm(mut self) -> io::Result<TimeCount> {
        self.elapsed.confirm(system::now());
        self.write()?;
        Ok(self.into_count(ClockTrust::Vouched))
    }

    fn into_count(self, trust: ClockTrust) -> TimeCount {
        TimeCount { name: self.name, elapsed: self.elapsed, trust }
    }

    fn write(&self) -> io::Result<()> {
        let Elapsed { counted, wall, comparable_since, doubt } = &self.elapsed;
        let doubt = doubt.map(|doubt| format!(" {} {}", doubt.first.0, doubt.last.0)).unwrap_or_default();
        replace(&self.file, &format!("{} {counted} {} {}{doubt}\n", self.name, wall.0, comparable_since.0))
    }
}

/// Returns the count including a reading of the clock, without writing it.
fn look(data: &Path, trust: ClockTrust) -> TimeCount {
    let written = private::open_to_read(&data.join(ELAPSED)).and_then(|file| contents(&file));
    let known = written.ok().and_then(|text| parse(&text));
    let (name, mut elapsed) = known.unwrap_or_else(|| (new_name(), first_count(data)));
    match trust {
        ClockTrust::Plausible => drop(elapsed.read(system::now())),
        ClockTrust::Vouched => elapsed.confirm(system::now()),
    }
    TimeCount { name, elapsed, trust }
}

/// Returns why the clock is in doubt now; `None` if nothing has been counted yet.
fn doubt(data: &Path) -> Option<ClockDoubt> {
    let file = private::open_to_read(&data.join(ELAPSED)).ok()?;
    let (_, mut elapsed) = parse(&contents(&file).ok()?)?;
    elapsed.read(system::now());
    elapsed.in_doubt()
}

/// Returns the start of the count: the last automatic cleanup, else the newest entry of all lists, else the current
/// time.
fn first_count(data: &Path) -> Elapsed {
    let of_entries = || list_sidecars(data).iter().filter_map(|sidecar| newest_time(sidecar).ok().flatten()).max();
    Elapsed::starting(LastTime::in_data(data).or_else(of_entries).unwrap_or_else(system::now))
}

/// Returns a unique name for a count.
fn new_name() -> String {
    format!("{:x}-{:x}", system::wall(), std::process::id())
}

fn contents(mut file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn replace(mut file: &File, text: &str) -> io::Result<()> {
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

fn parse(text: &str) -> Option<(String, Elapsed)> {
    let mut words = text.strip_suffix('\n')?.split(' ');
    let name = words.next().filter(|name| !name.is_empty())?.to_owned();
    let numbers: Vec<i64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let (counted, wall, comparable_since, doubt) = match numbers[..] {
        [counted, wall, since] => (counted, wall, since, None),
        [counted, wall, since, first, last] => {
            (counted, wall, since, Some(Doubt { first: Timestamp(first), last: Timestamp(last) }))
        }
        _ => return None,
    };
    Some((name, Elapsed { counted, wall: Timestamp(wall), comparable_since: Timestamp(comparable_since), doubt }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use taskyard_core::{AgentName, ListId, Rules};

    use super::{Caretaker, Household};
    use crate::operations::NewTask;
    use crate::store::{FileStore, FileStoreOptions};
    use crate::{Yard, system};

    const MOMENT: Duration = Duration::from_millis(1);
    const PATIENCE: Duration = Duration::from_secs(300);

    fn wait_until(what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            if began.elapsed() > PATIENCE {
                panic!("in vain: {what}");
            }
            std::thread::yield_now();
        }
    }

    fn with_a_list(place: &Path) -> Household {
        let data = place.join("data");
        let options = FileStoreOptions { tasks: place.join("tasks"), data: Some(data.clone()), rules: Rules::Strict };
        let store = Arc::new(FileStore::open(options));
        let yard = Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
        yard.create(NewTask { subject: "One".to_owned(), ..NewTask::default() }).unwrap().done().unwrap();
        Household { data, keep: Duration::ZERO, max_size: u64::MAX }
    }

    #[test]
    fn server_tidies_once_a_day() {
        let place = tempfile::tempdir().unwrap();
        let household = with_a_list(place.path());
        let tidied = household.data.join("tidied");
        let _caretaker = Caretaker::looking(household, MOMENT, MOMENT);
        for _ in 0..2 {
            // Pretend that the last run was two days ago.
            let two_days_ago = system::now().0 - 2 * 24 * 60 * 60 * 1000;
            fs::write(&tidied, format!("{two_days_ago} \n")).unwrap();
            let note = || fs::read_to_string(&tidied).unwrap_or_default();
            wait_until("the list is tidied, and that is noted", || note().contains(" L-"));
        }
    }

    #[test]
    fn a_server_that_has_ended_tidies_nothing_any_more() {
        let place = tempfile::tempdir().unwrap();
        let household = with_a_list(place.path());
        let tidied = household.data.join("tidied");
        fs::write(&tidied, "0 \n").unwrap();
        let hour = Duration::from_secs(3600);
        let mut caretaker = Caretaker::looking(household, hour, hour);
        let thread = caretaker.thread.take().unwrap();
        drop(caretaker);
        thread.join().unwrap();
        assert_eq!(fs::read_to_string(&tidied).unwrap(), "0 \n");
    }
}

#[cfg(test)]
mod time_count_tests {
    use std::fs;

    use taskyard_core::Timestamp;
    use taskyard_core::rules::history::retention::{ClockTrust, Elapsed, Reading};

    use super::{CountFile, ELAPSED, look, parse};
    use crate::system;

    #[test]
    fn what_is_counted_is_there_the_next_time() {
        let data = tempfile::tempdir().unwrap();
        let (first, reading) = CountFile::open(data.path()).unwrap().count().unwrap();
        assert_eq!((first.elapsed.counted, reading), (0, Reading::Counted));
        // Pretend that the clock was an hour behind, and then years.
        for (behind, counts) in [(3_600_000, true), (i64::from(i32::MAX) * 1_000, false)] {
            let wall = system::now().0 - behind;
            fs::write(data.path().join(ELAPSED), format!("{} 7 {wall} 0\n", first.name)).unwrap();
            let looked = look(data.path(), ClockTrust::Plausible);
            let (count, _) = CountFile::open(data.path()).unwrap().count().unwrap();
            assert_eq!((count.is_doubted(), looked.is_doubted(), &count.name), (!counts, !counts, &first.name));
            assert_eq!(count.elapsed.counted >= 3_600_007, counts);
        }
        assert!(look(data.path(), ClockTrust::Plausible).is_doubted(), "the doubt is on record");
        let confirmed = CountFile::open(data.path()).unwrap().confirm().unwrap();
        assert!(!confirmed.is_doubted() && !look(data.path(), ClockTrust::Plausible).is_doubted());
    }

    #[test]
    fn what_cannot_be_read_begins_anew_under_another_name() {
        let data = tempfile::tempdir().unwrap();
        let (first, _) = CountFile::open(data.path()).unwrap().count().unwrap();
        for torn in ["", "name", "name 1 2", "name 1 2 x\n", "name 1 2 3 4\n", " 1 2 3\n"] {
            assert_eq!(parse(torn), None, "{torn:?}");
            fs::write(data.path().join(ELAPSED), torn).unwrap();
            let (count, reading) = CountFile::open(data.path()).unwrap().count().unwrap();
            assert_eq!((count.elapsed.counted, reading, count.name != first.name), (0, Reading::Counted, true));
        }
    }

    #[test]
    fn while_a_process_reads_the_clock_no_other_does() {
        let data = tempfile::tempdir().unwrap();
        let held = CountFile::open(data.path()).unwrap();
        assert!(CountFile::try_open(data.path()).unwrap().is_none());
        drop(held);
        let file = CountFile::try_open(data.path()).unwrap().unwrap();
        assert_eq!(file.elapsed.comparable_since, Timestamp(i64::MIN));
        assert_eq!(file.elapsed, Elapsed::starting(file.elapsed.wall));
    }
}
