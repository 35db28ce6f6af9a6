//! Tests of the rule by example, and against a model that knows what each writer has read.

use std::collections::HashMap;

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use proptest::{prop_assert, prop_assert_eq};
use serde_json::json;

use crate::dialect::native;
use crate::rules::history::taking_back::{OpenLosses, OutsideWrite, fields, judge, judge_together, put_back};
use crate::{
    AgentName, Entry, Image, Loss, Op, Remark, Revision, Rules, Status, Task, TaskField, TaskId, Timestamp, Verdict,
};

/// The task under test.
fn task() -> Task {
    Task { description: "what there is to do".into(), ..Task::new(TaskId::number(1), "subject") }
}

fn image(task: &Task) -> Image {
    native::write(None, task, Rules::Strict).unwrap()
}

/// The history of one task. Entries are one second apart by default.
#[derive(Default)]
struct Story {
    entries: Vec<Entry>,
    now: Option<Task>,
    millis: i64,
}

impl Story {
    fn begun() -> Self {
        let mut story = Self::default();
        story.by(Op::Create, Some(task()));
        story
    }

    fn by(&mut self, op: Op, after: Option<Task>) -> &mut Self {
        self.millis += 1000;
        let before = self.now.as_ref().map(image);
        self.entries.push(Entry {
            revision: Revision(self.entries.len() as u64 + 1),
            at: Timestamp(self.millis),
            actor: AgentName::new("ana").unwrap(),
            op,
            task: TaskId::number(1),
            before,
            after: after.as_ref().map(image),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        });
        self.now = after;
        self
    }

    fn change(&mut self, op: Op, change: impl FnOnce(&mut Task)) -> &mut Self {
        let mut task = self.now.clone().unwrap();
        change(&mut task);
        self.by(op, Some(task))
    }

    /// Has another program write this long after the last entry, and returns the losses.
    fn written_after(&mut self, millis: i64, after: &Task) -> Vec<Loss> {
        let past: Vec<Entry> = self.entries.iter().rev().cloned().collect();
        let (before, image) = (self.now.as_ref().map(image), image(after));
        let write = OutsideWrite {
            task: &TaskId::number(1),
            before: before.as_ref(),
            after: Some(&image),
            written: Timestamp(self.millis + millis),
        };
        let losses = judge(&write, &past).losses;
        let op = if self.now.is_some() { Op::ChangedElsewhere } else { Op::CreatedElsewhere };
        self.millis += millis - 1000;
        self.by(op, Some(after.clone()));
        self.entries.last_mut().unwrap().remark.taken_back.clone_from(&losses);
        losses
    }

    fn still_lost(&self) -> Vec<(TaskField, u64)> {
        let (id, now) = (TaskId::number(1), self.now.clone().unwrap());
        let mut losses = OpenLosses::default();
        self.entries.iter().for_each(|entry| losses.add(entry));
        let still = losses.standing(&HashMap::from([(&id, &now)]));
        still.into_iter().flat_map(|lost| lost.losses).map(|loss| (loss.field, loss.revision.0)).collect()
    }
}

fn told(losses: &[Loss]) -> Vec<(String, u64, Verdict)> {
    losses.iter().map(|loss| (loss.field.to_string(), loss.revision.0, loss.verdict)).collect()
}

fn started(task: &mut Task) {
    task.status = Status::InProgress;
    task.owner = Some("ana".into());
}

fn noted(notes: serde_json::Value) -> Task {
    Task { metadata: json!({ "notes": notes }).as_object().cloned(), ..task() }
}

#[test]
fn lost_notes_return_however_late() {
    for (after, millis) in [(task(), 1), (noted(json!("theirs")), 3_600_000), (noted(json!(["b"])), 20_000)] {
        let mut story = Story::begun();
        story.by(Op::Update, Some(noted(json!(["a"])))).by(Op::Update, Some(noted(json!(["a", "b"]))));
        let losses = story.written_after(millis, &after);
        assert!(!losses.is_empty());
        assert!(losses.iter().all(|loss| loss.verdict == Verdict::Certain), "{losses:?}");
        let back = put_back(&after, &losses, &noted(json!(["a", "b"])), &after).unwrap();
        let theirs: &[&str] = if millis == 3_600_000 { &["a", "b", "theirs"] } else { &["a", "b"] };
        assert_eq!(back.meta("notes"), Some(&json!(theirs)));
    }
}

