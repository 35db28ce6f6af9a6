//! Querying the journal: with indexes, and a bounded page at a time.
//!
//! A partial index finds the rare kinds of entries. Only a long journal has it; a short one does not need it and stays
//! small.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{ToSql, params};
use taskyard_core::{AttemptId, Entry, Op, Revision, Timestamp};

use super::Journal;
use super::damage::damaged;
use super::entries::{Key, task_id};
use crate::store::error::JournalDamage;
use crate::store::journal::rows::{COLUMNS, ENTRY_BITS, Sequence, first_id};
use crate::store::{HistoryQuery, LastEntry, StoreError};

/// A page ends with the revision in which its images exceed this many bytes.
const PAGE_BYTES: usize = 1 << 20;
/// A page ends with the revision in which it has more than this many entries.
const PAGE_ENTRIES: usize = 1024;

/// Finds the distinct tasks by skipping through the index, and the last entry of each in the same index.
const LAST_ENTRIES: &str = "
    WITH RECURSIVE told (task) AS (
        SELECT min(task) FROM entries
        UNION ALL SELECT (SELECT min(task) FROM entries WHERE task > told.task) FROM told WHERE told.task IS NOT NULL)
    SELECT last.id, last.at, last.op, last.task, last.after IS NOT NULL OR last.packed IS NOT NULL
    FROM told JOIN entries AS last ON last.id = (SELECT max(id) FROM entries WHERE entries.task = told.task)
    WHERE told.task IS NOT NULL";

/// A range of entry ids.
#[derive(Clone, Copy)]
struct Range {
    from: i64,
    to: i64,
}

impl Journal {
    /// Returns the entries that match a query, oldest first.
    pub(in crate::store) fn select(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        let range = Range {
            from: first_id(query.since.next()),
            to: query.until.map_or(i64::MAX, |until| first_id(until.next()) - 1),
        };
        if let Some(attempt) = query.attempt {
            let Some(revision) = self.revision_of(attempt, range)? else { return Ok(Vec::new()) };
            let commit = Range { from: first_id(revision), to: first_id(revision.next()) - 1 };
            return self.read(query, commit);
        }
        if query.is_choosy_about_deeds() {
            // All of them may have to be read to find a few.
            self.read_unmapped();
        }
        match query.newest {
            Some(0) => Ok(Vec::new()),
            Some(count) => self.read(query, self.newest_of(query, count, range)?),
            None => self.read(query, range),
        }
    }

    /// Returns whether everything in the range of a query has been recorded, so that checking the files cannot add to
    /// it.
    pub(in crate::store) fn covers(&self, query: &HistoryQuery) -> Result<bool, StoreError> {
        let Some(until) = query.until else { return Ok(false) };
        let last: Option<i64> = self.one("SELECT max(id) FROM entries", [], |row| row.get(0))?;
        Ok(last.is_some_and(|last| last >= first_id(until)))
    }

    /// Returns the last entry about each task, ordered by task.
    pub(in crate::store) fn last_entries(&self) -> Result<Vec<LastEntry>, StoreError> {
        let mut entries = self.rows(LAST_ENTRIES, [], |row| {
            let id: i64 = row.get(0)?;
            Ok(LastEntry {
                task: task_id(row.get_ref(3)?),
                revision: Revision(id.unsigned_abs() >> ENTRY_BITS),
                at: Timestamp(row.get(1)?),
                op: row.get_ref(2)?.as_str()?.parse().unwrap_or(Op::Update),
                leaves_task: row.get(4)?,
            })
        })?;
        entries.sort_by(|one, other| one.task.cmp(&other.task));
        Ok(entries)
    }

    /// Returns the matching entries of a range. Fails if an entry is missing.
    fn read(&self, query: &HistoryQuery, range: Range) -> Result<Vec<Entry>, StoreError> {
        let mut begun = Revision(self.begun.revision).max(self.thinned()?);
        loop {
            let gap = match self.page(query, range, begun)? {
                Page::Whole(entries) => return Ok(entries),
                Page::Gap(gap) => gap,
            };
            // Another process may have thinned the journal since it was opened.
            match self.thinned()? {
                later if later > begun => begun = later,
                _ => return Err(damaged(self.database.path.parent().unwrap_or(Path::new("")), gap)),
            }
        }
    }

