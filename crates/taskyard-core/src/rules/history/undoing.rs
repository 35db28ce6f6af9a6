//! Which revisions can be undone, and the effect on the tasks.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::rules::agents::is_same_agent;
use crate::rules::refusal::Refusal;
use crate::{AgentName, Entry, Image, Op, Revision, SignedRevision, TaskId};

/// The effect of undoing revisions on one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// The affected task.
    pub task: TaskId,
    /// The newest of the revisions that changed it.
    pub revision: Revision,
    /// The state that it must have now. If it has another, a writer has changed it since.
    pub expected: Option<Image>,
    /// The state to restore.
    pub before: Option<Image>,
}

/// Searches backwards from the newest entry for the newest revision made through Taskyard that is neither an undo nor
/// undone.
///
/// Changes by other programs are skipped: they may have been recorded long after they happened, for example when a list
/// is read for the first time, and a user who calls undo means a change made here. They can still be undone by number.
#[derive(Clone, Debug, Default)]
pub struct NewestToUndo {
    actor: Option<AgentName>,
    taken_back: HashSet<Revision>,
    looked_at: Option<Revision>,
}

impl NewestToUndo {
    /// Searches for the newest revision of one actor. Undos count whoever made them.
    pub fn of(actor: AgentName) -> Self {
        Self { actor: Some(actor), ..Self::of_anyone() }
    }

    /// Searches for the newest revision of any actor.
    pub fn of_anyone() -> Self {
        Self::default()
    }

    /// Returns whether entries of this operation are relevant to the search. Others need not be passed to
    /// [`NewestToUndo::look`].
    pub fn is_of_interest(op: Op) -> bool {
        // A lease expiry is not an agent's action.
        !op.is_elsewhere() && op != Op::Expire
    }

    /// Processes earlier entries, given oldest first. Batches must be passed from the newest to the oldest. Returns the
    /// revision if it is among them.
    pub fn look(&mut self, entries: &[Entry]) -> Option<Revision> {
        for entry in entries.iter().rev() {
            if self.looked_at == Some(entry.revision) {
                continue;
            }
            self.looked_at = Some(entry.revision);
            // An undo that was itself undone has no effect.
            if self.taken_back.remove(&entry.revision) || !Self::is_of_interest(entry.op) {
                continue;
            }
            if entry.op == Op::Undo {
                self.taken_back.extend(entry.undoes.iter().copied());
            } else if self.is_wanted(entry) {
                return self.looked_at;
            }
        }
        None
    }

    fn is_wanted(&self, entry: &Entry) -> bool {
        self.actor.as_ref().is_none_or(|actor| is_same_agent(entry.actor.as_str(), actor.as_str()))
    }
}

/// The undone revisions, each with the undo that reverted it.
#[derive(Clone, Debug, Default)]
pub struct UndoneRevisions(HashMap<Revision, SignedRevision>);

impl UndoneRevisions {
    /// Collects the undone revisions from journal entries, given oldest first. The newest entries of the journal must
    /// be among them.
    pub fn of(undos: &[Entry]) -> Self {
        let mut undone: HashMap<Revision, SignedRevision> = HashMap::new();
        for entry in undos.iter().rev().filter(|entry| entry.op == Op::Undo) {
            // An undo that was itself undone has no effect.
            if undone.contains_key(&entry.revision) {
                continue;
            }
            for revision in &entry.undoes {
                undone.entry(*revision).or_insert_with(|| SignedRevision::of(entry));
            }
        }
        Self(undone)
    }

    /// Returns the undo that reverted a revision, or `None` if the revision is in effect.
    pub fn undo_of(&self, revision: Revision) -> Option<&SignedRevision> {
        self.0.get(&revision)
    }
}

/// The effect of undoing revisions, collected from their entries, oldest first. No entry of their tasks within the
/// range may be missing.
#[derive(Clone, Debug, Default)]
pub struct TakingBack {
    tasks: BTreeMap<TaskId, TakenBack>,
    revisions: Vec<SignedRevision>,
    noted: Vec<TaskId>,
    does_more_than_mend: bool,
}

