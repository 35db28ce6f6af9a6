use taskyard::core::TaskId;
use taskyard::core::rules::refusal::Refusal;
use taskyard::operations::Field;

use crate::{CLIENT, done, id, ids, refused, task, yard, yard_in};

#[test]
fn an_edge_is_known_at_both_ends() {
    let yard = yard("1 pending; 2 pending; 3 pending");
    let updated = done(yard.depend(&id(3), &ids(&[1, 2, 1])));
    assert_eq!((updated.updated, updated.task.blocked_by), (vec![Field::BlockedBy], ids(&[1, 2])));
    assert_eq!((task(&yard, 1).blocks, task(&yard, 2).blocks), (ids(&[3]), ids(&[3])));
    done(yard.undepend(&id(3), &ids(&[1, 7])));
    assert_eq!((task(&yard, 1).blocks, task(&yard, 3).blocked_by), (ids(&[]), ids(&[2])));
}

#[test]
fn a_circle_is_refused_with_the_way_around_it() {
    let yard = yard("1 pending <- 3; 3 pending");
    assert_eq!(refused(yard.depend(&id(3), &ids(&[1]))), Refusal::Cycle { path: ids(&[3, 1, 3]) });
}

#[test]
fn itself_and_no_task_are_refused() {
    let yard = yard("1 pending");
    assert_eq!(refused(yard.depend(&id(1), &ids(&[1]))), Refusal::EdgeToItself { task: id(1) });
    assert_eq!(refused(yard.depend(&id(1), &ids(&[4]))), Refusal::NoSuchBlocker { task: id(4) });
    assert_eq!(refused(yard.depend(&id(4), &ids(&[1]))), Refusal::NoSuchTask { task: id(4) });
}

#[test]
fn edge_closing_a_thousand_task_cycle_names_all_of_it() {
    let line: Vec<String> = (1..=1_000)
        .map(|number| if number == 1 { "1 pending".to_owned() } else { format!("{number} pending <- {}", number - 1) })
        .collect();
    let yard = yard(&line.join("; "));
    let Refusal::Cycle { path } = refused(yard.depend(&id(1), &ids(&[1_000]))) else { panic!("no circle") };
    assert_eq!(path.len(), 1_001);
    assert_eq!(path[..3], ids(&[1, 1_000, 999]));
    assert_eq!(path.iter().filter_map(TaskId::as_number).max(), Some(1_000));
}

#[test]
fn the_client_lets_a_task_wait_for_itself() {
    let yard = yard_in(CLIENT, "1 pending; 2 pending <- 1");
    done(yard.depend(&id(1), &ids(&[1, 2])));
    assert_eq!((task(&yard, 1).blocked_by, task(&yard, 1).blocks), (ids(&[1, 2]), ids(&[2, 1])));
    assert_eq!(task(&yard, 2).blocks, ids(&[1]));
    done(yard.undepend(&id(1), &ids(&[1])));
    assert_eq!((task(&yard, 1).blocked_by, task(&yard, 1).blocks), (ids(&[2]), ids(&[2])));
}