    /// Reads one page, or everything if the query has no limit. Entries may be missing up to the revision at which the
    /// journal was begun or up to which it was thinned.
    fn page(&self, query: &HistoryQuery, range: Range, begun: Revision) -> Result<Page, StoreError> {
        let mut sequence = Sequence::from(range.from.max(first_id(begun.next())));
        let mut page = Filling::new(query.oldest);
        let mut gap = None;
        let (table, conditions) = (self.entries_for(query)?, conditions(query));
        let sql = format!("SELECT {COLUMNS} FROM {table} WHERE id BETWEEN ?1 AND ?2 {conditions} ORDER BY id");
        let key = query.task.as_ref().map(Key);
        self.each(&sql, &range.with(key.as_ref())[..], |row| {
            let id: i64 = row.get(0)?;
            if page.is_full_before(id) {
                return Ok(ControlFlow::Break(()));
            }
            if !query.is_choosy() {
                gap = sequence.gap_before(id);
            }
            if gap.is_some() {
                return Ok(ControlFlow::Break(()));
            }
            let entry = self.stored_entry(row)?.entry;
            if query.ops.is_empty() || query.ops.contains(&entry.op) {
                page.add(entry);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        match page.is_full {
            // More pages will follow.
            true => self.read_unmapped(),
            false => self.read_mapped(),
        }
        Ok(gap.map_or(Page::Whole(page.entries), Page::Gap))
    }

    /// Returns the revision of an attempt, if it was committed. Does not read images.
    fn revision_of(&self, attempt: AttemptId, range: Range) -> Result<Option<Revision>, StoreError> {
        let sql = "SELECT id FROM entries WHERE id BETWEEN ?1 AND ?2 AND instr(remark, ?3) ORDER BY id LIMIT 1";
        let said = format!("\"attempt\":\"{attempt}\"");
        let found = self.row(sql, params![range.from, range.to, said], |row| row.get::<_, i64>(0))?;
        Ok(found.map(|id| Revision(id.unsigned_abs() >> ENTRY_BITS)))
    }

    /// Returns the part of a range that has the newest matching revisions.
    fn newest_of(&self, query: &HistoryQuery, count: usize, range: Range) -> Result<Range, StoreError> {
        let skipped = i64::try_from(count).unwrap_or(i64::MAX).saturating_sub(1);
        let (table, conditions) = (self.entries_for(query)?, conditions(query));
        let sql = format!(
            "SELECT DISTINCT id >> {ENTRY_BITS} FROM {table} WHERE id BETWEEN ?1 AND ?2 {conditions}
                ORDER BY id DESC LIMIT 1 OFFSET {skipped}"
        );
        let key = query.task.as_ref().map(Key);
        let found = self.row(&sql, &range.with(key.as_ref())[..], |row| row.get::<_, i64>(0))?;
        Ok(found.map_or(range, |revision| Range { from: revision << ENTRY_BITS, ..range }))
    }
}

impl Range {
    /// Returns the parameters of a query: the range, and the task if it is about one.
    fn with<'a>(&'a self, task: Option<&'a Key<'a>>) -> Vec<&'a dyn ToSql> {
        let mut values: Vec<&dyn ToSql> = vec![&self.from, &self.to];
        values.extend(task.map(|task| task as &dyn ToSql));
        values
    }
}

/// The result of reading a page.
enum Page {
    Whole(Vec<Entry>),
    Gap(JournalDamage),
}

/// A page being read.
struct Filling {
    entries: Vec<Entry>,
    /// How many more revisions fit, or `None` if there is no limit.
    revisions_left: Option<usize>,
    bytes: usize,
    is_full: bool,
}

impl Filling {
    fn new(revisions: Option<usize>) -> Self {
        Self { entries: Vec::new(), revisions_left: revisions, bytes: 0, is_full: false }
    }

    /// Returns whether the page ends before this entry. It only ends between revisions.
    fn is_full_before(&mut self, id: i64) -> bool {
        let revision = Revision(id.unsigned_abs() >> ENTRY_BITS);
        let is_next = self.entries.last().is_none_or(|last| last.revision != revision);
        let Some(left) = self.revisions_left.as_mut().filter(|_| is_next) else { return false };
        let has_some = !self.entries.is_empty();
        let is_large = has_some && (self.bytes > PAGE_BYTES || self.entries.len() > PAGE_ENTRIES);
        self.is_full = *left == 0 || is_large;
        *left = left.saturating_sub(1);
        self.is_full
    }