#[test]
fn a_note_of_another_program_is_taken_in_and_kept_like_ours() {
    let mut story = Story::begun();
    assert_eq!(story.written_after(1, &noted(json!(["theirs"]))), []);
    let losses = story.written_after(1, &task());
    assert_eq!(losses.len(), 1);
    assert_eq!((losses[0].revision, losses[0].verdict), (Revision(2), Verdict::Certain));
}

#[test]
fn a_note_that_we_took_away_stays_away() {
    let mut story = Story::begun();
    story.by(Op::Update, Some(noted(json!(["a"])))).by(Op::Undo, Some(task()));
    assert_eq!(story.written_after(1, &Task { active_form: Some("theirs".into()), ..task() }), []);
    // A stale write that recreates the task did not know of the deletion.
    let stale = Task { active_form: Some("again".into()), ..noted(json!(["a"])) };
    let losses = story.written_after(1, &stale);
    assert_eq!(losses.len(), 1);
    assert_eq!(put_back(&stale, &losses, &task(), &stale).unwrap().meta("notes"), None);
}

#[test]
fn a_different_task_under_the_same_number_took_nothing_back() {
    let new = |subject: &str, description: &str| Task {
        description: description.into(),
        ..Task::new(TaskId::number(1), subject)
    };
    for other in [new("other", "something else"), new("other", "what there is to do"), new("subject", "something else")]
    {
        let mut story = Story::begun();
        story.change(Op::Update, |task| task.metadata = json!({"notes": ["a"]}).as_object().cloned());
        story.change(Op::Update, started);
        let losses = story.written_after(1, &other);
        let told = told(&losses);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told.iter().all(|(_, _, verdict)| *verdict == Verdict::OtherTask), "{told:?}");
        assert_eq!(story.still_lost(), []);
        // The next write is judged against the new task.
        assert_eq!(story.written_after(1, &Task { active_form: Some("theirs".into()), ..other }), []);
        story.change(Op::Update, |task| task.status = Status::Completed);
        let begun = Task { status: Status::InProgress, active_form: None, ..story.now.clone().unwrap() };
        let losses = story.written_after(1, &begun);
        assert!(losses.len() == 1 && losses[0].verdict == Verdict::Replaced, "a value of the old task: {losses:?}");
    }
}

#[test]
fn a_task_made_anew_with_the_same_texts_gets_no_notes() {
    let mut story = Story::begun();
    story.change(Op::Update, |task| task.metadata = json!({"notes": ["a"]}).as_object().cloned());
    story.change(Op::Update, started);
    let losses = story.written_after(1, &task());
    assert!(losses.len() == 3 && losses.iter().all(|loss| loss.verdict == Verdict::OtherTask), "{losses:?}");
}

#[test]
fn a_loss_is_not_that_of_the_next_task_under_the_number() {
    let likely = || {
        let mut story = Story::begun();
        story.change(Op::Update, started);
        story.written_after(20_000, &Task { active_form: Some("theirs".into()), ..task() });
        assert_eq!(story.still_lost().len(), 2);
        story
    };
    let other = Task::new(TaskId::number(1), "other");
    let mut story = likely();
    story.written_after(1, &other);
    assert_eq!(story.still_lost(), []);
    // Either not recorded yet, or recorded as a removal and a new task.
    let mut story = likely();
    story.now = Some(other.clone());
    assert_eq!(story.still_lost(), []);
    let mut story = likely();
    story.by(Op::RemovedElsewhere, None).by(Op::CreatedElsewhere, Some(other));
    assert_eq!(story.still_lost(), []);
    // Our own change does not make it a different task.
    let mut story = likely();
    story.change(Op::Update, |task| (task.subject, task.description) = ("renamed".into(), String::new()));
    assert_eq!(story.still_lost().len(), 2);
}

