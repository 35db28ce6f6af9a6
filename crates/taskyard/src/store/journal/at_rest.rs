//! Reading a small journal that no process has open: from a copy, with nothing put beside it.
//!
//! SQLite makes a log and its index for every process that opens a database, and the last one to close it takes them
//! away. A process that only looks at a short list would do nothing else for most of its time.

use std::path::Path;

use super::Journal;
use super::naming::data_of;
use super::resting_file::AtRest;
use super::schema::{DATABASE, FORMAT, JOURNAL};
use super::stamp::{Stamp, Standstill, look_at_stamp};
use crate::failpoint::reach_if_named;
use crate::private::has_database;
use crate::sqlite::Database;

impl Journal {
    /// Reads the journal as its file has it. None where a process has it open, where it is large, and where anything about it is not as it
    /// should be: then it is to be opened, and the process that opens it says what is wrong.
    pub(super) fn copy_at_rest(sidecar: &Path) -> Option<Self> {
        // Before the database, as when it is opened.
        let (file, stamp) = look_at_stamp(sidecar).ok()?.whole()?;
        if !is_usual(&stamp) {
            return None;
        }
        let path = sidecar.join(DATABASE);
        if !has_database(data_of(sidecar), &path).ok()? {
            return None;
        }
        let rest = AtRest::find(&path)?;
        reach_if_named("at rest: found");
        let database = Database::copy_into_memory(path, &JOURNAL).ok()?;
        reach_if_named("at rest: copied");
        if !rest.is_still_so() || database.known_format("open").ok()? != FORMAT {
            return None;
        }
        let mut journal = Self::over(database).ok()?;
        journal.know_where_it_began().ok()?;
        if !journal.marks().ok()?.max(journal.begun).reaches(stamp.expected()) {
            return None;
        }
        (journal.stamp, journal.generation) = (Some(file), stamp.generation);
        (journal.is_unchanging, journal.rest) = (true, Some(rest));
        Some(journal)
    }

    /// Tells whether this is a copy of the journal to which no process has written since.
    pub(in crate::store) fn is_at_rest(&self) -> bool {
        self.rest.as_ref().is_some_and(AtRest::is_still_so)
    }
}

