//! Kinds of data that seldom change, a change count for each, and cached answers that stay valid until the count
//! changes.
//!
//! The table `versions` has a count per kind. A transaction that changes data of a kind raises its count, and every
//! transaction reads all counts with its [`crate::server_clock::Stamp`]. An answer read at a count is valid while the
//! count is the same. Only answers that were read in one snapshot with the count are cached.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When there are this many cached answers, all are dropped.
const MOST_ANSWERS: usize = 1_024;

/// A kind of data that seldom changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Messages and their acknowledgements.
    Messages,
    /// The names of lists.
    Names,
    /// Notices of ended jobs and their acknowledgements.
    Notices,
    /// Teams, their members, which agents have seats, and the processes that these agents live with.
    Teams,
}

impl Kind {
    /// All kinds, in the order in which the database returns their counts: by name.
    pub(crate) const ALL: [Self; 4] = [Self::Messages, Self::Names, Self::Notices, Self::Teams];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Names => "names",
            Self::Notices => "notices",
            Self::Teams => "teams",
        }
    }
}

/// The change counts of all kinds at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    /// The epoch that the counts belong to.
    epoch: Arc<str>,
    counts: [i64; Kind::ALL.len()],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) epoch: Arc<str>,
    pub(crate) count: i64,
}

impl Versions {
    /// The query for the counts, which the stamp includes.
    pub(crate) const QUESTION: &'static str = "(SELECT array_agg(version ORDER BY kind) FROM @.versions)";

    /// Takes the result. Returns `None` if a row is missing; then nothing can be cached.
    pub(crate) fn new(epoch: &str, counts: Option<Vec<i64>>) -> Option<Self> {
        Some(Self { epoch: epoch.into(), counts: counts?.try_into().ok()? })
    }

    pub(crate) fn of(&self, kind: Kind) -> Version {
        Version { epoch: Arc::clone(&self.epoch), count: self.counts[kind as usize] }
    }
}

/// Cached answers about data that seldom changes.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<Remembered>);

/// An answer and the count at which it was read.
type ReadAnswer = (Version, Arc<dyn Any + Send + Sync>);

#[derive(Debug, Default)]
struct Remembered {
    /// The counts last read by a transaction of this process, or announced since.
    newest: Option<Versions>,
    /// Keyed by the query and its subject.
    by_question: HashMap<(&'static str, String), ReadAnswer>,
}

impl Answers {
    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the counts that a transaction read; `None` if it could not. Counts that arrive late and are out of
    /// date do no harm, since a call that relies on them detects that. A restored database may have lower counts.
    pub(crate) fn observe(&self, versions: Option<&Versions>) {
        self.remembered().newest = versions.cloned();
    }

    /// Records that a count was raised, as announced by the process that raised it; `version` is `None` if it did not
    /// say to what.
    pub(crate) fn hear(&self, kind: Kind, version: Option<&Version>) {
        let mut remembered = self.remembered();
        match (&mut remembered.newest, version) {
            (Some(newest), Some(version)) if newest.epoch == version.epoch => {
                let count = &mut newest.counts[kind as usize];
                *count = version.count.max(*count);
            }
            // The next transaction reads the counts.
            (newest, _) => *newest = None,
        }
    }

    pub(crate) fn newest(&self, kind: Kind) -> Option<Version> {
        Some(self.remembered().newest.as_ref()?.of(kind))
    }

    /// Returns the answer to a query if it was read at this count.
    pub(crate) fn find<T: Send + Sync + 'static>(
        &self,
        question: &'static str,
        about: &str,
        version: &Version,
    ) -> Option<Arc<T>> {
        let remembered = self.remembered();
        let (read_at, answer) = remembered.by_question.get(&(question, about.to_owned()))?;
        if read_at == version { Arc::clone(answer).downcast().ok() } else { None }
    }

    pub(crate) fn keep<T: Send + Sync + 'static>(
        &self,
        question: &'static str,
        about: String,
        version: Version,
        answer: Arc<T>,
    ) {
        let mut remembered = self.remembered();
        if remembered.by_question.len() >= MOST_ANSWERS {
            remembered.by_question.clear();
        }
        remembered.by_question.insert((question, about), (version, answer));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Answers, Kind, Version, Versions};

    fn versions(epoch: &str, counts: [i64; 4]) -> Versions {
        Versions::new(epoch, Some(counts.to_vec())).unwrap()
    }

    #[test]
    fn an_answer_counts_until_its_kind_changes() {
        let answers = Answers::default();
        let before = versions("a", [1, 1, 1, 1]);
        answers.observe(Some(&before));
        answers.keep("teams", String::new(), before.of(Kind::Teams), Arc::new(7));
        let find = || answers.find::<i32>("teams", "", &answers.newest(Kind::Teams).unwrap());
        answers.observe(Some(&versions("a", [2, 2, 2, 1])));
        assert_eq!(find(), Some(Arc::new(7)), "other kinds changed");
        answers.observe(Some(&versions("a", [2, 2, 2, 2])));
        assert_eq!(find(), None);
    }

    #[test]
    fn counts_that_were_read_last_count() {
        let answers = Answers::default();
        answers.observe(Some(&versions("a", [9, 9, 9, 9])));
        answers.observe(Some(&versions("a", [1, 1, 1, 1])));
        assert_eq!(answers.newest(Kind::Names).unwrap().count, 1, "the database was restored");
        answers.observe(Some(&versions("b", [1, 1, 1, 1])));
        assert_eq!(answers.newest(Kind::Names), Some(Version { epoch: "b".into(), count: 1 }));
        answers.observe(None);
        assert_eq!(answers.newest(Kind::Names), None);
    }

    #[test]
    fn what_another_process_raised_is_newer() {
        let answers = Answers::default();
        let version = |epoch: &str, count| Version { epoch: epoch.into(), count };
        answers.observe(Some(&versions("a", [1, 1, 1, 1])));
        answers.hear(Kind::Teams, Some(&version("a", 2)));
        assert_eq!(answers.newest(Kind::Teams), Some(version("a", 2)));
        answers.hear(Kind::Teams, Some(&version("b", 2)));
        assert_eq!(answers.newest(Kind::Teams), None, "nothing is known of that epoch");
    }

    #[test]
    fn without_all_rows_nothing_is_remembered() {
        assert_eq!(Versions::new("a", None), None);
        assert_eq!(Versions::new("a", Some(vec![1, 2, 3])), None);
    }
}