#[test]
fn a_loss_stands_whatever_else_they_write() {
    let metadata = |keys: serde_json::Value| keys.as_object().cloned();
    let mut story = Story::begun();
    story.change(Op::Update, |task| task.metadata = metadata(json!({"sprint": 7})));
    story.change(Op::Update, |task| task.metadata = metadata(json!({"sprint": 7, "ours": 1})));
    // The program rewrites the description each time, and keeps only the title and what the task has acquired.
    let theirs = |description: &str| Task {
        description: description.into(),
        metadata: metadata(json!({"sprint": 7})),
        ..task()
    };
    assert_eq!(story.written_after(1, &theirs("one")).len(), 1);
    assert_eq!(story.written_after(1, &theirs("two")), []);
    assert_eq!(story.still_lost(), [(TaskField::Metadata("ours".into()), 3)]);
}

#[test]
fn a_stale_write_takes_back_what_was_acknowledged_since_it_read() {
    let mut story = Story::begun();
    story.change(Op::Claim, started);
    let losses = story.written_after(50, &Task { active_form: Some("theirs".into()), ..task() });
    let expected = [("owner".to_owned(), 2, Verdict::Certain), ("status".to_owned(), 2, Verdict::Certain)];
    assert_eq!(told(&losses), expected);
    assert_eq!(story.still_lost(), [(TaskField::Owner, 2), (TaskField::Status, 2)]);
}

#[test]
fn edges_and_metadata_are_taken_back_one_by_one() {
    let mut story = Story::begun();
    story.change(Op::Update, |task| {
        task.blocks = vec![TaskId::number(7), TaskId::number(8)];
        task.blocked_by = vec![TaskId::number(9)];
        task.metadata = json!({"ours": 1, "kept": 2}).as_object().cloned();
    });
    let theirs = Task {
        blocks: vec![TaskId::number(8), TaskId::number(6)],
        metadata: json!({"kept": 2, "theirs": 3}).as_object().cloned(),
        ..task()
    };
    let losses = story.written_after(5, &theirs);
    let fields: Vec<String> = losses.iter().map(|loss| loss.field.to_string()).collect();
    assert_eq!(fields, ["blocks.7", "blockedBy.9", "metadata.ours"]);
    assert!(losses.iter().all(|loss| loss.verdict == Verdict::Certain));
}

#[test]
fn several_writes_of_ours_are_taken_back_at_once() {
    let mut story = Story::begun();
    story.change(Op::Update, |task| task.subject = "second".into());
    story.change(Op::Update, |task| task.subject = "third".into());
    let losses = story.written_after(5, &Task { status: Status::Completed, ..task() });
    assert_eq!(told(&losses), [("subject".to_owned(), 3, Verdict::Certain)]);
}

#[test]
fn a_write_that_changes_nothing_else_is_meant() {
    let mut story = Story::begun();
    story.change(Op::Claim, started);
    let losses = story.written_after(5, &task());
    assert!(losses.iter().all(|loss| loss.verdict == Verdict::Meant) && losses.len() == 2, "{losses:?}");
    assert_eq!(story.still_lost(), []);
}

#[test]
fn a_value_that_was_not_there_before_is_meant() {
    let mut story = Story::begun();
    story.change(Op::Claim, started);
    let mut done = story.now.clone().unwrap();
    done.status = Status::Completed;
    assert_eq!(told(&story.written_after(5, &done)), [("status".to_owned(), 2, Verdict::Replaced)]);
    let mut story = Story::begun();
    story.change(Op::Claim, started);
    assert_eq!(story.written_after(11_000, &done), []);
}

#[test]
fn program_taking_a_released_task_means_to_work_on_it() {
    let mut story = Story::begun();
    story.change(Op::Claim, started);
    story.change(Op::Release, |task| (task.status, task.owner) = (Status::Pending, None));
    let taken = Task { owner: Some("ben".into()), status: Status::InProgress, ..task() };
    let losses = story.written_after(500, &taken);
    assert!(losses.iter().all(|loss| loss.verdict == Verdict::Replaced) && losses.len() == 2, "{losses:?}");
    assert_eq!(story.still_lost(), []);
}