    fn add(&mut self, entry: Entry) {
        let images = [&entry.before, &entry.after].into_iter().flatten();
        self.bytes += images.map(|image| image.bytes().len()).sum::<usize>();
        self.entries.push(entry);
    }
}

/// Returns the SQL conditions of a query. The task is the third parameter.
fn conditions(query: &HistoryQuery) -> String {
    let mut sql = String::new();
    if query.task.is_some() {
        sql.push_str(" AND task = ?3");
    }
    if !query.ops.is_empty() {
        // Use whichever list of words is shorter. Two verbs may be stored under the same word.
        let is_wanted = |word: &&str| query.ops.iter().any(|op| op.as_stored() == *word);
        let words: BTreeSet<&str> = Op::ALL.into_iter().map(Op::as_stored).collect();
        let (wanted, others): (Vec<&str>, Vec<&str>) = words.into_iter().partition(is_wanted);
        let (word, words) = if wanted.len() <= others.len() { ("IN", wanted) } else { ("NOT IN", others) };
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        sql.push_str(&format!(" AND op {word} ({})", words.join(", ")));
        for op in Op::ALL {
            let Some(mark) = op.mark() else { continue };
            let is_plain = |other: &Op| other.as_stored() == op.as_stored() && other.mark().is_none();
            // Only one of two verbs with the same word is wanted.
            if query.ops.contains(&op) != query.ops.iter().any(is_plain) {
                let (word, not) = (op.as_stored(), if query.ops.contains(&op) { "" } else { "NOT " });
                sql.push_str(&format!(" AND (op <> '{word}' OR {not}instr(ifnull(remark, ''), '\"{mark}\":true'))"));
            }
        }
    }
    if query.only_arrivals {
        sql.push_str(" AND before IS NULL AND (after IS NOT NULL OR packed IS NOT NULL)");
    }
    if is_about_rare_entries(query) {
        // SQLite only uses a partial index if its condition is part of the query.
        sql.push_str(" AND ");
        sql.push_str(IS_RARE);
    }
    sql
}

/// A journal with at least this many revisions is long.
const LONG: u64 = 4096;

/// The verbs of ordinary work, which most entries have.
const COMMON: [Op; 6] = [Op::Create, Op::Update, Op::Reopen, Op::Claim, Op::Release, Op::Expire];
/// The condition of the index, verbatim: an entry is rare if its task did not exist before, or its verb is not a common
/// one.
pub(super) const IS_RARE: &str =
    "(before IS NULL OR op NOT IN ('create', 'update', 'reopen', 'claim', 'release', 'expire'))";

impl Journal {
    /// Creates the index if the journal is long and has none.
    pub(super) fn index_rare_entries(&self, newest: Revision) -> Result<(), StoreError> {
        if newest.0 < LONG || self.has_rare_index()? {
            return Ok(());
        }
        // A journal written by an older release may already be very long.
        self.read_unmapped();
        let transaction = self.begin()?;
        let sql = format!("CREATE INDEX IF NOT EXISTS rare_entries ON entries (id, task, op) WHERE {IS_RARE}");
        self.remove(&sql, [])?;
        self.end(transaction)?;
        self.read_mapped();
        Ok(())
    }

    /// Returns the table to query, with the index if that covers the query.
    pub(super) fn entries_for(&self, query: &HistoryQuery) -> Result<&'static str, StoreError> {
        Ok(if is_about_rare_entries(query) && self.has_rare_index()? {
            "entries INDEXED BY rare_entries"
        } else {
            "entries"
        })
    }

    fn has_rare_index(&self) -> Result<bool, StoreError> {
        if !self.is_indexed.get() {
            let sql = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'index' AND name = 'rare_entries')";
            self.is_indexed.set(self.one(sql, [], |row| row.get(0))?);
        }
        Ok(self.is_indexed.get())
    }
}

/// Returns whether a query matches only rare entries.
pub(super) fn is_about_rare_entries(query: &HistoryQuery) -> bool {
    query.only_arrivals || (!query.ops.is_empty() && !query.ops.iter().any(|op| COMMON.contains(op)))
}

