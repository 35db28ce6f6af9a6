use std::sync::{Arc, Mutex};

use taskyard::core::{Event, ListId, Op};
use taskyard::operations::{MergeWhich, NewTask, RestoreWhich, UndoRange};

use crate::{done, id, ids, refused, yard};

#[test]
fn every_change_is_told_once_and_nothing_else_is() {
    let yard = yard("");
    let told: Arc<Mutex<Vec<(String, Op, usize)>>> = Arc::default();
    let heard = Arc::clone(&told);
    let subscription = yard.subscribe(Box::new(move |event: &Event| {
        let entry = (event.list.to_string(), event.entries[0].op, event.entries.len());
        heard.lock().unwrap().push(entry);
    }));
    let _panicking = yard.subscribe(Box::new(|_| panic!("on purpose")));
    let create = || done(yard.create(NewTask::default()));
    create();
    create();
    done(yard.depend(&id(2), &ids(&[1])));
    refused(yard.depend(&id(1), &ids(&[2])));
    refused(yard.start(&id(2)));
    done(yard.undepend(&id(2), &ids(&[7])));
    done(yard.delete(&ids(&[1])));
    done(yard.restore_with_deleted(RestoreWhich::All));
    done(yard.undo(UndoRange::Newest));
    done(yard.merge(yard.list_id(), &ListId::new("M").unwrap(), MergeWhich::All));
    create();
    done(yard.clear());
    done(yard.clear());
    drop(subscription);
    create();
    let expected = [
        ("L", Op::Create, 1),
        ("L", Op::Create, 1),
        ("L", Op::Update, 2),
        ("L", Op::Delete, 2),
        ("L", Op::Restore, 2),
        ("L", Op::Undo, 2),
        ("L", Op::Merge, 1),
        ("M", Op::Merge, 1),
        ("L", Op::Create, 1),
        ("L", Op::Clear, 1),
    ];
    let told = told.lock().unwrap();
    let told: Vec<_> = told.iter().map(|(list, op, count)| (list.as_str(), *op, *count)).collect();
    assert_eq!(told, expected);
}