#[test]
fn old_acknowledged_loss_is_uncertain_then_ignored() {
    let verdict_after = |millis| {
        let mut story = Story::begun();
        story.change(Op::Update, |task| task.subject = "ours".into());
        let losses = story.written_after(millis, &Task { active_form: Some("theirs".into()), ..task() });
        losses.first().map(|loss| loss.verdict)
    };
    assert_eq!(verdict_after(10_000), Some(Verdict::Certain));
    assert_eq!(verdict_after(10_001), Some(Verdict::Likely));
    assert_eq!(verdict_after(600_001), None);
    // The file system's clock may be slightly behind; a file clearly older than our change was put there.
    assert_eq!(verdict_after(-1_500), Some(Verdict::Certain));
    assert_eq!(verdict_after(-60_000), Some(Verdict::Likely));
}

#[test]
fn what_they_wrote_themselves_is_theirs_to_change() {
    let mut story = Story::begun();
    story.change(Op::Update, |task| task.subject = "ours".into());
    story.change(Op::ChangedElsewhere, |task| task.subject = "theirs".into());
    assert_eq!(story.written_after(5, &Task { active_form: Some("more".into()), ..task() }), []);
}

#[test]
fn second_stale_write_is_only_reported() {
    let mut story = Story::begun();
    story.change(Op::Update, |task| task.subject = "ours".into());
    let stale = Task { active_form: Some("theirs".into()), ..task() };
    let losses = story.written_after(5, &stale);
    let mut found = task();
    found.subject = "ours".into();
    let back = put_back(&stale, &losses, &found, &stale).unwrap();
    assert_eq!((back.subject.as_str(), back.active_form.as_deref()), ("ours", Some("theirs")));
    story.by(Op::PutBack, Some(back));
    assert_eq!(story.still_lost(), []);
    let losses = story.written_after(5, &Task { active_form: Some("again".into()), ..task() });
    assert_eq!(told(&losses), [("subject".to_owned(), 4, Verdict::Likely)]);
    assert_eq!(story.still_lost(), [(TaskField::Subject, 4)]);
}

#[test]
fn what_somebody_has_written_since_is_not_put_back() {
    let mut story = Story::begun();
    story.change(Op::Claim, started);
    story.written_after(5, &Task { active_form: Some("theirs".into()), ..task() });
    story.change(Op::Update, |task| task.status = Status::Completed);
    assert_eq!(story.still_lost(), [(TaskField::Owner, 2)]);
    story.change(Op::ChangedElsewhere, |task| task.owner = Some("ben".into()));
    assert_eq!(story.still_lost(), []);
}

#[test]
fn deletion_undone_by_stale_write_is_reported_not_certain() {
    let mut story = Story::begun();
    story.by(Op::Delete, None);
    let losses = story.written_after(5, &Task { active_form: Some("theirs".into()), ..task() });
    assert_eq!(told(&losses), [("deleted".to_owned(), 2, Verdict::Likely)]);
    assert_eq!(story.still_lost(), [(TaskField::Deletion, 2)]);
    story.change(Op::Update, |task| task.subject = "so be it".into());
    assert_eq!(story.still_lost(), []);
    let mut story = Story::begun();
    story.by(Op::Delete, None);
    assert_eq!(told(&story.written_after(5, &task()))[0].2, Verdict::Meant);
    let mut story = Story::begun();
    story.by(Op::Delete, None);
    let other = Task { description: "Of other things".into(), ..Task::new(TaskId::number(1), "Another task") };
    assert_eq!(story.written_after(5, &other), []);
}

#[test]
fn in_a_file_of_all_tasks_one_write_changes_several() {
    let mut story = Story::begun();
    story.change(Op::Claim, started);
    let past: Vec<Entry> = story.entries.iter().rev().cloned().collect();
    let (claimed, stale) = (image(&story.now.clone().unwrap()), image(&task()));
    let (one, two) = (TaskId::number(1), TaskId::number(2));
    let new = image(&Task::new(two.clone(), "new"));
    let written = Timestamp(story.millis + 5);
    let first = OutsideWrite { task: &one, before: Some(&claimed), after: Some(&stale), written };
    let second = OutsideWrite { task: &two, before: None, after: Some(&new), written };
    let together = judge_together([(first, &*past), (second, &[])]);
    let [of_first, of_second] = [0, 1].map(|place: usize| &together[place].losses);
    assert!(of_first.iter().all(|loss| loss.verdict == Verdict::Certain) && of_second.is_empty(), "{together:?}");
    assert!(judge(&first, &past).losses.iter().all(|loss| loss.verdict == Verdict::Meant));
}

