//! Which revisions can be taken back, and what that makes of the tasks.

use std::collections::{BTreeMap, HashSet};

use crate::rules::refusal::Refusal;
use crate::{Entry, Image, Op, Revision, TaskId};

/// What taking revisions back does to one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// The task.
    pub task: TaskId,
    /// The newest of the revisions that changed it.
    pub revision: Revision,
    /// How it must stand now; where it does not, a writer has changed it since.
    pub expected: Option<Image>,
    /// How it stood before, and will stand again.
    pub before: Option<Image>,
}

/// Looks for the newest revision of ours that is no undo and is not itself taken back, from the newest entry backwards.
///
/// What other programs did is passed over: it may have been recorded long after it happened, as when a list is looked
/// at for the first time, and a user who undoes means what was done here. It can be taken back by its number.
#[derive(Clone, Debug, Default)]
pub struct NewestToUndo {
    taken_back: HashSet<Revision>,
    looked_at: Option<Revision>,
}

impl NewestToUndo {
    /// Tells whether a revision of this verb may be the one, or says what is taken back; others need not be looked at.
    pub fn is_of_interest(op: Op) -> bool {
        // A lease that ended is no agent's doing.
        !op.is_elsewhere() && op != Op::Expire
    }

    /// Looks at entries, oldest first, that stand before all it has looked at; returns the revision where it is among them.
    pub fn look(&mut self, entries: &[Entry]) -> Option<Revision> {
        for entry in entries.iter().rev() {
            if self.looked_at == Some(entry.revision) {
                continue;
            }
            self.looked_at = Some(entry.revision);
            // An undo that was itself taken back no longer takes anything back.
            if self.taken_back.remove(&entry.revision) || !Self::is_of_interest(entry.op) {
                continue;
            }
            if entry.op != Op::Undo {
                return self.looked_at;
            }
            self.taken_back.extend(entry.undoes.iter().copied());
        }
        None
    }
}

/// What taking revisions back does, gathered from their entries, oldest first. No entry of their tasks between them is missing.
#[derive(Clone, Debug, Default)]
pub struct TakingBack {
    tasks: BTreeMap<TaskId, TakenBack>,
    revisions: Vec<Revision>,
    noted: Vec<TaskId>,
    does_more_than_mend: bool,
}

impl TakingBack {
    /// Takes the next entry.
    ///
    /// Refused where a task did not stay between two of the revisions as the first left it: then another writer changed it, and that change
    /// would be lost.
    pub fn add(&mut self, entry: &Entry) -> Result<(), Refusal> {
        if self.revisions.last() != Some(&entry.revision) {
            self.revisions.push(entry.revision);
        }
        self.does_more_than_mend |= entry.op != Op::Mend;
        if entry.before.is_none() && entry.after.is_none() {
            self.noted.push(entry.task.clone());
        }
        match self.tasks.get_mut(&entry.task) {
            Some(older) if older.expected != entry.before => {
                let (revision, task) = (older.revision, entry.task.clone());
                return Err(Refusal::ChangedSince { revision, task, changed_in: None });
            }
            Some(older) => {
                older.revision = entry.revision;
                older.expected.clone_from(&entry.after);
            }
            None => {
                let (task, revision) = (entry.task.clone(), entry.revision);
                let (expected, before) = (entry.after.clone(), entry.before.clone());
                self.tasks.insert(entry.task.clone(), TakenBack { task, revision, expected, before });
            }
        }
        Ok(())
    }

    /// Returns what becomes of each task, by number.
    pub fn plan(&self) -> Vec<TakenBack> {
        self.tasks.values().cloned().collect()
    }

    /// Returns the revisions, newest first.
    pub fn revisions(&self) -> Vec<Revision> {
        self.revisions.iter().rev().copied().collect()
    }

    /// Returns the tasks of which it was noted that they are not there, as often as that was.
    pub fn noted(&self) -> &[TaskId] {
        &self.noted
    }