#[cfg(test)]
mod tests {
    use taskyard_core::{AgentName, Image, Op, Revision, TaskId, Timestamp};

    use super::super::{Journal, NewEntry};
    use super::{COMMON, IS_RARE, LONG};
    use crate::store::{HistoryQuery, Signature};

    fn write(journal: &Journal, revision: u64, task: u64, op: Op, before: Option<&Image>, after: Option<&Image>) {
        let (task, inode, mode) = (&TaskId::number(task), None, None);
        let entry = NewEntry { task, op, before, after, inode, mode };
        let signature = Signature::new(AgentName::elsewhere(), op);
        journal.append(Revision(revision), Timestamp(0), &signature, &[entry]).unwrap();
    }

    /// Creates a journal with every verb, with tasks that come and go, and with one task that some verb created.
    fn journal(place: &std::path::Path) -> Journal {
        let journal = Journal::open(place, place).unwrap();
        let transaction = journal.begin().unwrap();
        let image = Image::new(b"{}".as_slice());
        let mut revision = 0;
        for op in Op::ALL {
            for (before, after) in [(false, true), (true, true), (true, false), (false, false)] {
                revision += 1;
                let image = |is_there: bool| is_there.then_some(&image);
                write(&journal, revision, revision % 3 + 1, op, image(before), image(after));
            }
        }
        journal.end(transaction).unwrap();
        journal
    }

    #[test]
    fn the_words_of_the_index_are_the_common_verbs() {
        let words: Vec<String> = COMMON.iter().map(|op| format!("'{op}'")).collect();
        assert_eq!(IS_RARE, format!("(before IS NULL OR op NOT IN ({}))", words.join(", ")));
    }

    #[test]
    fn deletions_by_clients_are_removals_to_older_releases() {
        let place = tempfile::tempdir().unwrap();
        let (journal, image) = (Journal::open(place.path(), place.path()).unwrap(), Image::new(b"{}".as_slice()));
        write(&journal, 1, 1, Op::RemovedElsewhere, Some(&image), None);
        write(&journal, 2, 2, Op::DeletedElsewhere, Some(&image), None);
        let words: Vec<String> = journal.rows("SELECT op FROM entries", [], |row| row.get(0)).unwrap();
        assert_eq!(words, ["removed_elsewhere", "removed_elsewhere"]);
        for (op, revision) in [(Op::RemovedElsewhere, 1), (Op::DeletedElsewhere, 2)] {
            let found = journal.select(&HistoryQuery { ops: vec![op], ..HistoryQuery::default() }).unwrap();
            let found: Vec<(Op, u64)> = found.iter().map(|entry| (entry.op, entry.revision.0)).collect();
            assert_eq!(found, [(op, revision)]);
        }
    }

    #[test]
    fn indexed_journal_answers_like_a_short_one() {
        let place = tempfile::tempdir().unwrap();
        let journal = journal(place.path());
        let mut queries = vec![HistoryQuery { only_arrivals: true, ..HistoryQuery::default() }];
        for first in 0..Op::ALL.len() {
            let ops = Op::ALL[first..].to_vec();
            queries.push(HistoryQuery { ops, ..HistoryQuery::default() });
            queries.push(HistoryQuery { ops: vec![Op::ALL[first]], only_arrivals: true, ..HistoryQuery::default() });
        }
        let narrowed = queries.iter().flat_map(|query| {
            let of_task = HistoryQuery { task: Some(TaskId::number(2)), ..query.clone() };
            let newest = HistoryQuery { newest: Some(2), ..query.clone() };
            let range = HistoryQuery { since: Revision(9), until: Some(Revision(60)), ..of_task.clone() };
            [query.clone(), of_task, newest, range]
        });
        let queries: Vec<HistoryQuery> = narrowed.collect();
        let ask = || queries.iter().map(|query| journal.select(query).unwrap()).collect::<Vec<_>>();
        let short = ask();
        assert!(short.iter().any(|entries| entries.len() > 20));
        journal.index_rare_entries(Revision(LONG - 1)).unwrap();
        assert!(!journal.has_rare_index().unwrap(), "a short journal has none");
        journal.index_rare_entries(Revision(LONG)).unwrap();
        assert!(journal.has_rare_index().unwrap());
        assert_eq!(ask(), short);
    }
}