/// A step of the model.
#[derive(Clone, Debug)]
enum Deed {
    /// We set a field to a value.
    Ours(usize, u8),
    /// The other program writes the state from the given number of writes ago, with one field changed.
    Stale(usize, usize, u8),
}

const MODEL_FIELDS: usize = 5;

/// Returns the fields of the model as a task.
fn model_task(values: [u8; MODEL_FIELDS]) -> Task {
    let [form, owner, status, edge, key] = values;
    Task {
        active_form: Some(format!("f{form}")),
        owner: (owner > 0).then(|| format!("o{owner}")),
        status: Status::ALL[usize::from(status) % 3],
        blocks: if edge % 2 == 1 { vec![TaskId::number(7)] } else { Vec::new() },
        metadata: (key > 0).then(|| json!({ "k": key }).as_object().cloned().unwrap()),
        ..task()
    }
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        (0..MODEL_FIELDS, any::<u8>()).prop_map(|(field, value)| Deed::Ours(field, value % 4)),
        (0..6_usize, 0..MODEL_FIELDS, any::<u8>()).prop_map(|(ago, field, value)| Deed::Stale(ago, field, value % 4)),
        Just(Deed::Stale(0, 0, 9)),
    ];
    prop::collection::vec(deed, 1..20)
}

proptest! {
    /// Every value of ours that an outside write removes is reported by that write, and nothing else is reported as
    /// reverted.
    #[test]
    fn no_acknowledged_value_goes_unnoticed(deeds in deeds()) {
        let mut story = Story { now: Some(model_task([0; MODEL_FIELDS])), ..Story::default() };
        let mut states = vec![model_task([0; MODEL_FIELDS])];
        let mut values = vec![[0_u8; MODEL_FIELDS]];
        // The fields with a value of ours, and the revision that set it.
        let mut ours: HashMap<TaskField, u64> = HashMap::new();
        for deed in deeds {
            let last = values.last().copied().unwrap();
            match deed {
                Deed::Ours(field, value) => {
                    // Keeps all steps within the time in which nothing is too old.
                    story.millis -= 950;
                    let mut next = last;
                    next[field] = value;
                    let (old, new) = (model_task(last), model_task(next));
                    story.by(Op::Update, Some(new.clone()));
                    for field in crate::rules::history::taking_back::differing(&fields(&old), &fields(&new)) {
                        ours.insert(field, story.entries.len() as u64);
                    }
                    states.push(new);
                    values.push(next);
                }
                Deed::Stale(ago, field, value) => {
                    let mut next = values[values.len() - 1 - ago.min(values.len() - 1)];
                    next[field] = value;
                    let (old, new) = (model_task(last), model_task(next));
                    let losses = story.written_after(1, &new);
                    let changed = crate::rules::history::taking_back::differing(&fields(&old), &fields(&new));
                    let lost: Vec<(TaskField, u64)> =
                        changed.iter().filter_map(|field| Some((field.clone(), *ours.get(field)?))).collect();
                    let told: Vec<(TaskField, u64)> =
                        losses.iter().map(|loss| (loss.field.clone(), loss.revision.0)).collect();
                    prop_assert_eq!(&told, &lost);
                    for loss in &losses {
                        let value = fields(&new).get(&loss.field).cloned();
                        let was_there_before =
                            states.iter().any(|state| fields(state).get(&loss.field).cloned() == value);
                        // A value that was never there before can only be the other program's.
                        prop_assert!(was_there_before || loss.verdict == Verdict::Replaced);
                    }
                    if let Some(back) = put_back(&new, &losses, &old, &new) {
                        let (back, old, new) = (fields(&back), fields(&old), fields(&new));
                        for (field, _) in &lost {
                            prop_assert_eq!(back.get(field), old.get(field));
                        }
                        let kept = changed.iter().filter(|field| !ours.contains_key(field));
                        for field in kept {
                            prop_assert_eq!(back.get(field), new.get(field));
                        }
                    }
                    for field in changed {
                        ours.remove(&field);
                    }
                    states.push(new);
                    values.push(next);
                }
            }
        }
    }
}
