//! Packing the images of entries.
//!
//! The newest image of a task is stored whole. An older one is stored compressed, usually as the difference from the
//! one before it, from which it is rebuilt. In the table, `before` is either the bytes or the id of the entry with that
//! image; `after` is the bytes, or null if `packed` has the image.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Row, params};
use taskyard_core::packing::{pack_difference, pack_whole};
use taskyard_core::{Image, Revision, TaskId};

use super::Journal;
use super::entries::{Key, entries_where, task_id};
use super::pace::Pace;
use super::rows::{AFTER, BEFORE, Images, check_entry, first_id, image_after, images_of};
use crate::failpoint::reach;
use crate::store::StoreError;

/// How many consecutive entries about a task may depend on the one before them. The next one is stored whole.
pub(super) const LONGEST_CHAIN: u8 = 31;
/// How many entries to pack in one transaction, for which writers have to wait.
const AT_ONCE: i64 = 64;
/// The fact with the id of the last entry examined: entries it superseded are packed.
const PACKED_UP_TO: &str = "packed";
/// The same for entries written by older releases.
const REPACKED_UP_TO: &str = "repacked";

impl Journal {
    /// Packs entries that are followed by another entry about the same task, up to a revision whose files are durable.
    /// The last state of a task, and everything that may have to be written out again, stays whole. Continues where it
    /// last ended, or after `since` if the journal was never packed.
    pub(in crate::store) fn pack(&self, since: Revision, until: Revision) -> Result<(), StoreError> {
        let begin = self.fact::<i64>(PACKED_UP_TO)?.map_or_else(|| first_id(since.next()), |last| last + 1);
        self.pack_entries(begin, first_id(until.next()), PACKED_UP_TO, &Pace::straight_on())?;
        self.index_rare_entries(until)
    }

    /// Also packs what older releases wrote, up to a revision whose files are durable.
    pub(super) fn pack_old(&self, until: Revision, pace: &Pace) -> Result<(), StoreError> {
        let end = first_id(until.next());
        let packed = self.fact::<i64>(PACKED_UP_TO)?;
        let begin = self.fact::<i64>(REPACKED_UP_TO)?.map_or(0, |last| last + 1);
        self.pack_entries(begin, packed.map_or(end, |last| end.min(last + 1)), REPACKED_UP_TO, pace)?;
        if pace.is_over() {
            return Ok(());
        }
        self.pack_entries(packed.map_or(begin, |last| last + 1), end, PACKED_UP_TO, pace)
    }

    /// Packs the predecessors of the entries from `next` to `end`, some at a time, and records the progress.
    fn pack_entries(&self, mut next: i64, end: i64, reached: &str, pace: &Pace) -> Result<(), StoreError> {
        while next < end && !pace.is_over() {
            let transaction = self.begin_when(pace)?;
            let sql = "SELECT id, task FROM entries WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
            let later = self.rows(sql, [next, end, AT_ONCE], |row| Ok((row.get(0)?, task_id(row.get_ref(1)?))))?;
            let Some((last, _)) = later.last() else { return Ok(()) };
            next = last + 1;
            for (later, task) in &later {
                self.pack_before(*later, task)?;
            }
            self.set_fact(reached, last)?;
            self.end(transaction)?;
            reach("journal: packed");
            pace.rest();
        }
        Ok(())
    }

