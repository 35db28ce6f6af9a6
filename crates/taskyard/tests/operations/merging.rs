use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{ListId, Op, TaskId};
use taskyard::operations::{MergeWhich, NewTask};
use taskyard::store::HistoryQuery;
use taskyard_testkit::list_builder;

use crate::{done, find, id, ids, refused, task, yard};

fn other() -> ListId {
    ListId::new("other").unwrap()
}

#[test]
fn tasks_move_with_new_numbers_and_rewritten_edges() {
    let yard = yard("1 pending; 2 pending; 3 pending");
    list_builder::fill(yard.store(), &other(), r#"1 pending; 2 pending (ana) {"parent":"1"} <- 1; x pending <- 2"#);
    let merged = done(yard.merge(&other(), yard.list_id(), MergeWhich::All));
    let new = |old: &str| (TaskId::stored(old), id(old.parse().map_or(6, |number: u64| number + 3)));
    assert_eq!(merged.mapping, [new("1"), new("2"), new("x")]);
    assert_eq!(merged.tasks[1], task(&yard, 5));
    assert_eq!((task(&yard, 5).blocked_by, task(&yard, 5).blocks), (ids(&[4]), ids(&[6])));
    assert_eq!((task(&yard, 5).parent(), task(&yard, 5).owner()), (Some(id(4)), Some("ana")));
    assert!(yard.store().read(&other()).unwrap().tasks().unwrap().is_empty());
    for list in [yard.list_id(), &other()] {
        let entries = yard.store().history(list, &HistoryQuery::default()).unwrap();
        assert_eq!(entries.last().unwrap().op, Op::Merge);
    }
    assert_eq!(done(yard.on(other()).create(NewTask::default())).task.id, id(3));
}

#[test]
fn only_open_tasks_move_when_only_those_are_wanted() {
    let yard = yard("1 completed; 2 pending <- 1; 3 pending <- 2");
    let merged = done(yard.merge(yard.list_id(), &other(), MergeWhich::Open));
    assert_eq!(merged.mapping, [(id(2), id(1)), (id(3), id(2))]);
    assert_eq!(merged.dropped_edges, [(id(2), id(1))]);
    assert_eq!((task(&yard, 1).blocks, find(&yard, 2)), (ids(&[]), None));
}

#[test]
fn a_list_is_not_merged_into_itself_nor_from_nowhere() {
    let yard = yard("1 pending");
    assert_eq!(refused(yard.merge(yard.list_id(), yard.list_id(), MergeWhich::All)), Refusal::MergeIntoItself);
    let nowhere = ListId::new("nowhere").unwrap();
    let refusal = refused(yard.merge(&nowhere, yard.list_id(), MergeWhich::All));
    assert_eq!(refusal, Refusal::NoSuchList { list: "nowhere".into() });
    assert_eq!(yard.lists().unwrap().len(), 1);
}

#[test]
fn with_nothing_to_move_nothing_happens() {
    let yard = yard("1 completed");
    let merged = done(yard.merge(yard.list_id(), &other(), MergeWhich::Open));
    assert!(merged.mapping.is_empty() && merged.tasks.is_empty());
    assert_eq!(yard.lists().unwrap().len(), 1);
}
