//! Two lines of text in the data directory: `tidied`, when a process last tidied by itself and where it ended, and `elapsed`, the count of
//! the time that has passed for its lists (`docs/formats/journal.md`). What is counted, and why: `docs/design/clocks.md`.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use taskyard_core::Timestamp;
use taskyard_core::rules::history::elapsed::{ClockDoubt, ClockTrust, Doubt, Elapsed, Reading};

use crate::store::{TimeCount, list_sidecars, newest_time};
use crate::{clock, private};

const TIDIED: &str = "tidied";
const ELAPSED: &str = "elapsed";
/// No process of ours writes a longer file.
const LONGEST: u64 = 4 * 1024;

/// When something was last tidied, and the last list of that time.
#[derive(Debug)]
pub(super) struct LastTime {
    pub(super) at: i64,
    pub(super) list: String,
}

impl LastTime {
    /// Returns the path of the file.
    pub(super) fn path(data: &Path) -> PathBuf {
        data.join(TIDIED)
    }

    /// Returns when a process last tidied by itself; none where none did.
    fn in_data(data: &Path) -> Option<Timestamp> {
        let file = private::open_to_read(&Self::path(data)).ok()?;
        Self::read(&file).ok().map(|last| Timestamp(last.at))
    }

    pub(super) fn read(file: &File) -> io::Result<Self> {
        let text = contents(file)?;
        let (at, list) = text.trim_end().split_once(' ').unwrap_or((text.trim_end(), ""));
        Ok(Self { at: at.parse().unwrap_or(0), list: list.to_owned() })
    }

    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        replace(file, &format!("{} {}\n", self.at, self.list))
    }
}

/// `elapsed`, while no other process reads the clock for it.
#[derive(Debug)]
pub(super) struct CountFile {
    file: File,
    name: String,
    elapsed: Elapsed,
}

impl CountFile {
    /// Opens the file, and waits for a process that has it.
    pub(super) fn open(data: &Path) -> io::Result<Self> {
        let file = private::open(&data.join(ELAPSED))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Self::read(file, data)
    }

    /// Opens the file; none where another process has it.
    pub(super) fn try_open(data: &Path) -> io::Result<Option<Self>> {
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
    pub(super) fn count(mut self) -> io::Result<(TimeCount, Reading)> {
        let reading = self.elapsed.read(clock::now());
        self.write()?;
        Ok((self.into_count(ClockTrust::Plausible), reading))
    }

    /// Takes a reading that the user vouches for.
    pub(super) fn confirm(mut self) -> io::Result<TimeCount> {
        self.elapsed.confirm(clock::now());
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

/// Returns the count with a reading of the clock, and writes nothing.
pub(super) fn look(data: &Path, trust: ClockTrust) -> TimeCount {
    let written = private::open_to_read(&data.join(ELAPSED)).and_then(|file| contents(&file));
    let known = written.ok().and_then(|text| parse(&text));
    let (name, mut elapsed) = known.unwrap_or_else(|| (new_name(), first_count(data)));
    match trust {
        ClockTrust::Plausible => drop(elapsed.read(clock::now())),
        ClockTrust::Vouched => elapsed.confirm(clock::now()),
    }
    TimeCount { name, elapsed, trust }
}

/// Returns why the clock is in doubt now; none where nothing is counted yet.
pub(super) fn doubt(data: &Path) -> Option<ClockDoubt> {
    let file = private::open_to_read(&data.join(ELAPSED)).ok()?;
    let (_, mut elapsed) = parse(&contents(&file).ok()?)?;
    elapsed.read(clock::now());
    elapsed.in_doubt()
}

/// Returns where the count begins: with the last time that a process tidied, else with the newest entry of all lists, else now.
fn first_count(data: &Path) -> Elapsed {
    let of_entries = || list_sidecars(data).iter().filter_map(|sidecar| newest_time(sidecar).ok().flatten()).max();
    Elapsed::starting(LastTime::in_data(data).or_else(of_entries).unwrap_or_else(clock::now))
}

/// Returns a name that no other count has.
fn new_name() -> String {
    format!("{:x}-{:x}", clock::wall(), std::process::id())
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

    use taskyard_core::Timestamp;
    use taskyard_core::rules::history::elapsed::{ClockTrust, Elapsed, Reading};

    use super::{CountFile, ELAPSED, look, parse};
    use crate::clock;

    #[test]
    fn what_is_counted_is_there_the_next_time() {
        let data = tempfile::tempdir().unwrap();
        let (first, reading) = CountFile::open(data.path()).unwrap().count().unwrap();
        assert_eq!((first.elapsed.counted, reading), (0, Reading::Counted));
        // As if the clock had been an hour behind, and then years.
        for (behind, counts) in [(3_600_000, true), (i64::from(i32::MAX) * 1_000, false)] {
            let wall = clock::now().0 - behind;
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
