//! The index by which entries are found for what they did. Only a long journal has one: in a short one there is nothing to find, and it
//! stays small.

use taskyard_core::{Op, Revision};

use super::Journal;
use crate::store::{HistoryQuery, StoreError};

/// A journal of so many revisions is long.
const LONG: u64 = 4096;

/// The verbs by which tasks are worked on: most entries are of one of them.
const COMMON: [Op; 6] = [Op::Create, Op::Update, Op::Reopen, Op::Claim, Op::Release, Op::Expire];
/// What makes an entry rare, word for word as it stands in the index: a task came by it, or it has none of the common verbs.
pub(super) const IS_RARE: &str =
    "(before IS NULL OR op NOT IN ('create', 'update', 'reopen', 'claim', 'release', 'expire'))";

impl Journal {
    /// Makes the index where the journal has become long and has none yet.
    pub(super) fn index_rare_entries(&self, newest: Revision) -> Result<(), StoreError> {
        if newest.0 < LONG || self.has_rare_index()? {
            return Ok(());
        }
        // One that an older release wrote may be very long already.
        self.read_unmapped();
        let transaction = self.begin()?;
        let sql = format!("CREATE INDEX IF NOT EXISTS rare_entries ON entries (id, task, op) WHERE {IS_RARE}");
        self.remove(&sql, [])?;
        self.end(transaction)?;
        self.read_mapped();
        Ok(())
    }

    /// Returns the table to ask, by the index where all that is asked for is in it.
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

/// Tells whether only rare entries are asked for.
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

    /// Makes a journal in which every verb came, tasks came and went, and some verb made one.
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
    fn a_long_journal_answers_by_the_index_what_a_short_one_answers_without() {
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
