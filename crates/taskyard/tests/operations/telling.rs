use taskyard::Yard;
use taskyard::core::{ClientVersion, ListId, Op, Rules};
use taskyard::operations::{MergeWhich, NewTask, RestoreWhich, UndoRange};
use taskyard::stream::{Cursor, Happening, Stream};

use crate::{CLIENT, done, id, ids, refused, yard_in};

#[test]
fn every_change_is_told_once_and_nothing_else_is() {
    for rules in [Rules::Strict, Rules::Client(ClientVersion::V2_1_34), CLIENT] {
        every_change_is_told_once(&yard_in(rules, ""));
    }
}

fn every_change_is_told_once(yard: &Yard) {
    let mut stream = yard.follow(Cursor::now()).unwrap();
    let mut other = yard.on(ListId::new("M").unwrap()).follow(Cursor::now()).unwrap();
    let create = || done(yard.create(NewTask::default()));
    create();
    create();
    done(yard.depend(&id(2), &ids(&[1])));
    if yard.rules() == Rules::Strict {
        refused(yard.depend(&id(1), &ids(&[2])));
        refused(yard.start(&id(2)));
    }
    done(yard.undepend(&id(2), &ids(&[7])));
    done(yard.delete(&ids(&[1])));
    done(yard.restore_with_deleted(RestoreWhich::All));
    done(yard.undo(UndoRange::Newest));
    done(yard.merge(yard.list_id(), &ListId::new("M").unwrap(), MergeWhich::All));
    create();
    done(yard.clear());
    done(yard.clear());
    let expected = [
        ("L", Op::Create, 1),
        ("L", Op::Create, 1),
        ("L", Op::Update, 2),
        ("L", Op::Delete, 2),
        ("L", Op::Restore, 2),
        ("L", Op::Undo, 2),
        ("L", Op::Merge, 1),
        ("L", Op::Create, 1),
        ("L", Op::Clear, 1),
    ];
    assert_eq!(told(&mut stream), expected.map(|(list, op, count)| (list.to_owned(), op, count)));
    assert_eq!(told(&mut other), [("M".to_owned(), Op::Merge, 1)]);
    // A follower that begins where this one stopped is told what comes.
    let mut next = yard.follow(stream.cursor()).unwrap();
    create();
    assert_eq!(told(&mut next), [("L".to_owned(), Op::Create, 1)]);
}

/// Returns what was told: the list, what was done, and to how many tasks.
fn told(stream: &mut Stream) -> Vec<(String, Op, usize)> {
    let mut told = Vec::new();
    while let Some(happening) = stream.try_next().unwrap() {
        let Happening::Commit(event) = happening else { panic!("{happening:?}") };
        told.push((event.list.to_string(), event.entries[0].op, event.entries.len()));
    }
    told
}