    /// Packs the entry about a task that precedes another one.
    fn pack_before(&self, later: i64, task: &TaskId) -> Result<(), StoreError> {
        let sql = entries_where("task = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1");
        let whole = |row: &Row<'_>| {
            let is_whole = matches!(row.get_ref(AFTER)?, ValueRef::Blob(_));
            let reference = row.get_ref(BEFORE)?.as_i64_or_null().ok().flatten();
            is_whole.then(|| Ok((row.get::<_, i64>(0)?, reference, self.checked_images(row)?))).transpose()
        };
        let Some((entry, reference, images)) = self.row(&sql, params![Key(task), later], whole)?.flatten() else {
            return Ok(());
        };
        let Images { before, after: Some(after) } = images else { return Ok(()) };
        let reference = match (&before, reference) {
            (Some(before), None) => self.entry_before_with(entry, task, before)?,
            (_, reference) => reference,
        };
        let depth = reference.map(|reference| self.depth(reference)).transpose()?.unwrap_or(0);
        let difference = || pack_difference(after.bytes(), before.as_ref()?.bytes()).map(|packed| (depth + 1, packed));
        let packed = if depth < LONGEST_CHAIN { difference() } else { None };
        let packed = packed.or_else(|| pack_whole(after.bytes()).map(|packed| (0, packed)));
        let before: Value = match (reference, before) {
            (Some(reference), _) => reference.into(),
            (None, Some(before)) => before.bytes().to_vec().into(),
            (None, None) => Value::Null,
        };
        let (whole, packed) = match packed {
            Some((depth, packed)) => (None, Some([&[depth], &packed[..]].concat())),
            None => (Some(after.bytes()), None),
        };
        let sql = "UPDATE entries SET before = ?2, after = ?3, packed = ?4 WHERE id = ?1";
        self.remove(sql, params![entry, before, whole, packed])
    }

    /// Returns the previous entry about a task if its image is `image`.
    fn entry_before_with(&self, entry: i64, task: &TaskId, image: &Image) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT id FROM entries WHERE task = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1";
        let Some(earlier) = self.row(sql, params![Key(task), entry], |row| row.get(0))? else { return Ok(None) };
        let connection = &self.database.connection;
        let found = image_after(connection, &self.recent_images, earlier);
        // If there is no such entry or it cannot be rebuilt, the image stays in place.
        Ok(found.is_ok_and(|found| found == *image).then_some(earlier))
    }

    /// Returns how many earlier entries are needed to rebuild an entry's image.
    pub(super) fn depth(&self, entry: i64) -> Result<u8, StoreError> {
        let depth = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob_or_null()?.and_then(|packed| packed.first().copied()));
        Ok(self.row("SELECT packed FROM entries WHERE id = ?1", [entry], depth)?.flatten().unwrap_or(0))
    }
}

