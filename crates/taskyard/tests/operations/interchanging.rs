//! What goes out comes back: every dialect, random lists, through real files.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::dialect::foreign::{ExportFormat, ImportFormat, Imported};
use taskyard::core::{Op, Status, Task, TaskId};
use taskyard::interchange::{read_source, save};
use taskyard::operations::{Query, Source};
use taskyard::store::HistoryQuery;

use crate::{done, elsewhere, id, task, yard};

const DIALECTS: [(ExportFormat, ImportFormat); 5] = [
    (ExportFormat::Native, ImportFormat::Native),
    (ExportFormat::Document, ImportFormat::Document),
    (ExportFormat::Export, ImportFormat::Export),
    (ExportFormat::Teaching, ImportFormat::Teaching),
    (ExportFormat::Macf, ImportFormat::Macf),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_list_that_goes_out_comes_back_as_it_was(tasks in list()) {
        let from = yard("");
        elsewhere(&from, Op::Create, |txn| tasks.iter().for_each(|task| txn.put(task.clone()).unwrap()));
        for (to, back) in DIALECTS {
            let into = yard("");
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("out");
            save(&from.export(to, &Query::default()).unwrap().written, &path).unwrap();
            let imported = read_source(&path, back, &mut |_, _| {}).unwrap();
            let source = Source { format: back, name: "out".to_owned() };
            let report = done(into.import(&imported, &source));
            prop_assert_eq!(&report.plan.losses, &[], "{}", to);
            prop_assert_eq!(unmarked(&into), unmarked(&from), "{}", to);
            let again = done(into.import(&imported, &source));
            prop_assert_eq!((again.plan.unchanged.len(), again.revision), (tasks.len(), None), "{}", to);
        }
    }
}

#[test]
fn an_import_is_one_commit() {
    let yard = yard("1 pending");
    let source = Source { format: ImportFormat::Beads, name: "issues".to_owned() };
    let tasks = ["a", "b"].map(|id| Task::new(TaskId::stored(id), id));
    let report = done(yard.import(&Imported::of(tasks.to_vec()), &source));
    let query = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
    let entries = yard.store().history(yard.list_id(), &query).unwrap();
    assert_eq!(
        entries.iter().map(|entry| (entry.op, Some(entry.revision))).collect::<Vec<_>>(),
        [(Op::Import, report.revision); 2]
    );
    assert_eq!(report.plan.created, [task(&yard, 2), task(&yard, 3)]);
}

#[test]
fn a_project_of_backlog_is_found_from_its_root() {
    let place = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    file(
        "backlog/tasks/task-2 - API.md",
        "---\nid: task-2\ntitle: API\nstatus: To Do\ndependencies:\n  - task-1\n---\nText\n",
    );
    file(
        "backlog/completed/task-1 - Schema.md",
        "---\nid: task-1\ntitle: Schema\nstatus: Done\ndependencies: []\n---\n",
    );
    file("backlog/drafts/draft-1 - Idea.md", "---\nid: draft-1\ntitle: Idea\nstatus: Draft\n---\n");
    for root in ["", "backlog"] {
        let yard = yard("");
        let imported = read_source(&place.path().join(root), ImportFormat::Backlog, &mut |_, _| {}).unwrap();
        assert_eq!(imported.losses.len(), 1, "{:?}", imported.losses);
        let source = Source { format: ImportFormat::Backlog, name: "backlog".to_owned() };
        done(yard.import(&imported, &source));
        assert_eq!((task(&yard, 1).subject, task(&yard, 1).blocked_by), ("API".to_owned(), vec![id(2)]));
        assert_eq!(task(&yard, 2).status, Status::Completed);
    }
}

/// Returns the tasks of a list without what an import adds, and without the times that a document states.
fn unmarked(yard: &Yard) -> Vec<Task> {
    let mut tasks = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
    for task in &mut tasks {
        let mut metadata = task.metadata.take().unwrap_or_default();
        metadata.retain(|key, _| !["imported", "created_at", "updated_at"].contains(&key.as_str()));
        task.metadata = Some(metadata).filter(|metadata| !metadata.is_empty());
    }
    tasks
}

/// Lists with numbers that have gaps, edges known on both sides, and no circles.
fn list() -> impl Strategy<Value = Vec<Task>> {
    prop::collection::btree_map(1_u64..30, (one(), prop::collection::vec(any::<prop::sample::Index>(), 0..3)), 1..8)
        .prop_map(|drawn| {
            let mut tasks: Vec<Task> = Vec::new();
            for (number, (task, on)) in drawn {
                let mut task = Task { id: TaskId::number(number), ..task };
                for on in on.iter().filter(|_| !tasks.is_empty()) {
                    let blocker = on.get(&tasks).id.clone();
                    if !task.blocked_by.contains(&blocker) {
                        task.blocked_by.push(blocker);
                    }
                }
                for blocker in tasks.iter_mut().filter(|blocker| task.blocked_by.contains(&blocker.id)) {
                    blocker.blocks.push(task.id.clone());
                }
                tasks.push(task);
            }
            tasks
        })
}

fn one() -> impl Strategy<Value = Task> {
    let text = || {
        prop_oneof![
            "[a-z ]{1,8}",
            Just("- [ ] not an item\n\n# no heading".to_owned()),
            Just("\u{1b}[2m#1\u{1b}[0m [^#2] \u{1f4cb} Phase".to_owned()),
            Just("é\u{1f600}\t\"\\".to_owned()),
        ]
    };
    let status = prop_oneof![Just(Status::Pending), Just(Status::InProgress), Just(Status::Completed)];
    let metadata = prop_oneof![
        Just(Value::Null),
        Just(json!({"priority": "high", "tags": ["a", "b"]})),
        Just(json!({"cancelled": true, "custom": {"deep": [1, null]}})),
        Just(json!({"notes": "by hand", "source": {"any": 1}})),
    ];
    let owner = prop_oneof![Just(None), Just(Some("ana".to_owned()))];
    (text(), text(), status, owner, prop::option::of(text()), metadata).prop_map(
        |(subject, description, status, owner, active_form, metadata)| Task {
            description,
            status,
            owner,
            active_form,
            metadata: metadata.as_object().cloned(),
            ..Task::new(TaskId::number(1), subject)
        },
    )
}