/// Tells whether a stamp says that the journal is one of today's, and that nothing was found wrong with it.
fn is_usual(stamp: &Stamp) -> bool {
    !stamp.is_newer() && stamp.format == FORMAT.unsigned_abs() && stamp.standstill == Standstill::None
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, SystemTime};

    use super::super::resting_file::LARGEST;
    use super::super::stamp::Marks;
    use super::{AtRest, Journal, look_at_stamp};

    fn open(place: &Path) -> Journal {
        Journal::open(place, place).unwrap()
    }

    /// Writes a fact and folds the log in, as a whole command does.
    fn write(place: &Path, value: i64) {
        let journal = open(place);
        journal.set_fact("value", value).unwrap();
        journal.fold_at_close();
    }

    fn set_time(place: &Path, time: SystemTime) {
        File::options().append(true).open(place.join("journal.sqlite")).unwrap().set_modified(time).unwrap();
    }

    /// Has it look as if it had not been written to for a while.
    fn let_settle(place: &Path) {
        set_time(place, SystemTime::now() - Duration::from_secs(5));
    }

    fn value(journal: &Journal) -> Option<i64> {
        journal.fact("value").unwrap()
    }

    fn names(place: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_journal_that_nobody_has_open_is_read_without_a_log() {
        let place = tempfile::tempdir().unwrap();
        write(place.path(), 1);
        let_settle(place.path());
        let before = names(place.path());
        let copy = Journal::copy_at_rest(place.path()).unwrap();
        assert_eq!((value(&copy), copy.is_at_rest()), (Some(1), true));
        assert_eq!(names(place.path()), before);
        assert!(copy.set_fact("value", 2).is_err());
        drop(copy);
        assert_eq!(names(place.path()), before);
    }

    #[test]
    fn a_journal_that_somebody_has_open_or_that_was_just_written_is_not_at_rest() {
        let place = tempfile::tempdir().unwrap();
        assert!(Journal::copy_at_rest(place.path()).is_none(), "there is none");
        write(place.path(), 1);
        // However long this test is kept from the processor, that was just now.
        set_time(place.path(), SystemTime::now() + Duration::from_secs(3600));
        assert!(Journal::copy_at_rest(place.path()).is_none(), "it may be written once more within the same tick");
        let_settle(place.path());
        let journal = open(place.path());
        assert!(Journal::copy_at_rest(place.path()).is_none(), "it is open");
        drop(journal);
        assert!(Journal::copy_at_rest(place.path()).is_none(), "a log is left");
        open(place.path()).fold_at_close();
        let_settle(place.path());
        assert!(Journal::copy_at_rest(place.path()).is_some());
        let journal = open(place.path());
        journal.set_fact("long", "x".repeat(usize::try_from(LARGEST).unwrap())).unwrap();
        journal.fold_at_close();
        let_settle(place.path());
        assert!(Journal::copy_at_rest(place.path()).is_none(), "it is large");
    }

    #[test]
    fn a_writer_is_noticed_while_it_is_copied_or_read() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal.sqlite");
        write(place.path(), 1);
        let_settle(place.path());
        let rest = AtRest::find(&path).unwrap();
        let copy = Journal::copy_at_rest(place.path()).unwrap();
        let journal = open(place.path());
        assert!(!rest.is_still_so() && !copy.is_at_rest(), "it is open");
        journal.set_fact("value", 2).unwrap();
        assert!(!rest.is_still_so() && !copy.is_at_rest(), "the log has it");
        journal.fold_at_close();
        assert!(!rest.is_still_so() && !copy.is_at_rest(), "the file has it");
        assert_eq!(value(&copy), Some(1), "whatever became of the file");
    }

    #[test]
    fn a_journal_that_does_not_reach_its_stamp_is_left_to_the_process_that_opens_it() {
        let place = tempfile::tempdir().unwrap();
        write(place.path(), 1);
        let journal = open(place.path());
        journal.set_fact("token", 7).unwrap();
        journal.reach(Marks { token: 7, ..Marks::default() });
        journal.fold_at_close();
        let_settle(place.path());
        assert!(Journal::copy_at_rest(place.path()).is_some());
        let (file, _) = look_at_stamp(place.path()).unwrap().whole().unwrap();
        file.raise_flushed(Marks { token: 8, ..Marks::default() });
        assert!(Journal::copy_at_rest(place.path()).is_none());
        assert!(!place.path().join("damaged").exists(), "no verdict comes of a copy");
    }

    #[test]
    fn what_is_copied_while_others_write_is_one_state_or_nothing() {
        let place = tempfile::tempdir().unwrap();
        write(place.path(), 0);
        let seen = AtomicUsize::new(0);
        thread::scope(|scope| {
            let writing = scope.spawn(|| {
                for value in 1..=60 {
                    let journal = open(place.path());
                    let transaction = journal.begin().unwrap();
                    // Many pages, which are copied into the file one after the other.
                    for number in 0..40 {
                        journal.set_fact(&format!("fact {number}"), format!("{value} {}", "x".repeat(900))).unwrap();
                    }
                    journal.end(transaction).unwrap();
                    journal.fold_at_close();
                    // Now and then it rests until the reader has read it.
                    let before = seen.load(Ordering::Relaxed);
                    while value % 3 == 0 && seen.load(Ordering::Relaxed) == before {
                        thread::yield_now();
                    }
                }
            });
            while !writing.is_finished() {
                let Some(copy) = Journal::copy_at_rest(place.path()) else { continue };
                let first_words: Vec<String> = (0..40)
                    .filter_map(|number| copy.fact::<String>(&format!("fact {number}")).unwrap())
                    .map(|text| text.split(' ').next().unwrap().to_owned())
                    .collect();
                assert!(first_words.iter().all(|word| Some(word) == first_words.first()), "{first_words:?}");
                seen.fetch_add(1, Ordering::Relaxed);
            }
            writing.join().unwrap();
        });
    }
}
