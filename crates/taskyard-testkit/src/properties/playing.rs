//! Playing random sequences.

use std::collections::{BTreeMap, HashSet};
use std::iter;
use std::sync::Arc;
use std::time::Instant;

use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use taskyard::core::{AgentName, ListId, Revision, Rules, TaskId};
use taskyard::operations::{MergeWhich, NewTask, OwnerChange, Patch, RestoreWhich, UndoRange, Update};
use taskyard::stream::{Cursor, Happening, Interest, Stream};
use taskyard::{Outcome, Yard};

use super::invariants::{Replay, edges_are_in_order};
use super::steps::{Step, sequences};
use crate::{Opened, PATIENCE, Scale, images};

/// Plays random sequences of operations in these rules, and checks the invariants after each: edges two-sided and without
/// circles (in strict rules), ids never reused, the journal replays to the present state, undoing the newest revision brings
/// back the bytes before it, a refusal changes nothing, and each commit is told once.
///
/// A store that runs no slower than memory does 64 sequences in a few seconds; `cases` is multiplied with
/// `TASKYARD_TEST_SCALE`.
pub fn random_operations_keep_the_invariants<T: Into<Opened>>(
    factory: impl Fn(Rules) -> T,
    rules: Rules,
    cases: usize,
) {
    let cases = u32::try_from(Scale::from_environment(0.06).of(cases)).unwrap_or(u32::MAX);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&sequences(), |steps| {
        let mut player = Player::new(factory(rules).into(), rules);
        let begin = Step::Create { blocked_by: Vec::new(), blocks: Vec::new(), owner: None };
        for step in iter::repeat_n(&begin, 5).chain(&steps) {
            player.play(step);
        }
        player.check_from_the_beginning();
        player.check_what_was_told();
        Ok(())
    });
    if let Err(failure) = played {
        panic!("{failure}");
    }
}

type Bytes = BTreeMap<TaskId, String>;

struct Player {
    yard: Yard,
    away: ListId,
    rules: Rules,
    /// Every id that was ever given out in each list.
    given_out: HashSet<TaskId>,
    given_out_away: HashSet<TaskId>,
    /// The revisions the steps made, without those of taking back and bringing again.
    made: Vec<Revision>,
    replays: [Replay; 2],
    stream: Stream,
    _opened: Opened,
}

impl Player {
    fn new(opened: Opened, rules: Rules) -> Self {
        let list = ListId::new("home").unwrap();
        let actor = AgentName::new("player").unwrap();
        let yard = Yard::new(Arc::clone(&opened.store), list.clone(), actor).with_rules(rules);
        let stream = yard.follow_only(Interest::in_list(&list), Cursor::after(&list, Revision(0))).unwrap();
        let away = ListId::new("away").unwrap();
        Self {
            replays: [Replay::of(yard.list_id()), Replay::of(&away)],
            yard,
            away,
            rules,
            given_out: HashSet::new(),
            given_out_away: HashSet::new(),
            made: Vec::new(),
            stream,
            _opened: opened,
        }
    }

    fn play(&mut self, step: &Step) {
        let before = self.bytes();
        let revision = self.revision();
        let refused = self.perform(step);
        if refused {
            assert_eq!(self.bytes(), before, "a refused {step:?} changed something");
            assert_eq!(self.revision(), revision, "a refused {step:?} made a revision");
        }
        self.check();
        if self.revision() != revision {
            self.made.push(self.revision());
            self.take_back_and_bring_again(&before);
        }
    }

    /// Undoing the newest revision brings back the bytes before it; undoing that brings back the bytes after it.
    fn take_back_and_bring_again(&mut self, before: &Bytes) {
        let after = self.bytes();
        for wanted in [before, &after] {
            let newest = self.revision();
            let undone = self.yard.undo(UndoRange::One(newest)).unwrap().done();
            assert_eq!(undone.unwrap().revisions[0].revision, newest);
            assert_eq!(self.bytes(), *wanted, "taking back revision {newest} is not exact");
            self.check();
        }
    }

    fn check(&mut self) {
        for replay in &mut self.replays {
            replay.comes_to_the_present(self.yard.store());
        }
        if !self.rules.is_client() {
            for list in [self.yard.list_id(), &self.away] {
                edges_are_in_order(&self.yard.store().read(list).unwrap().tasks().unwrap());
            }
        }
    }

    /// Each follower was told each commit once, in order.
    fn check_what_was_told(&mut self) {
        for revision in 1..=self.revision().0 {
            let told = self.stream.next_before(Some(Instant::now() + PATIENCE)).unwrap();
            assert!(matches!(&told, Some(Happening::Commit(event)) if event.revision.0 == revision), "{told:?}");
        }
        assert_eq!(self.stream.try_next().unwrap(), None);
    }

    /// Plays the whole journal once more.
    fn check_from_the_beginning(&self) {
        for list in [self.yard.list_id(), &self.away] {
            Replay::of(list).comes_to_the_present(self.yard.store());
        }
    }

