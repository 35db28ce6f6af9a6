use taskyard::Yard;
use taskyard::core::{Image, Op, Task};
use taskyard::operations::{Finding, UndoRange};
use taskyard::store::Lookup;

use crate::{elsewhere, id, ids, task, yard};

fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.as_str()).collect()
}

/// A list as careless programs leave it.
fn mess() -> taskyard::Yard {
    let yard = yard("1 pending; 2 pending; 3 pending; 4 pending");
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        let change = |number, change: fn(&mut Task)| {
            let mut task = Task::new(id(number), format!("task {number}"));
            change(&mut task);
            task
        };
        txn.put(change(2, |task| task.blocked_by = ids(&[1, 9]))).unwrap();
        txn.put(change(3, |task| task.blocks = ids(&[3, 4, 4]))).unwrap();
        txn.put_image(&id(6), Image::new(b"[]".as_slice())).unwrap();
    });
    yard
}

#[test]
fn a_mess_is_found_and_mended_in_one_revision() {
    let yard = mess();
    let findings = yard.examine().unwrap();
    assert_eq!(
        codes(&findings),
        ["one_sided_edge", "dangling_edge", "double_edge", "self_edge", "one_sided_edge", "unreadable"]
    );
    assert_eq!(findings[0].file.as_deref(), Some("2.json"));
    assert_eq!(findings[0].fix.as_ref().unwrap().describe(), "add 2 to the blocks of 1");
    let mended = yard.mend(&findings).unwrap();
    assert_eq!((mended.fixed.len(), mended.left.len()), (6, 0));
    assert_eq!(mended.revision.unwrap().0, 3);
    assert_eq!(yard.examine().unwrap(), []);
    assert_eq!((task(&yard, 1).blocks, task(&yard, 2).blocked_by), (ids(&[2]), ids(&[1])));
    assert_eq!((task(&yard, 3).blocks, task(&yard, 4).blocked_by), (ids(&[4]), ids(&[3])));
}

#[test]
fn what_is_no_longer_wrong_is_left() {
    let yard = mess();
    let findings = yard.examine().unwrap();
    yard.undepend(&id(2), &ids(&[1, 9])).unwrap();
    let mended = yard.mend(&findings[..2]).unwrap();
    assert_eq!((mended.fixed.len(), mended.left.len(), mended.revision), (0, 2, None));
}

#[test]
fn circles_are_cut_in_one_go_also_where_they_share_a_task() {
    let yard = yard("1 pending <- 2, 3; 2 pending <- 1; 3 pending <- 1");
    let findings = yard.examine().unwrap();
    assert_eq!(codes(&findings), ["cycle", "cycle"]);
    assert_eq!(yard.mend(&findings).unwrap().fixed.len(), 2);
    assert_eq!(yard.examine().unwrap(), []);
    assert_eq!((task(&yard, 1).blocked_by, task(&yard, 2).blocked_by), (ids(&[]), ids(&[1])));
    yard.undo(UndoRange::Newest).unwrap().done().unwrap();
    assert_eq!(codes(&yard.examine().unwrap()), ["cycle", "cycle"]);
}

#[test]
fn invisible_items_become_tasks_with_edges_in_one_revision() {
    let yard = yard("1 pending");
    let nearly = Image::new(br#"{"id":6,"subject":"six","status":"open","blockedBy":[1]}"#.as_slice());
    elsewhere(&yard, Op::ChangedElsewhere, |txn| txn.put_image(&id(6), nearly.clone()).unwrap());
    let findings = yard.examine().unwrap();
    assert_eq!(codes(&findings), ["one_sided_edge", "invisible_task"]);
    let mended = yard.mend(&findings).unwrap();
    assert_eq!((mended.fixed.len(), mended.left.len()), (2, 0));
    assert_eq!(yard.examine().unwrap(), []);
    assert_eq!((task(&yard, 6).blocked_by, task(&yard, 1).blocks), (ids(&[1]), ids(&[6])));
    yard.undo(UndoRange::Newest).unwrap().done().unwrap();
    assert_eq!(contents(&yard, 6), nearly);
    assert_eq!(task(&yard, 1).blocks, ids(&[]));
}

#[test]
fn what_was_a_task_once_is_put_back_and_what_never_was_goes() {
    let yard = yard("1 pending <- 5; 5 pending");
    let torn = Image::new(br#"{"id":"#.as_slice());
    elsewhere(&yard, Op::ChangedElsewhere, |txn| txn.put_image(&id(5), torn.clone()).unwrap());
    elsewhere(&yard, Op::ChangedElsewhere, |txn| txn.put_image(&id(7), torn.clone()).unwrap());
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        txn.put(Task { blocked_by: ids(&[7]), ..Task::new(id(8), "eight") }).unwrap();
    });
    let findings = yard.examine().unwrap();
    assert_eq!(codes(&findings), ["dangling_edge", "unreadable", "unreadable"]);
    assert_eq!(yard.mend(&findings).unwrap().fixed.len(), 3);
    assert_eq!(yard.examine().unwrap(), []);
    assert_eq!((task(&yard, 5).blocks, task(&yard, 8).blocked_by), (ids(&[1]), ids(&[])));
    yard.undo(UndoRange::Newest).unwrap().done().unwrap();
    assert_eq!([5, 7].map(|number| contents(&yard, number)), [torn.clone(), torn]);
}

#[test]
fn list_emptied_elsewhere_is_restored_and_cleared_one_not() {
    let yard = yard("1 completed; 2 pending <- 1");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.clear().unwrap());
    let findings = yard.examine().unwrap();
    assert_eq!(codes(&findings), ["emptied_list"]);
    assert_eq!(findings[0].fix.as_ref().unwrap().describe(), "restore 2 tasks from the journal");
    assert!(yard.mend(&findings).unwrap().revision.is_some());
    assert_eq!(task(&yard, 2).blocked_by, ids(&[1]));
    yard.clear().unwrap();
    assert_eq!(yard.examine().unwrap(), []);
}

/// Returns the exact contents of something that no task can be read from.
fn contents(yard: &Yard, number: u64) -> Image {
    match yard.store().read(yard.list_id()).unwrap().find(&id(number)).unwrap() {
        Lookup::Unreadable(problem) => problem.contents.unwrap(),
        other => panic!("{other:?}"),
    }
}
