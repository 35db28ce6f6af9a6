//! A list that is written as a checklist comes back as it was, as an import and as a batch; a template makes the same plan again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use taskyard_core::dialect::foreign::checklists;
use taskyard_core::forms::batch;
use taskyard_core::forms::template::{WrittenTemplate, read_template, write_template};
use taskyard_core::timing::Clock;
use taskyard_core::{Status, Task, TaskId, Timestamp};

/// Returns text as people and programs write it, and now and then what looks like the structure of a plan.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => "[a-zäß#\"\\\\\\[\\]()>*`:, -]{0,12}",
        1 => "\\PC{0,8}",
        1 => Just("- [ ] #1 x".to_owned()),
        1 => Just("due: tomorrow".to_owned()),
        1 => Just("> note (ana): x".to_owned()),
        1 => Just(">   more".to_owned()),
        1 => Just("```".to_owned()),
        1 => Just("# heading".to_owned()),
        1 => Just(" (after #1)".to_owned()),
        1 => Just(" after: x".to_owned()),
        1 => Just("  ".to_owned()),
        1 => Just("\t".to_owned()),
    ];
    let between = prop_oneof![3 => Just(" "), 3 => Just("\n"), 1 => Just("\n\n"), 1 => Just("\r\n")];
    proptest::collection::vec((word, between), 0..6)
        .prop_map(|parts| parts.into_iter().map(|(word, between)| word + between).collect())
}

fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    let moment = (0_i64..4_000_000_000_000).prop_map(|millis| json!(Timestamp(millis).to_string()));
    let strange =
        prop_oneof![Just(json!(null)), Just(json!(7)), Just(json!({"a": [1]})), text().prop_map(|text| json!(text))];
    let value = |usual: BoxedStrategy<Value>| proptest::option::of(prop_oneof![6 => usual, 1 => strange.clone()]);
    let note =
        (text(), proptest::option::of("[a-z]{1,5}"), proptest::bool::ANY).prop_map(|(text, author, has_time)| {
            let mut note = json!({ "text": text });
            note.as_object_mut().unwrap().extend(author.map(|author| ("author".to_owned(), author.into())));
            if has_time {
                note["at"] = json!("2026-01-02T12:00:00.000Z");
            }
            note
        });
    (
        value(proptest::sample::select(vec!["low", "medium", "high"]).prop_map(|word| json!(word)).boxed()),
        value(proptest::collection::vec(text(), 0..3).prop_map(|tags| json!(tags)).boxed()),
        value(moment.clone().boxed()),
        value(moment.boxed()),
        value((0_u64..1_000_000).prop_map(|seconds| json!(seconds)).boxed()),
        value(text().prop_map(|text| json!(text)).boxed()),
        value(proptest::collection::vec(note, 0..3).prop_map(|notes| json!(notes)).boxed()),
        value(text().prop_map(|text| json!(text)).boxed()),
    )
        .prop_map(|(priority, tags, due, defer, estimate, kind, notes, other)| {
            let keys = ["priority", "tags", "due", "defer", "estimate", "kind", "notes", "other"];
            let values = [priority, tags, due, defer, estimate, kind, notes, other];
            keys.into_iter().zip(values).filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
        })
}

/// Returns tasks with edges to earlier tasks and parts of earlier ones, both sides written.
fn plan(statuses: Vec<Status>) -> impl Strategy<Value = Vec<Task>> {
    let task = (text(), text(), metadata(), proptest::option::of(text()), proptest::option::of(text()))
        .prop_map(|(subject, description, metadata, owner, form)| (subject, description, metadata, owner, form));
    let ties = (
        proptest::collection::vec(0_usize..8, 0..3),
        proptest::option::of(0_usize..8),
        proptest::sample::select(statuses),
        proptest::bool::ANY,
    );
    proptest::collection::vec((task, ties), 0..8).prop_map(|drawn| {
        let ids: Vec<TaskId> = (0..drawn.len() as u64).map(|place| TaskId::number(place * 3 + 1)).collect();
        let mut tasks: Vec<Task> = Vec::new();
        for (place, ((subject, description, mut metadata, owner, form), (on, parent, status, is_cancelled))) in
            drawn.into_iter().enumerate()
        {
            let mut blocked_by: Vec<TaskId> =
                on.into_iter().filter(|on| *on < place).map(|on| ids[on].clone()).collect();
            let mut seen = HashSet::new();
            blocked_by.retain(|id| seen.insert(id.clone()));
            if let Some(parent) = parent.filter(|parent| *parent < place) {
                metadata.insert("parent".to_owned(), ids[parent].as_str().into());
            }
            if status == Status::Completed && is_cancelled {
                metadata.insert("cancelled".to_owned(), true.into());
            }
            let metadata = Some(metadata).filter(|metadata| !metadata.is_empty());
            let task = Task {
                description,
                owner,
                active_form: form,
                status,
                blocked_by,
                metadata,
                ..Task::new(ids[place].clone(), subject)
            };
            tasks.push(task);
        }
        with_blocks(tasks)
    })
}

