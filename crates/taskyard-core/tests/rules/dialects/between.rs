//! Native to each dialect and back, and through two dialects in a row.

use proptest::prelude::*;
use serde_json::Value;
use taskyard_core::dialect::{document, export, macf, native, teaching};
use taskyard_core::{Rules, Task};

use super::lists::{list, plain_list};

const NOW: &str = "2026-11-15T01:02:03.000Z";

/// A way to write a list down, as the file or files it becomes.
#[derive(Clone, Copy, Debug)]
enum Dialect {
    Document,
    Export,
    Teaching,
    Macf,
}

const ALL: [Dialect; 4] = [Dialect::Document, Dialect::Export, Dialect::Teaching, Dialect::Macf];

impl Dialect {
    /// Writes tasks down.
    fn write(self, tasks: &[Task]) -> Vec<String> {
        match self {
            Self::Document => vec![document::write_tasks(tasks, NOW).print()],
            Self::Export => vec![export::print(&export::write_tasks(tasks))],
            Self::Teaching => {
                let folder = teaching::write_tasks(tasks);
                let files = folder.files.iter();
                let files = files.flat_map(|(id, file)| [id.to_string(), String::from_utf8(file.clone()).unwrap()]);
                let mut written: Vec<String> = files.collect();
                written.push(teaching::print_carried(&folder.carried).unwrap_or_default());
                written
            }
            Self::Macf => tasks
                .iter()
                .flat_map(|task| {
                    let written = macf::write_task(task);
                    let image = native::write(None, &written, Rules::Strict).unwrap();
                    [
                        task.id.to_string(),
                        written.stated_id.unwrap_or_default(),
                        String::from_utf8(image.bytes().to_vec()).unwrap(),
                    ]
                })
                .collect(),
        }
    }

    /// Returns of a plain task what this dialect has words for.
    fn sayable(self, task: &Task) -> Task {
        let is_kept = |value: &Value| match self {
            Self::Document | Self::Export => true,
            Self::Teaching => false,
            // A fact is one line of text, or a number.
            Self::Macf => value.is_string() || value.is_number(),
        };
        let mut task = task.clone();
        if let Some(metadata) = &mut task.metadata {
            metadata.retain(|_, value| is_kept(value));
        }
        task
    }

    /// Reads what was written down.
    fn read(self, written: &[String]) -> Vec<Task> {
        match self {
            Self::Document => {
                let found = document::read_tasks(&document::Document::parse(written[0].as_bytes()).unwrap());
                assert_eq!(found.problems, []);
                found.tasks
            }
            Self::Export => {
                let found = export::read_tasks(&export::parse(written[0].as_bytes()).unwrap());
                assert_eq!(found.problems, []);
                found.tasks
            }
            Self::Teaching => {
                let (carried, files) = written.split_last().unwrap();
                let files = files
                    .chunks(2)
                    .map(|pair| (taskyard_core::TaskId::stored(&*pair[0]), pair[1].clone().into_bytes()));
                let carried = teaching::parse_carried(carried.as_bytes()).unwrap_or_default();
                let found = teaching::read_tasks(&teaching::Folder { files: files.collect(), carried });
                assert_eq!(found.problems, []);
                found.tasks
            }
            Self::Macf => written
                .chunks(3)
                .map(|file| {
                    let id = taskyard_core::TaskId::stored(&*file[0]);
                    let stated = Some(file[1].clone()).filter(|stated| !stated.is_empty());
                    macf::read_task(&Task { stated_id: stated, ..native::read(&id, file[2].as_bytes()).unwrap() })
                })
                .collect(),
        }
    }
}

/// What a list says: the order of keys and of the tasks that wait for a task means nothing, and neither does metadata that holds nothing.
fn meaning(tasks: &[Task]) -> Vec<(String, Option<String>, Value)> {
    let meaning = |task: &Task| {
        let mut task = task.clone();
        task.blocks.sort();
        task.metadata = task.metadata.filter(|metadata| !metadata.is_empty());
        let image = native::write(None, &task, Rules::Strict).unwrap();
        (task.id.to_string(), task.stated_id.clone(), serde_json::from_slice(image.bytes()).unwrap())
    };
    tasks.iter().map(meaning).collect()
}

