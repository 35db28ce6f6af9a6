use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Image, Op, Status};
use taskyard::operations::{Field, Filter};

use crate::{done, elsewhere, id, ids, refused, yard};

const LIST: &str = r#"1 completed "Design"; 2 in_progress (ana) "Write the parser" {"tags":["core"]} <- 1;
    3 pending "Test the parser" <- 2; 4 pending "Docs" {"parent":"2","priority":"high"}; 5 pending {"_internal":true}"#;

#[test]
fn a_listing_shows_the_visible_tasks_in_display_order() {
    let listing = yard(LIST).list(&Filter::default()).unwrap();
    let shown: Vec<&str> = listing.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(shown, ["2", "3", "4", "1"]);
    assert_eq!((listing.counts, listing.exists, listing.revision.0), ([2, 1, 1], true, 1));
    assert_eq!(listing.blockers[&id(3)], ids(&[2]));
    let ready = yard(LIST).list(&Filter { ready: true, ..Filter::default() }).unwrap();
    assert_eq!(ready.tasks.len(), 1);
    assert_eq!(ready.counts, [2, 1, 1]);
}

#[test]
fn a_list_that_does_not_exist_is_shown_as_such() {
    let yard = yard("");
    let listing = yard.list(&Filter::default()).unwrap();
    assert_eq!((listing.exists, listing.tasks.len(), listing.revision.0), (false, 0, 0));
    assert_eq!(yard.stats().unwrap().counts, [0, 0, 0]);
    assert!(yard.ready(None).unwrap().ranked.is_empty());
    assert!(yard.graph().unwrap().tasks.is_empty());
    assert!(yard.examine().unwrap().is_empty());
}

#[test]
fn a_task_is_shown_with_what_surrounds_it() {
    let yard = yard(LIST);
    let shown = done(yard.show(&id(2)));
    assert_eq!(shown.task.subject, "Write the parser");
    assert!(shown.open_blockers.is_empty());
    assert_eq!(shown.dependents.iter().map(|task| task.id.clone()).collect::<Vec<_>>(), ids(&[3]));
    assert_eq!(shown.subtasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>(), ids(&[4]));
    assert_eq!(shown.changed.unwrap().revision.0, 1);
    assert_eq!(done(yard.show(&id(3))).open_blockers[0].status, Status::InProgress);
    assert_eq!(refused(yard.show(&id(9))), Refusal::NoSuchTask { task: id(9) });
}

#[test]
fn what_cannot_be_read_is_told_and_does_not_hide_the_rest() {
    let yard = yard(LIST);
    elsewhere(&yard, Op::CreatedElsewhere, |txn| txn.put_image(&id(7), Image::new(b"[]".as_slice())).unwrap());
    let listing = yard.list(&Filter::default()).unwrap();
    assert_eq!((listing.tasks.len(), listing.problems.len()), (4, 1));
    assert_eq!(yard.stats().unwrap().unreadable, 1);
    assert!(matches!(refused(yard.show(&id(7))), Refusal::Unreadable { .. }));
}

#[test]
fn a_search_finds_words_in_every_field() {
    let yard = yard(LIST);
    let found = |words: &str| {
        let hits = yard.search(&words.parse().unwrap(), false).unwrap();
        hits.into_iter().map(|hit| (hit.task.id.to_string(), hit.field)).collect::<Vec<_>>()
    };
    assert_eq!(found("parser"), [("2".to_owned(), Field::Subject), ("3".to_owned(), Field::Subject)]);
    assert_eq!(found("core ana"), [("2".to_owned(), Field::Owner)]);
    assert_eq!(found("_internal"), []);
    assert_eq!(yard.search(&"_internal".parse().unwrap(), true).unwrap().len(), 1);
}

#[test]
fn what_is_ready_comes_with_its_reason() {
    let ranked = yard(LIST).ready(None).unwrap().ranked;
    assert_eq!(ranked.len(), 1);
    assert_eq!(
        (ranked[0].task.id.as_str(), ranked[0].why.as_str()),
        ("4", "high priority; unblocks 2 tasks (chain of 2)")
    );
}