/// Writes the other side of every edge.
fn with_blocks(mut tasks: Vec<Task>) -> Vec<Task> {
    let edges: Vec<(TaskId, TaskId)> =
        tasks.iter().flat_map(|task| task.blocked_by.iter().map(|on| (on.clone(), task.id.clone()))).collect();
    for task in &mut tasks {
        task.blocks = edges.iter().filter(|(on, _)| *on == task.id).map(|(_, waiting)| waiting.clone()).collect();
        task.blocks.sort();
    }
    tasks.sort_by(|one, two| one.id.cmp(&two.id));
    tasks
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn checklist_comes_back_without_loss(tasks in plan(vec![Status::Pending, Status::InProgress, Status::Completed])) {
        let text = checklists::write(&tasks);
        let read = checklists::read(&text);
        prop_assert_eq!(read.losses, []);
        prop_assert_eq!(with_blocks(read.tasks), tasks, "{}", text);
    }

    #[test]
    fn batch_of_a_checklist_makes_the_same_plan(tasks in plan(vec![Status::Pending])) {
        prop_assume!(tasks.iter().all(|task| !task.subject.trim().is_empty()));
        let text = checklists::write(&tasks);
        let clock = Clock::new(Timestamp(0), TimeZone::UTC);
        let mut expected: HashMap<TaskId, Task> = tasks.iter().map(|task| (task.id.clone(), task.clone())).collect();
        if tasks.is_empty() {
            return Ok(());
        }
        let entries = batch::read(&text, &clock);
        prop_assert!(entries.is_ok(), "{:?}\n{}", entries, text);
        let entries = entries.unwrap();
        let new_ids: Vec<TaskId> = (1..).map(TaskId::number).take(entries.len()).collect();
        let ids = batch::ids_of(&entries, &new_ids);
        let resolved = batch::resolve(&entries, &ids, &HashSet::new()).unwrap();
        for mut task in resolved.tasks {
            let on = resolved.edges.iter().filter(|edge| edge.task == task.id).map(|edge| edge.on.clone());
            task.blocked_by = on.collect();
            let mut meant = expected.remove(&task.id).unwrap();
            meant.blocks.clear();
            // A new task has no owner with an empty name.
            meant.owner = meant.owner.filter(|owner| !owner.is_empty());
            prop_assert_eq!(task, meant, "{}", text);
        }
        prop_assert!(expected.is_empty());
    }

    #[test]
    fn template_of_a_plan_makes_the_same_plan(
        tasks in plan(vec![Status::Pending, Status::InProgress, Status::Completed])
    ) {
        // Braces may be variables.
        prop_assume!(tasks.iter().all(|task| !texts_of(task).contains('{')));
        // Titles tell the tasks apart, because they get new numbers.
        let titled = |(place, task): (usize, Task)| Task { subject: format!("{place} {}", task.subject), ..task };
        let tasks: Vec<Task> = tasks.into_iter().enumerate().map(titled).collect();
        let clock = Clock::new(Timestamp(1_700_000_000_000), TimeZone::UTC);
        let WrittenTemplate { text, left_out } = write_template("t", &tasks, &BTreeMap::new(), clock.now, &clock);
        prop_assert_eq!(left_out, []);
        let entries = read_template(&text, &BTreeMap::new(), None, &clock);
        if tasks.is_empty() {
            prop_assert!(entries.is_err());
            return Ok(());
        }
        prop_assert!(entries.is_ok(), "{:?}\n{}", entries, text);
        let entries = entries.unwrap();
        let new_ids: Vec<TaskId> = (101..).map(TaskId::number).take(entries.len()).collect();
        prop_assert_eq!(&batch::ids_of(&entries, &new_ids), &new_ids);
        let resolved = batch::resolve(&entries, &new_ids, &HashSet::new()).unwrap();
        let mut made = resolved.tasks;
        for edge in resolved.edges {
            made.iter_mut().find(|task| task.id == edge.task).unwrap().blocked_by.push(edge.on);
        }
        let expected: Vec<Task> = tasks.iter().map(as_new).collect();
        prop_assert_eq!(by_title(&made), by_title(&expected), "{}", text);
    }
}

/// Returns the texts in which a template may have variables.
fn texts_of(task: &Task) -> String {
    let strings = task.metadata.iter().flatten().map(|(_, value)| match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    });
    let texts = [&task.subject, &task.description].into_iter().chain(&task.active_form).cloned();
    texts.chain(strings).collect()
}

/// Returns a task without what a template leaves behind.
fn as_new(task: &Task) -> Task {
    let mut metadata = task.metadata.clone().unwrap_or_default();
    metadata.retain(|key, _| !["notes", "cancelled"].contains(&key.as_str()));
    let metadata = Some(metadata).filter(|metadata| !metadata.is_empty());
    Task { status: Status::Pending, owner: None, metadata, ..task.clone() }
}

/// Returns tasks by their titles, which stand for their ids.
fn by_title(tasks: &[Task]) -> BTreeMap<String, (Task, Option<String>, BTreeSet<String>)> {
    let title = |id: &TaskId| tasks.iter().find(|task| task.id == *id).unwrap().subject.clone();
    let described = |task: &Task| {
        let (parent, on) = (task.parent().map(|id| title(&id)), task.blocked_by.iter().map(title).collect());
        let mut task = Task { id: TaskId::number(0), blocks: Vec::new(), blocked_by: Vec::new(), ..task.clone() };
        if let Some(metadata) = &mut task.metadata {
            metadata.shift_remove("parent");
        }
        task.metadata = task.metadata.filter(|metadata| !metadata.is_empty());
        (task.subject.clone(), (task, parent, on))
    };
    tasks.iter().map(described).collect()
}