    /// Does what the step says, and tells whether it was refused.
    fn perform(&mut self, step: &Step) -> bool {
        let yard = self.yard.clone();
        match step {
            Step::Create { blocked_by, blocks, owner } => {
                let new = NewTask {
                    subject: "made".into(),
                    owner: owner.map(|owner| format!("agent {}", owner % 3)),
                    blocked_by: self.tasks(blocked_by),
                    blocks: self.tasks(blocks),
                    ..NewTask::default()
                };
                match yard.create(new).unwrap() {
                    Outcome::Done(created) => {
                        assert!(self.given_out.insert(created.task.id.clone()), "{} is used twice", created.task.id);
                        false
                    }
                    Outcome::Refused(_) => true,
                }
            }
            Step::Update { task, subject, status, meta } => {
                let patch = Patch {
                    subject: Some(format!("subject {}", subject % 3)),
                    status: *status,
                    owner: (meta % 5 == 0).then_some(OwnerChange::Clear),
                    metadata: json!({ "key": if meta % 2 == 0 { Value::Null } else { json!(meta) } })
                        .as_object()
                        .cloned(),
                    ..Patch::default()
                };
                is_refused(yard.update(&self.task(*task), Update { patch, ..Update::default() }))
            }
            Step::Edges { task, add_blocks, add_blocked_by, remove_blocks, remove_blocked_by } => {
                let update = Update {
                    add_blocks: self.tasks(add_blocks),
                    add_blocked_by: self.tasks(add_blocked_by),
                    remove_blocks: self.tasks(remove_blocks),
                    remove_blocked_by: self.tasks(remove_blocked_by),
                    ..Update::default()
                };
                is_refused(yard.update(&self.task(*task), update))
            }
            Step::Depend { task, on } => is_refused(yard.depend(&self.task(*task), &[self.task(*on)])),
            Step::Undepend { task, on } => is_refused(yard.undepend(&self.task(*task), &[self.waited_for(*task, *on)])),
            Step::Start { task } => is_refused(yard.start(&self.task(*task))),
            Step::Done { task } => is_refused(yard.done(&self.task(*task))),
            Step::Cancel { task } => is_refused(yard.cancel(&self.task(*task))),
            Step::Reopen { task } => is_refused(yard.reopen(&self.task(*task))),
            Step::Delete { tasks } => is_refused(yard.delete(&self.tasks(tasks))),
            Step::Clear => is_refused(yard.clear()),
            Step::UndoNewest => is_refused(yard.undo(UndoRange::Newest)),
            Step::UndoOne { revision } => is_refused(yard.undo(UndoRange::One(self.some_revision(*revision)))),
            Step::UndoRange { from, to } => {
                is_refused(yard.undo(UndoRange::Range(self.some_revision(*from), self.some_revision(*to))))
            }
            Step::RestoreAll => is_refused(yard.restore_with_deleted(RestoreWhich::All)),
            Step::Restore { tasks } => is_refused(yard.restore_with_deleted(RestoreWhich::Some(self.tasks(tasks)))),
            Step::MergeAway { open } => {
                let merged = yard.merge(yard.list_id(), &self.away, which(*open)).unwrap();
                Self::note_arrivals(&mut self.given_out_away, merged)
            }
            Step::MergeBack { open } => {
                let merged = yard.merge(&self.away, yard.list_id(), which(*open)).unwrap();
                Self::note_arrivals(&mut self.given_out, merged)
            }
            Step::Mend => {
                let findings = yard.examine().unwrap();
                if !self.rules.is_client() {
                    assert_eq!(findings, [], "strict rules leave nothing to mend");
                }
                yard.mend(&findings).unwrap();
                false
            }
        }
    }

    fn note_arrivals(given_out: &mut HashSet<TaskId>, merged: Outcome<taskyard::operations::Merged>) -> bool {
        match merged {
            Outcome::Done(merged) => {
                for (_, new) in merged.mapping {
                    assert!(given_out.insert(new.clone()), "{new} is used twice");
                }
                false
            }
            Outcome::Refused(_) => true,
        }
    }

    fn bytes(&self) -> Bytes {
        images(&*self.yard.store().read(self.yard.list_id()).unwrap())
    }

    fn revision(&self) -> Revision {
        self.yard.store().read(self.yard.list_id()).unwrap().revision()
    }

    /// Picks a task: one of those that ever were, or one that never was.
    fn task(&self, pick: u8) -> TaskId {
        TaskId::number(u64::from(pick) % (self.given_out.len() as u64 + 1) + 1)
    }

    /// Picks one of the tasks that a task waits for.
    fn waited_for(&self, task: u8, pick: u8) -> TaskId {
        let list = self.yard.store().read(self.yard.list_id()).unwrap();
        let blockers = list.find(&self.task(task)).unwrap().task().map(|task| task.blocked_by).unwrap_or_default();
        let place = usize::from(pick) % blockers.len().max(1);
        blockers.get(place).cloned().unwrap_or_else(|| self.task(pick))
    }

    fn tasks(&self, picks: &[u8]) -> Vec<TaskId> {
        picks.iter().map(|pick| self.task(*pick)).collect()
    }

    /// Picks a revision: one that a step made, or one that never was.
    fn some_revision(&self, pick: u8) -> Revision {
        let place = usize::from(pick) % (self.made.len() + 1);
        self.made.get(place).copied().unwrap_or(self.revision().next())
    }
}

fn is_refused<T>(outcome: Result<Outcome<T>, taskyard::Error>) -> bool {
    matches!(outcome.unwrap(), Outcome::Refused(_))
}

fn which(open: bool) -> MergeWhich {
    if open { MergeWhich::Open } else { MergeWhich::All }
}