impl TakingBack {
    /// Adds the next entry.
    ///
    /// Fails with [`Refusal::ChangedSince`] if a task changed between two of the revisions: another writer changed it,
    /// and that change would be lost.
    pub fn add(&mut self, entry: &Entry) -> Result<(), Refusal> {
        if self.revisions.last().map(|newest| newest.revision) != Some(entry.revision) {
            self.revisions.push(SignedRevision::of(entry));
        }
        self.does_more_than_mend |= entry.op != Op::Mend;
        // Renaming a list leaves its tasks unchanged, so the state before equals the state after.
        let before = if entry.op == Op::Rename { &entry.after } else { &entry.before };
        if entry.before.is_none() && entry.after.is_none() && entry.op != Op::Rename {
            self.noted.push(entry.task.clone());
        }
        match self.tasks.get_mut(&entry.task) {
            Some(older) if older.expected != *before => {
                let (revision, task) = (older.revision, entry.task.clone());
                return Err(Refusal::ChangedSince { revision, task, later: Vec::new(), range_end: None });
            }
            Some(older) => {
                older.revision = entry.revision;
                older.expected.clone_from(&entry.after);
            }
            None => {
                let (task, revision) = (entry.task.clone(), entry.revision);
                let (expected, before) = (entry.after.clone(), before.clone());
                self.tasks.insert(entry.task.clone(), TakenBack { task, revision, expected, before });
            }
        }
        Ok(())
    }

    /// Returns the effect on each task, sorted by id.
    pub fn plan(&self) -> Vec<TakenBack> {
        self.tasks.values().cloned().collect()
    }

    /// Returns the revisions, newest first.
    pub fn revisions(&self) -> Vec<SignedRevision> {
        self.revisions.iter().rev().cloned().collect()
    }

    /// Returns the tasks recorded as absent both before and after, once per entry.
    pub fn noted(&self) -> &[TaskId] {
        &self.noted
    }

    /// Returns whether the undo would leave every task unchanged.
    pub fn is_without_effect(&self) -> bool {
        self.noted.is_empty() && self.tasks.values().all(|step| step.expected == step.before)
    }

    /// Returns whether all of the revisions are repairs by `doctor`.
    pub fn is_all_mending(&self) -> bool {
        !self.does_more_than_mend
    }
}

/// What is needed to undo a revision now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoOffer {
    /// The revision can be undone by itself.
    Alone,
    /// The revision can be undone together with later ones.
    WithLater {
        /// The last revision of the range to undo.
        last: Revision,
        /// The number of revisions in the range, without the first.
        later: usize,
    },
    /// The revision has already been undone, by this undo.
    Undone(SignedRevision),
    /// Undoing it would be refused.
    Refused,
}

/// Maximum number of later revisions offered to be undone together with one.
const LATER_OFFERED: usize = 10;

