use taskyard::core::{Image, Op, Task};
use taskyard::operations::{Finding, FindingCode};

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
    assert_eq!((mended.fixed.len(), codes(&mended.left)), (5, vec!["unreadable"]));
    assert_eq!(mended.revision.unwrap().0, 3);
    assert_eq!(codes(&yard.examine().unwrap()), ["unreadable"]);
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
fn a_circle_is_told_and_left_to_a_person() {
    let yard = yard("1 pending <- 2; 2 pending <- 1");
    let findings = yard.examine().unwrap();
    assert_eq!((findings.len(), findings[0].code), (1, FindingCode::Cycle));
    assert_eq!(findings[0].fix, None);
    assert_eq!(yard.mend(&findings).unwrap().left.len(), 1);
}