    /// Tells whether all that is taken back is what `doctor` mended.
    pub fn is_all_mending(&self) -> bool {
        !self.does_more_than_mend
    }
}

#[cfg(test)]
mod tests {
    use super::{NewestToUndo, TakenBack, TakingBack};
    use crate::rules::refusal::Refusal;
    use crate::{AgentName, Entry, Image, Op, Remark, Revision, TaskId, Timestamp};

    fn entry(revision: u64, task: u64, before: &str, after: &str) -> Entry {
        let image = |text: &str| (!text.is_empty()).then(|| Image::new(text.as_bytes()));
        Entry {
            revision: Revision(revision),
            at: Timestamp(0),
            actor: AgentName::elsewhere(),
            op: Op::Update,
            task: TaskId::number(task),
            before: image(before),
            after: image(after),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        }
    }

    fn undo(revision: u64, undoes: &[u64]) -> Entry {
        let undoes = undoes.iter().copied().map(Revision).collect();
        Entry { op: Op::Undo, undoes, ..entry(revision, 1, "x", "y") }
    }

    /// Looks for it one entry after the other, and in one go.
    fn newest_to_undo(journal: &[Entry]) -> Option<Revision> {
        let mut search = NewestToUndo::default();
        let found = journal.iter().rev().find_map(|entry| search.look(std::slice::from_ref(entry)));
        assert_eq!(NewestToUndo::default().look(journal), found);
        found
    }

    #[test]
    fn the_newest_is_no_undo_and_not_undone() {
        let mut journal = vec![entry(1, 1, "", "a"), entry(2, 1, "a", "b"), entry(2, 2, "", "c")];
        assert_eq!(newest_to_undo(&journal), Some(Revision(2)));
        journal.push(undo(3, &[2]));
        assert_eq!(newest_to_undo(&journal), Some(Revision(1)));
        journal.push(undo(4, &[1]));
        assert_eq!(newest_to_undo(&journal), None);
    }

    #[test]
    fn what_other_programs_did_is_passed_over() {
        let elsewhere = Entry { op: Op::CreatedElsewhere, ..entry(2, 7, "", "z") };
        assert_eq!(newest_to_undo(&[entry(1, 1, "", "a"), elsewhere.clone()]), Some(Revision(1)));
        assert_eq!(newest_to_undo(&[elsewhere]), None);
    }

    #[test]
    fn what_an_undone_undo_took_back_counts_again() {
        let journal = [entry(1, 1, "", "a"), entry(2, 1, "a", "b"), undo(3, &[2]), undo(4, &[3])];
        assert_eq!(newest_to_undo(&journal), Some(Revision(2)));
    }

    fn take_back(entries: &[Entry]) -> Result<Vec<TakenBack>, Refusal> {
        let mut taken = TakingBack::default();
        entries.iter().try_for_each(|entry| taken.add(entry))?;
        Ok(taken.plan())
    }

    #[test]
    fn a_range_goes_back_to_before_its_oldest_entry() {
        let plan = take_back(&[entry(1, 2, "", "a"), entry(2, 1, "p", "q"), entry(3, 2, "a", "b")]).unwrap();
        assert_eq!(plan.len(), 2);
        assert_eq!((plan[1].task.as_str(), plan[1].revision), ("2", Revision(3)));
        assert_eq!(plan[1].expected, Some(Image::new(b"b".as_slice())));
        assert_eq!(plan[1].before, None);
        assert_eq!(plan[0].before, Some(Image::new(b"p".as_slice())));
    }

    #[test]
    fn a_change_in_between_that_is_not_in_the_journal_stands_in_the_way() {
        let refused = take_back(&[entry(1, 2, "", "a"), entry(3, 2, "z", "b")]);
        let task = TaskId::number(2);
        assert_eq!(refused, Err(Refusal::ChangedSince { revision: Revision(1), task, changed_in: None }));
    }
}
