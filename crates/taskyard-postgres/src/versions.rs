//! What changes seldom, how often it changed, and the answers that count until it changes again.
//!
//! The table `versions` counts the changes of each kind. Whoever changes something of a kind raises its count in the same transaction, and
//! every transaction reads all counts with its [`crate::epoch::Stamp`]. An answer that was read at a count is right as long as the count is
//! the same. Nothing is remembered that was not read at one moment with the count.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All remembered answers are dropped when there are this many.
const MOST_ANSWERS: usize = 1_024;

/// A kind of thing that changes seldom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Messages, and whether they were acknowledged.
    Messages,
    /// Which lists there are.
    Names,
    /// Notices of ended jobs, and whether they were acknowledged.
    Notices,
    /// Teams, their members, which agents have seats, and which processes these live with.
    Teams,
}

impl Kind {
    /// All of them, in the order in which the database returns their counts: by name.
    pub(crate) const ALL: [Self; 4] = [Self::Messages, Self::Names, Self::Notices, Self::Teams];

    /// Returns its name in the database.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Names => "names",
            Self::Notices => "notices",
            Self::Teams => "teams",
        }
    }
}

/// How often each kind had changed at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    /// The id of the epoch in which these are the counts.
    epoch: Arc<str>,
    counts: [i64; Kind::ALL.len()],
}

/// The count of one kind in one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) epoch: Arc<str>,
    pub(crate) count: i64,
}

impl Versions {
    /// What a stamp asks for.
    pub(crate) const QUESTION: &'static str = "(SELECT array_agg(version ORDER BY kind) FROM @.versions)";

    /// Takes the answer; `None` if a row is missing, and then nothing can be remembered.
    pub(crate) fn new(epoch: &str, counts: Option<Vec<i64>>) -> Option<Self> {
        Some(Self { epoch: epoch.into(), counts: counts?.try_into().ok()? })
    }

    /// Returns the count of one kind.
    pub(crate) fn of(&self, kind: Kind) -> Version {
        Version { epoch: Arc::clone(&self.epoch), count: self.counts[kind as usize] }
    }
}

/// Answers about things that change seldom.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<Remembered>);

/// An answer, and the count at which it was read.
type ReadAnswer = (Version, Arc<dyn Any + Send + Sync>);

#[derive(Debug, Default)]
struct Remembered {
    /// The counts that a transaction of this process read last, or heard of since.
    newest: Option<Versions>,
    /// By the question, and what it is about.
    by_question: HashMap<(&'static str, String), ReadAnswer>,
}

impl Answers {
    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in the counts that a transaction read; `None` if it could not. Those of an answer that comes late count, too: the call that
    /// relies on them finds out. A database that was restored may have lower ones.
    pub(crate) fn observe(&self, versions: Option<&Versions>) {
        self.remembered().newest = versions.cloned();
    }

    /// Takes in that a count was raised, as the process that did so tells; `None` if it does not tell to what.
    pub(crate) fn hear(&self, kind: Kind, version: Option<&Version>) {
        let mut remembered = self.remembered();
        match (&mut remembered.newest, version) {
            (Some(newest), Some(version)) if newest.epoch == version.epoch => {
                let count = &mut newest.counts[kind as usize];
                *count = version.count.max(*count);
            }
            // The next transaction tells.
            (newest, _) => *newest = None,
        }
    }

    /// Returns the newest known count of a kind; `None` if none is.
    pub(crate) fn newest(&self, kind: Kind) -> Option<Version> {
        Some(self.remembered().newest.as_ref()?.of(kind))
    }

    /// Returns the answer to a question if it was read at a count.
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

    /// Remembers the answer to a question that was read at a count.
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