/// Determines what is needed to undo `revision`.
///
/// `journal` contains the entries from that revision on, oldest first. Entries at its end may be missing; ranges that
/// would need them are not offered. `is_possible` returns whether the tasks and leases of the list allow an undo.
pub fn offer_undo(
    revision: Revision,
    journal: &[Entry],
    undone: &UndoneRevisions,
    is_possible: impl Fn(&TakingBack) -> bool,
) -> UndoOffer {
    if let Some(undo) = undone.undo_of(revision) {
        return UndoOffer::Undone(undo.clone());
    }
    let journal = &journal[journal.partition_point(|entry| entry.revision < revision)..];
    let (mut taken, mut rest) = (TakingBack::default(), journal);
    let mut last = revision;
    loop {
        let (next, later) = rest.split_at(rest.partition_point(|entry| entry.revision <= last));
        if next.iter().try_for_each(|entry| taken.add(entry)).is_err() {
            return UndoOffer::Refused;
        }
        rest = later;
        let count = taken.revisions.len().saturating_sub(1);
        if count > LATER_OFFERED {
            return UndoOffer::Refused;
        }
        if !taken.is_without_effect() && is_possible(&taken) {
            return if count == 0 { UndoOffer::Alone } else { UndoOffer::WithLater { last, later: count } };
        }
        match rest.iter().rev().find(|entry| taken.tasks.contains_key(&entry.task)) {
            Some(overlapping) => last = overlapping.revision,
            None => return UndoOffer::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NewestToUndo, TakenBack, TakingBack, UndoOffer, UndoneRevisions, offer_undo};
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

    fn by(actor: &str, entry: Entry) -> Entry {
        Entry { actor: AgentName::new(actor).unwrap(), ..entry }
    }

    /// Searches entry by entry and in one go, and asserts that the results agree.
    fn found_by(search: &NewestToUndo, journal: &[Entry]) -> Option<Revision> {
        let mut step_by_step = search.clone();
        let found = journal.iter().rev().find_map(|entry| step_by_step.look(std::slice::from_ref(entry)));
        assert_eq!(search.clone().look(journal), found);
        found
    }

    fn newest_to_undo(journal: &[Entry]) -> Option<Revision> {
        found_by(&NewestToUndo::of_anyone(), journal)
    }

    fn newest_of(actor: &str, journal: &[Entry]) -> Option<Revision> {
        found_by(&NewestToUndo::of(AgentName::new(actor).unwrap()), journal)
    }

    #[test]
    fn only_the_newest_of_the_actor_is_meant() {
        let mut journal = vec![by("ana", entry(1, 1, "", "a")), by("bot", entry(2, 2, "", "b"))];
        assert_eq!(newest_of("ana", &journal), Some(Revision(1)));
        assert_eq!(newest_of("bot@crew", &journal), Some(Revision(2)), "a name with its team is the same agent");
        assert_eq!(newest_of("cleo", &journal), None);
        journal.push(by("bot", undo(3, &[1])));
        assert_eq!(newest_of("ana", &journal), None, "another actor has taken it back");
        journal.push(by("bot", undo(4, &[3])));
        assert_eq!(newest_of("ana", &journal), Some(Revision(1)));
    }

    #[test]
    fn an_undone_revision_names_its_undo() {
        let journal = [by("ana", undo(3, &[1, 2])), by("bot", undo(4, &[3])), by("ana", undo(5, &[2]))];
        let undone = UndoneRevisions::of(&journal);
        let by_whom = |revision| undone.undo_of(Revision(revision)).map(ToString::to_string);
        assert_eq!(by_whom(1), None, "its undo was taken back");
        assert_eq!(by_whom(2).as_deref(), Some("r5 by ana"));
        assert_eq!(by_whom(3).as_deref(), Some("r4 by bot"));
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

    /// Offers to undo a revision of a list whose tasks are as the journal left them.
    fn offer(revision: u64, journal: &[Entry]) -> UndoOffer {
        let current = |task: &TaskId| journal.iter().rev().find(|entry| entry.task == *task)?.after.clone();
        let is_possible = |taken: &TakingBack| taken.plan().iter().all(|step| step.expected == current(&step.task));
        offer_undo(Revision(revision), journal, &UndoneRevisions::of(journal), is_possible)
    }

    #[test]
    fn only_what_can_be_taken_back_is_offered() {
        let journal = [
            entry(1, 1, "", "a"),
            entry(2, 1, "a", "b"),
            entry(3, 2, "", "p"),
            entry(4, 1, "b", "c"),
            entry(5, 3, "", "x"),
            Entry { undoes: vec![Revision(5)], op: Op::Undo, ..entry(6, 3, "x", "") },
        ];
        assert_eq!(offer(4, &journal), UndoOffer::Alone);
        assert_eq!(offer(3, &journal), UndoOffer::Alone);
        assert_eq!(offer(2, &journal), UndoOffer::WithLater { last: Revision(4), later: 2 });
        assert!(matches!(offer(5, &journal), UndoOffer::Undone(undo) if undo.revision == Revision(6)));
        assert_eq!(offer(6, &journal), UndoOffer::Alone, "an undo can be taken back");
        assert_eq!(offer(2, &journal[..3]), UndoOffer::Alone);
    }

    #[test]
    fn a_change_that_was_taken_back_since_does_not_overlap() {
        let back = Entry { undoes: vec![Revision(2)], op: Op::Undo, ..entry(3, 1, "b", "a") };
        let journal = [entry(1, 1, "", "a"), entry(2, 1, "a", "b"), back];
        assert_eq!(offer(1, &journal), UndoOffer::Alone);
    }

    #[test]
    fn nothing_is_offered_that_needs_many_others() {
        let text = |number: u64| if number == 0 { String::new() } else { number.to_string() };
        let journal: Vec<Entry> = (1..=20).map(|number| entry(number, 1, &text(number - 1), &text(number))).collect();
        assert_eq!(offer(1, &journal), UndoOffer::Refused);
        assert_eq!(offer(10, &journal), UndoOffer::WithLater { last: Revision(20), later: 10 });
    }

    #[test]
    fn unjournaled_change_in_between_prevents_undo() {
        let refused = take_back(&[entry(1, 2, "", "a"), entry(3, 2, "z", "b")]);
        let task = TaskId::number(2);
        assert_eq!(refused, Err(Refusal::ChangedSince { revision: Revision(1), task, later: vec![], range_end: None }));
    }
}
