//! Plays random sequences of operations, and what must hold of a list at any time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::iter;
use std::sync::Arc;
use std::time::Instant;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use taskyard::core::rules::graph::dependencies::{Edge, find_cycle};
use taskyard::core::{AgentName, Image, ListId, Op, Revision, Rules, Status, Task, TaskId};
use taskyard::operations::{MergeWhich, NewTask, OwnerChange, Patch, RestoreWhich, UndoRange, Update};
use taskyard::store::HistoryQuery;
use taskyard::stream::{Cursor, Happening, Interest, Stream};
use taskyard::{Outcome, Store, Yard};

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

    /// Every follower got each commit once, in order.
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

    /// Performs the step, and returns whether it was refused.
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

/// One operation. Tasks and revisions are named by a number that is taken modulo how many there are.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Create { blocked_by: Vec<u8>, blocks: Vec<u8>, owner: Option<u8> },
    Update { task: u8, subject: u8, status: Option<Status>, meta: u8 },
    Edges { task: u8, add_blocks: Vec<u8>, add_blocked_by: Vec<u8>, remove_blocks: Vec<u8>, remove_blocked_by: Vec<u8> },
    Depend { task: u8, on: u8 },
    Undepend { task: u8, on: u8 },
    Start { task: u8 },
    Done { task: u8 },
    Cancel { task: u8 },
    Reopen { task: u8 },
    Delete { tasks: Vec<u8> },
    Clear,
    UndoNewest,
    UndoOne { revision: u8 },
    UndoRange { from: u8, to: u8 },
    RestoreAll,
    Restore { tasks: Vec<u8> },
    MergeAway { open: bool },
    MergeBack { open: bool },
    Mend,
}

/// Makes sequences of operations, creations and edges being the most frequent.
pub(super) fn sequences() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..50)
}

fn step() -> impl Strategy<Value = Step> {
    let few = || vec(any::<u8>(), 0..3);
    let status = prop_oneof![
        Just(None),
        Just(Some(Status::Pending)),
        Just(Some(Status::InProgress)),
        Just(Some(Status::Completed))
    ];
    prop_oneof![
        8 => (few(), few(), any::<Option<u8>>())
            .prop_map(|(blocked_by, blocks, owner)| Step::Create { blocked_by, blocks, owner }),
        8 => (any::<u8>(), any::<u8>(), status, any::<u8>())
            .prop_map(|(task, subject, status, meta)| Step::Update { task, subject, status, meta }),
        6 => (any::<u8>(), few(), few(), few(), few()).prop_map(
            |(task, add_blocks, add_blocked_by, remove_blocks, remove_blocked_by)| Step::Edges {
                task, add_blocks, add_blocked_by, remove_blocks, remove_blocked_by
            }
        ),
        24 => (any::<u8>(), any::<u8>()).prop_map(|(task, on)| Step::Depend { task, on }),
        12 => (any::<u8>(), any::<u8>()).prop_map(|(task, on)| Step::Undepend { task, on }),
        4 => any::<u8>().prop_map(|task| Step::Start { task }),
        6 => any::<u8>().prop_map(|task| Step::Done { task }),
        2 => any::<u8>().prop_map(|task| Step::Cancel { task }),
        2 => any::<u8>().prop_map(|task| Step::Reopen { task }),
        4 => vec(any::<u8>(), 1..3).prop_map(|tasks| Step::Delete { tasks }),
        1 => Just(Step::Clear),
        6 => Just(Step::UndoNewest),
        20 => any::<u8>().prop_map(|revision| Step::UndoOne { revision }),
        4 => (any::<u8>(), any::<u8>()).prop_map(|(from, to)| Step::UndoRange { from, to }),
        3 => Just(Step::RestoreAll),
        4 => vec(any::<u8>(), 1..3).prop_map(|tasks| Step::Restore { tasks }),
        1 => any::<bool>().prop_map(|open| Step::MergeAway { open }),
        1 => any::<bool>().prop_map(|open| Step::MergeBack { open }),
        1 => Just(Step::Mend),
    ]
}

/// Panics unless every edge is known at both ends, leads to a task, and is in no circle.
pub(super) fn edges_are_in_order(tasks: &[Task]) {
    let there: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    for task in tasks {
        for on in &task.blocked_by {
            let blocker = there.get(on).unwrap_or_else(|| panic!("{} waits for {on}, which is not there", task.id));
            assert!(blocker.blocks.contains(&task.id), "{} waits for {on}, which does not know it", task.id);
        }
        for waiting in &task.blocks {
            let dependent =
                there.get(waiting).unwrap_or_else(|| panic!("{} blocks {waiting}, which is not there", task.id));
            assert!(dependent.blocked_by.contains(&task.id), "{} blocks {waiting}, which does not know it", task.id);
        }
        for ids in [&task.blocked_by, &task.blocks] {
            let once: HashSet<&TaskId> = ids.iter().collect();
            assert_eq!(once.len(), ids.len(), "{} names a task twice", task.id);
        }
        let edges: Vec<Edge> = task.blocked_by.iter().map(|on| Edge::new(task.id.clone(), on.clone())).collect();
        let blockers =
            |id: &TaskId| Ok::<_, Infallible>(there.get(id).map(|task| task.blocked_by.clone()).unwrap_or_default());
        let Ok(circle) = find_cycle(&edges, blockers);
        assert_eq!(circle, None, "tasks wait for each other");
    }
}

/// A list rebuilt from its journal, entry by entry.
pub(super) struct Replay {
    list: ListId,
    played: BTreeMap<TaskId, String>,
    last: Revision,
}

impl Replay {
    pub(super) fn of(list: &ListId) -> Self {
        Self { list: list.clone(), played: BTreeMap::new(), last: Revision(0) }
    }

    /// Plays what is new in the journal. Panics unless that gives the list as it is, to the letter, and revisions are counted
    /// without gaps.
    pub(super) fn comes_to_the_present(&mut self, store: &dyn Store) {
        let new = HistoryQuery { since: self.last, ..HistoryQuery::default() };
        for entry in store.history(&self.list, &new).unwrap() {
            let text = |image: &Image| String::from_utf8(image.bytes().to_vec()).unwrap();
            let before = self.played.remove(&entry.task);
            assert_eq!(entry.before.as_ref().map(text), before, "task {} before {}", entry.task, entry.revision);
            // What is said of a task that is not there changes only what the journal says of it.
            let is_noted = entry.after.is_none() && matches!(entry.op, Op::Delete | Op::Clear | Op::Undo);
            assert!(is_noted || entry.before != entry.after, "an entry that changes nothing");
            assert!(entry.revision == self.last || entry.revision == self.last.next(), "a gap in the revisions");
            self.last = entry.revision;
            self.played.extend(entry.after.as_ref().map(|image| (entry.task.clone(), text(image))));
        }
        let snapshot = store.read(&self.list).unwrap();
        assert_eq!(self.played, images(&*snapshot));
        assert_eq!(snapshot.revision(), self.last);
    }
}