/// A list that went through a document, in which every task says when it was made and changed.
fn timed(tasks: &[Task]) -> Vec<Task> {
    let timed = |task: &Task| {
        let mut task = task.clone();
        let stated = |key: &str| task.meta(key).and_then(Value::as_str).map(str::to_owned);
        let created = stated("created_at").or_else(|| stated("updated_at")).unwrap_or_else(|| NOW.to_owned());
        let updated = stated("updated_at").unwrap_or_else(|| created.clone());
        let metadata = task.metadata.get_or_insert_default();
        metadata.entry("created_at").or_insert_with(|| created.into());
        metadata.entry("updated_at").or_insert_with(|| updated.into());
        task
    };
    tasks.iter().map(timed).collect()
}

/// What is to come back when a list went through these dialects.
fn expected(tasks: &[Task], dialects: &[Dialect]) -> Vec<(String, Option<String>, Value)> {
    let has_times = dialects.iter().any(|dialect| matches!(dialect, Dialect::Document));
    if has_times { meaning(&timed(tasks)) } else { meaning(tasks) }
}

#[test]
fn a_task_of_our_own_kinds_goes_out_and_comes_back_as_it_is() {
    let block = "Why\n\n<macf_task_metadata version=\"1.0\">\ncreated_by: PA\nparent_id: 1\n</macf_task_metadata>";
    let phase = Task {
        description: block.to_owned(),
        metadata: serde_json::json!({"kind": "phase", "parent": "1", "priority": "high"}).as_object().cloned(),
        ..Task::new(taskyard_core::TaskId::number(2), macf::Subject::compose("2", Some("1"), "\u{1f4cb} Phase 1"))
    };
    assert_eq!(macf::write_task(&phase), phase);
    assert_eq!(macf::read_task(&phase), phase);
}

#[test]
fn what_is_there_already_is_not_written_twice() {
    let block =
        "Why\n\n<macf_task_metadata version=\"1.0\">\ncreated_by: PA\nupdates:\n- agent: SA\n</macf_task_metadata>";
    let task = Task {
        description: block.to_owned(),
        metadata: serde_json::json!({"parent": "1", "repo": "yard"}).as_object().cloned(),
        ..Task::new(taskyard_core::TaskId::number(2), macf::Subject::compose("2", Some("1"), "\u{1f4cb} Phase 1"))
    };
    let written = macf::write_task(&task);
    assert_eq!((&written.subject, &written.description), (&task.subject, &task.description));
    assert_eq!(macf::read_task(&written), task);
    assert_eq!(macf::write_task(&macf::read_task(&written)), written);
    // Where only the block is there, its facts are joined by the others.
    let task = Task { subject: "Phase 1".to_owned(), ..task };
    let written = macf::write_task(&task);
    assert_eq!(written.subject, macf::Subject::compose("2", Some("1"), "Phase 1"));
    let facts = "created_by: PA\nupdates:\n- agent: SA\nparent_id: 1\nrepo: yard\n";
    assert!(written.description.contains(facts), "{}", written.description);
    assert_eq!(macf::read_task(&written), task);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn native_to_a_dialect_and_back_is_the_same_list(tasks in list()) {
        for dialect in ALL {
            let back = dialect.read(&dialect.write(&tasks));
            prop_assert_eq!(meaning(&back), expected(&tasks, &[dialect]), "{:?}", dialect);
        }
    }

    #[test]
    fn two_dialects_in_a_row_lose_nothing(tasks in list()) {
        for (one, two) in ALL.into_iter().flat_map(|one| ALL.map(|two| (one, two))) {
            let found = one.read(&one.write(&tasks));
            let back = two.read(&two.write(&found));
            let again = one.read(&one.write(&back));
            prop_assert_eq!(meaning(&again), expected(&tasks, &[one, two]), "{:?} and {:?}", one, two);
        }
    }

    #[test]
    fn nothing_is_carried_for_what_a_dialect_has_words_for(tasks in plain_list()) {
        for dialect in ALL {
            let sayable: Vec<Task> = tasks.iter().map(|task| dialect.sayable(task)).collect();
            let written = dialect.write(&sayable);
            prop_assert!(!written.iter().any(|text| text.contains("taskyard")), "{:?}: {:?}", dialect, written);
            let beside = written.last().filter(|_| matches!(dialect, Dialect::Teaching));
            prop_assert!(beside.is_none_or(String::is_empty), "{:?}", beside);
            prop_assert_eq!(meaning(&dialect.read(&written)), expected(&sayable, &[dialect]), "{:?}", dialect);
        }
    }
}