impl Journal {
    /// Returns the newest entry about a task if its image is `image`.
    pub(super) fn entry_with(&self, task: &TaskId, image: &Image) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT id, after = ?2 FROM entries WHERE task = ?1 ORDER BY id DESC LIMIT 1";
        let found = self.row(sql, params![Key(task), image.bytes()], |row| {
            Ok(row.get::<_, Option<bool>>(1)?.unwrap_or(false).then_some(row.get::<_, i64>(0)?))
        })?;
        Ok(found.flatten())
    }

    /// Returns the images of an entry. Fails if the checksum does not match.
    pub(super) fn checked_images(&self, row: &Row<'_>) -> rusqlite::Result<Images> {
        let images = images_of(&self.database.connection, &self.recent_images, row)?;
        check_entry(row, &images)?;
        Ok(images)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::params;
    use taskyard_core::{AgentName, Entry, Image, Op, Revision, TaskId, Timestamp};

    use super::super::{Journal, NewEntry};
    use super::{LONGEST_CHAIN, Pace, first_id};
    use crate::store::{HistoryQuery, Signature};

    /// A journal, and what was written to it.
    struct Written {
        journal: Journal,
        entries: Vec<(TaskId, Option<Image>, Option<Image>)>,
        _place: tempfile::TempDir,
    }

    impl Written {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            Self { journal: Journal::open(place.path(), place.path()).unwrap(), entries: Vec::new(), _place: place }
        }

        fn write(&mut self, task: u64, after: Option<&str>) {
            let task = TaskId::number(task);
            let before = self.entries.iter().rev().find(|(id, ..)| *id == task).and_then(|(.., after)| after.clone());
            let after = after.map(|text| Image::new(text.as_bytes()));
            let entry = NewEntry {
                task: &task,
                op: Op::Update,
                before: before.as_ref(),
                after: after.as_ref(),
                inode: None,
                mode: None,
            };
            let revision = Revision(self.entries.len() as u64 + 1);
            let transaction = self.journal.begin().unwrap();
            let signature = Signature::new(AgentName::elsewhere(), Op::Update);
            self.journal.append(revision, Timestamp(0), &signature, &[entry]).unwrap();
            self.journal.end(transaction).unwrap();
            self.entries.push((task, before, after));
        }

        /// Returns, for every entry, whether its image is stored whole.
        fn whole(&self) -> Vec<bool> {
            let sql = "SELECT packed IS NULL OR substr(packed, 2, 1) = CAST('w' AS BLOB) FROM entries ORDER BY id";
            self.journal.rows(sql, [], |row| row.get(0)).unwrap()
        }

        #[track_caller]
        fn assert_is_there(&self) {
            let found = self.journal.select(&HistoryQuery::default()).unwrap();
            let found = found.into_iter().map(|Entry { task, before, after, .. }| (task, before, after));
            assert_eq!(found.collect::<Vec<_>>(), self.entries);
        }
    }

    fn long(number: usize) -> String {
        format!("{{\"description\": \"{}\", \"status\": \"{number}\"}}", "what it is about, ".repeat(300))
    }

    #[test]
    fn a_change_is_stored_once_and_the_last_state_is_whole() {
        let mut written = Written::new();
        for number in 0..100 {
            written.write(1, Some(&long(number)));
        }
        written.journal.pack(Revision(0), Revision(100)).unwrap();
        written.journal.recent_images.replace(Default::default());
        written.assert_is_there();
        let whole = written.whole();
        assert!(whole[99], "the last state is whole");
        let longest = whole.split(|is_whole| *is_whole).map(<[bool]>::len).max().unwrap();
        assert_eq!(longest, usize::from(LONGEST_CHAIN));
        let sum = "SELECT sum(coalesce(length(before), 0) + coalesce(length(after), 0) + coalesce(length(packed), 0)) FROM entries";
        let bytes: i64 = written.journal.one(sum, [], |row| row.get(0)).unwrap();
        assert!(bytes < 4 * i64::try_from(long(0).len()).unwrap(), "{bytes}");
    }

    #[test]
    fn what_is_not_flushed_stays_whole() {
        let mut written = Written::new();
        for number in 0..10 {
            written.write(1, Some(&long(number)));
        }
        written.journal.pack(Revision(0), Revision(6)).unwrap();
        assert_eq!(written.whole()[5..], [true; 5]);
        written.journal.pack(Revision(6), Revision(10)).unwrap();
        assert_eq!(written.whole().iter().filter(|is_whole| **is_whole).count(), 2);
        written.assert_is_there();
    }

    #[test]
    fn full_entries_of_older_releases_are_packed_on_tidying() {
        let mut written = Written::new();
        for number in 0..40 {
            written.write(1, Some(&long(number)));
        }
        for number in 1..40_u64 {
            let before = long(usize::try_from(number).unwrap() - 1);
            let sql = "UPDATE entries SET before = CAST(?2 AS BLOB) WHERE id = ?1";
            written.journal.remove(sql, params![first_id(Revision(number + 1)), before]).unwrap();
        }
        // Since then, a release that packs has written the last entry.
        written.journal.pack(Revision(39), Revision(40)).unwrap();
        let sum = "SELECT sum(length(before) + coalesce(length(after), 0) + coalesce(length(packed), 0)) FROM entries";
        let bytes = || written.journal.one(sum, [], |row| row.get::<_, i64>(0)).unwrap();
        let before = bytes();
        written.journal.pack_old(Revision(40), &Pace::straight_on()).unwrap();
        assert!(bytes() * 10 < before, "{} of {before}", bytes());
        written.journal.recent_images.replace(Default::default());
        written.assert_is_there();
    }

    #[test]
    fn a_damaged_difference_is_found_and_never_taken_for_an_image() {
        let mut written = Written::new();
        for number in 0..10 {
            written.write(1, Some(&long(number)));
        }
        written.journal.pack(Revision(0), Revision(10)).unwrap();
        let flip = "UPDATE entries SET packed = CAST(replace(packed, '4', '5') AS BLOB) WHERE id = (SELECT id FROM entries ORDER BY id LIMIT 1 OFFSET 4)";
        written.journal.remove(flip, []).unwrap();
        written.journal.recent_images.replace(Default::default());
        assert!(written.journal.select(&HistoryQuery::default()).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        #[test]
        fn whatever_was_written_comes_back_to_the_byte(
            steps in prop::collection::vec((1..4_u64, prop::option::weighted(0.9, (0..3_usize, ".{0,30}"))), 1..80),
            flushed in prop::collection::vec(0..80_u64, 0..4),
        ) {
            let mut written = Written::new();
            let mut texts = vec![vec!["a".repeat(400), "b".repeat(50), String::new()]; 4];
            for (task, change) in &steps {
                let text = &mut texts[usize::try_from(*task).unwrap()];
                if let Some((place, new)) = change {
                    text[*place].push_str(new);
                }
                written.write(*task, change.as_ref().map(|_| text.concat()).as_deref());
            }
            let mut last = 0;
            for until in flushed {
                if until > last {
                    written.journal.pack(Revision(last), Revision(until)).unwrap();
                    last = until;
                }
            }
            written.journal.recent_images.replace(Default::default());
            written.assert_is_there();
        }
    }
}
