//! Native to each dialect and back, and through two dialects in a row.

use proptest::prelude::*;
use taskyard_core::dialect::{document, export, macf, native, teaching};
use taskyard_core::{Rules, Task};

use super::lists::list;

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
    fn tell(self, tasks: &[Task]) -> Vec<String> {
        match self {
            Self::Document => vec![document::tell(tasks, NOW).print()],
            Self::Export => vec![export::print(&export::tell(tasks))],
            Self::Teaching => {
                let folder = teaching::tell(tasks);
                let files = folder.files.iter();
                let files = files.flat_map(|(id, file)| [id.to_string(), String::from_utf8(file.clone()).unwrap()]);
                let mut told: Vec<String> = files.collect();
                told.push(teaching::print_carried(&folder.carried).unwrap_or_default());
                told
            }
            Self::Macf => tasks
                .iter()
                .flat_map(|task| {
                    let told = macf::tell(task);
                    let image = native::write(None, &told, Rules::Strict).unwrap();
                    [
                        task.id.to_string(),
                        told.stated_id.unwrap_or_default(),
                        String::from_utf8(image.bytes().to_vec()).unwrap(),
                    ]
                })
                .collect(),
        }
    }

    /// Reads what was written down.
    fn hear(self, told: &[String]) -> Vec<Task> {
        match self {
            Self::Document => {
                let heard = document::hear(&document::Document::parse(told[0].as_bytes()).unwrap());
                assert_eq!(heard.problems, []);
                heard.tasks
            }
            Self::Export => {
                let heard = export::hear(&export::parse(told[0].as_bytes()).unwrap());
                assert_eq!(heard.problems, []);
                heard.tasks
            }
            Self::Teaching => {
                let (carried, files) = told.split_last().unwrap();
                let files = files
                    .chunks(2)
                    .map(|pair| (taskyard_core::TaskId::stored(&*pair[0]), pair[1].clone().into_bytes()));
                let carried = teaching::parse_carried(carried.as_bytes()).unwrap_or_default();
                let heard = teaching::hear(&teaching::Folder { files: files.collect(), carried });
                assert_eq!(heard.problems, []);
                heard.tasks
            }
            Self::Macf => told
                .chunks(3)
                .map(|file| {
                    let id = taskyard_core::TaskId::stored(&*file[0]);
                    let stated = Some(file[1].clone()).filter(|stated| !stated.is_empty());
                    macf::hear(&Task { stated_id: stated, ..native::read(&id, file[2].as_bytes()).unwrap() })
                })
                .collect(),
        }
    }
}

/// A list to the letter, the order of its keys included.
fn letters(tasks: &[Task]) -> Vec<(String, Option<String>, String)> {
    let letters = |task: &Task| {
        let image = native::write(None, task, Rules::Strict).unwrap();
        (task.id.to_string(), task.stated_id.clone(), String::from_utf8(image.bytes().to_vec()).unwrap())
    };
    tasks.iter().map(letters).collect()
}

#[test]
fn a_task_of_our_own_kinds_goes_out_and_comes_back_as_it_is() {
    let block = "Why\n\n<macf_task_metadata version=\"1.0\">\ncreated_by: PA\nparent_id: 1\n</macf_task_metadata>";
    let phase = Task {
        description: block.to_owned(),
        metadata: serde_json::json!({"kind": "phase", "parent": "1", "priority": "high"}).as_object().cloned(),
        ..Task::new(taskyard_core::TaskId::number(2), macf::Subject::compose("2", Some("1"), "\u{1f4cb} Phase 1"))
    };
    assert_eq!(macf::tell(&phase), phase);
    assert_eq!(macf::hear(&phase), phase);
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
    let told = macf::tell(&task);
    assert_eq!((&told.subject, &told.description), (&task.subject, &task.description));
    assert_eq!(macf::hear(&told), task);
    assert_eq!(macf::tell(&macf::hear(&told)), told);
    // Where only the block is there, its facts are joined by the others.
    let task = Task { subject: "Phase 1".to_owned(), ..task };
    let told = macf::tell(&task);
    assert_eq!(told.subject, macf::Subject::compose("2", Some("1"), "Phase 1"));
    let facts = "created_by: PA\nupdates:\n- agent: SA\nparent_id: 1\nrepo: yard\n";
    assert!(told.description.contains(facts), "{}", told.description);
    assert_eq!(macf::hear(&told), task);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn native_to_a_dialect_and_back_is_the_same_list(tasks in list()) {
        for dialect in ALL {
            prop_assert_eq!(letters(&dialect.hear(&dialect.tell(&tasks))), letters(&tasks), "{:?}", dialect);
        }
    }

    #[test]
    fn two_dialects_in_a_row_lose_nothing(tasks in list()) {
        for (one, two) in ALL.into_iter().flat_map(|one| ALL.map(|two| (one, two))) {
            let first = one.tell(&tasks);
            let heard = one.hear(&first);
            let second = two.tell(&heard);
            let back = two.hear(&second);
            prop_assert_eq!(one.tell(&back), first, "{:?} and {:?}", one, two);
            prop_assert_eq!(letters(&one.hear(&one.tell(&back))), letters(&tasks), "{:?} and {:?}", one, two);
        }
    }
}
