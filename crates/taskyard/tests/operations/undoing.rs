use taskyard::core::rules::history::undoing::UndoOffer;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, Image, Op, Revision, Rules, SignedRevision, Status};
use taskyard::operations::{Claim, NewTask, Patch, UndoRange, Undone, Update};
use taskyard::store::HistoryQuery;
use taskyard::{Outcome, Yard};
use taskyard_testkit::images;

use crate::{CLIENT, done, elsewhere, find, id, ids, refused, task, yard, yard_in};

fn bytes(yard: &Yard) -> std::collections::BTreeMap<taskyard::core::TaskId, String> {
    images(&*yard.store().read(yard.list_id()).unwrap())
}

fn numbers(undone: &Undone) -> Vec<Revision> {
    undone.revisions.iter().map(|signed| signed.revision).collect()
}

fn renamed(subject: &str) -> Update {
    Update { patch: Patch { subject: Some(subject.into()), ..Patch::default() }, ..Update::default() }
}

fn offers(yard: &Yard, revisions: std::ops::RangeInclusive<u64>) -> Vec<UndoOffer> {
    yard.undo_offers(&revisions.map(Revision).collect::<Vec<_>>()).unwrap()
}

#[test]
fn the_newest_change_is_taken_back_to_the_letter() {
    for rules in [Rules::Strict, CLIENT] {
        let yard = yard_in(rules, "1 pending; 2 pending <- 1; 3 pending <- 2");
        let before = bytes(&yard);
        done(yard.delete(&ids(&[2])));
        let undone = done(yard.undo(UndoRange::Newest));
        assert_eq!((numbers(&undone).as_slice(), undone.revision), (&[Revision(2)][..], Revision(3)));
        assert_eq!(undone.tasks.len(), 3);
        assert_eq!(bytes(&yard), before);
    }
}

#[test]
fn undo_goes_back_further_each_time_and_ends() {
    let yard = yard("");
    for subject in ["one", "two"] {
        done(yard.create(NewTask { subject: subject.into(), ..NewTask::default() }));
    }
    assert_eq!(numbers(&done(yard.undo(UndoRange::Newest))), [Revision(2)]);
    assert_eq!(numbers(&done(yard.undo(UndoRange::Newest))), [Revision(1)]);
    assert_eq!(refused(yard.undo(UndoRange::Newest)), Refusal::NothingToUndo);
}

#[test]
fn the_newest_is_found_behind_many_undone_ones() {
    let yard = yard("1 pending");
    for round in 0..40 {
        done(yard.create(NewTask { subject: format!("{round}"), ..NewTask::default() }));
        done(yard.undo(UndoRange::Newest));
    }
    assert_eq!(numbers(&done(yard.undo(UndoRange::Newest))), [Revision(1)]);
}

#[test]
fn an_undo_can_be_taken_back_by_its_revision() {
    let yard = yard("1 pending");
    done(yard.start(&id(1)));
    let after = bytes(&yard);
    done(yard.undo(UndoRange::Newest));
    done(yard.undo(UndoRange::One(Revision(3))));
    assert_eq!(bytes(&yard), after);
    let newest = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
    let entry = yard.history(&newest).unwrap().remove(0);
    assert_eq!((entry.op, entry.undoes), (Op::Undo, vec![Revision(3)]));
    assert_eq!(numbers(&done(yard.undo(UndoRange::Newest))), [Revision(2)]);
}

#[test]
fn a_range_is_taken_back_in_one_revision() {
    let yard = yard("1 pending; 2 pending");
    let before = bytes(&yard);
    done(yard.start(&id(1)));
    done(yard.depend(&id(2), &ids(&[1])));
    done(yard.done(&id(1)));
    let undone = done(yard.undo(UndoRange::Range(Revision(2), Revision(4))));
    assert_eq!(numbers(&undone), [4, 3, 2].map(Revision));
    assert_eq!(undone.revision, Revision(5));
    assert_eq!(bytes(&yard), before);
}

#[test]
fn a_range_that_cancels_itself_out_is_nothing_to_undo() {
    let yard = yard("1 pending");
    done(yard.start(&id(1)));
    done(yard.undo(UndoRange::Newest));
    assert_eq!(refused(yard.undo(UndoRange::Range(Revision(2), Revision(3)))), Refusal::NothingToUndo);
}

#[test]
fn a_task_that_changed_since_stands_in_the_way() {
    let yard = yard("1 pending");
    done(yard.start(&id(1)));
    done(yard.done(&id(1)));
    let later = vec![SignedRevision { revision: Revision(3), actor: yard.actor().clone() }];
    let range_end = Some(Revision(3));
    let expected = Refusal::ChangedSince { revision: Revision(2), task: id(1), later, range_end };
    assert_eq!(refused(yard.undo(UndoRange::One(Revision(2)))), expected);
}

#[test]
fn undo_takes_back_the_actors_own_newest() {
    let ana = yard("1 pending; 2 pending");
    let bot = ana.acting_as(AgentName::new("bot").unwrap());
    done(ana.update(&id(1), renamed("one")));
    done(bot.done(&id(2)));
    let undone = done(ana.undo(UndoRange::OwnNewest));
    assert_eq!(undone.revisions, [SignedRevision { revision: Revision(2), actor: ana.actor().clone() }]);
    assert_eq!(task(&ana, 2).status, Status::Completed);
    let stranger = ana.acting_as(AgentName::new("cleo").unwrap());
    let newest = SignedRevision { revision: Revision(3), actor: bot.actor().clone() };
    let expected = Refusal::NothingOwnToUndo { actor: stranger.actor().clone(), newest: newest.clone() };
    assert_eq!(refused(stranger.undo(UndoRange::OwnNewest)), expected);
    assert_eq!(done(stranger.undo(UndoRange::One(Revision(3)))).revisions, [newest]);
}

#[test]
fn a_revision_is_not_taken_back_twice() {
    let yard = yard("1 pending");
    done(yard.update(&id(1), renamed("one")));
    done(yard.undo(UndoRange::OwnNewest));
    // The task is again as the revision left it.
    done(yard.update(&id(1), renamed("one")));
    let by = SignedRevision { revision: Revision(3), actor: yard.actor().clone() };
    let expected = Refusal::AlreadyUndone { revision: Revision(2), by };
    assert_eq!(refused(yard.undo(UndoRange::One(Revision(2)))), expected);
    assert_eq!(
        offers(&yard, 2..=4)[0],
        UndoOffer::Undone(SignedRevision { revision: Revision(3), actor: yard.actor().clone() })
    );
}

#[test]
fn a_range_is_offered_only_if_it_can_be_taken_back() {
    let ana = yard("1 pending; 2 pending");
    let bot = ana.acting_as(AgentName::new("bot").unwrap());
    done(ana.update(&id(1), renamed("one")));
    done(bot.update(&id(2), renamed("two")));
    done(bot.update(&id(1), renamed("uno")));
    done(bot.update(&id(2), renamed("due")));
    let range_end = |refusal| match refusal {
        Refusal::ChangedSince { later, range_end, .. } => {
            (later.iter().map(|signed| signed.revision.0).collect::<Vec<_>>(), range_end)
        }
        other => panic!("{other}"),
    };
    // The range from 2 to 4 has revision 3 in it, which 5 overlaps.
    assert_eq!(range_end(refused(ana.undo(UndoRange::One(Revision(2))))), (vec![4], Some(Revision(5))));
    assert_eq!(offers(&ana, 2..=5)[0], UndoOffer::WithLater { last: Revision(5), later: 3 });
    let claim = Claim { ttl: None, ..Claim::default() };
    assert!(matches!(bot.claim(&id(2), &claim).unwrap(), Outcome::Done(_)));
    assert_eq!(range_end(refused(ana.undo(UndoRange::One(Revision(2))))), (vec![4], None), "bot works on task 2");
    assert_eq!(
        offers(&ana, 2..=6),
        [UndoOffer::Refused, UndoOffer::Refused, UndoOffer::Alone, UndoOffer::Refused, UndoOffer::Refused]
    );
}

#[test]
fn what_is_offered_succeeds_and_nothing_else() {
    let yard = yard("1 pending <- 2; 2 pending <- 3; 3 pending; 4 pending <- 1");
    done(yard.undepend(&id(1), &ids(&[2])));
    done(yard.depend(&id(3), &ids(&[4])));
    done(yard.delete(&ids(&[2])));
    done(yard.create(NewTask::default()));
    done(yard.update(&id(5), renamed("five")));
    let offered = offers(&yard, 1..=6);
    for (offer, revision) in offered.into_iter().zip(1..) {
        let (range, is_offered) = match offer {
            UndoOffer::WithLater { last, .. } => (UndoRange::Range(Revision(revision), last), true),
            UndoOffer::Alone => (UndoRange::One(Revision(revision)), true),
            _ => (UndoRange::One(Revision(revision)), false),
        };
        let undone = yard.undo(range).unwrap();
        assert_eq!(matches!(undone, Outcome::Done(_)), is_offered, "revision {revision}: {undone:?}");
        if let Outcome::Done(undone) = undone {
            done(yard.undo(UndoRange::One(undone.revision)));
        }
    }
}

#[test]
fn a_revision_that_is_not_there_is_refused_and_no_list_is_made() {
    let empty = yard("");
    assert_eq!(refused(empty.undo(UndoRange::Newest)), Refusal::NothingToUndo);
    assert!(empty.lists().unwrap().is_empty());
    let yard = yard("1 pending");
    assert_eq!(refused(yard.undo(UndoRange::One(Revision(7)))), Refusal::NoSuchRevision { revision: Revision(7) });
    let beyond = UndoRange::Range(Revision(1), Revision(2));
    assert_eq!(refused(yard.undo(beyond)), Refusal::NoSuchRevision { revision: Revision(2) });
}

#[test]
fn an_edge_that_would_now_close_a_circle_is_not_brought_back() {
    let yard = yard("1 pending <- 2; 2 pending <- 3; 3 pending; 4 pending <- 1");
    // 1 waits for 2, 2 for 3, and 4 for 1. Without the edge from 1 to 2, 3 may wait for 4.
    done(yard.undepend(&id(1), &ids(&[2])));
    done(yard.depend(&id(3), &ids(&[4])));
    let refusal = refused(yard.undo(UndoRange::One(Revision(2))));
    assert_eq!(refusal, Refusal::Cycle { path: ids(&[1, 2, 3, 4, 1]) });
    assert_eq!(task(&yard, 1).blocked_by, ids(&[]));
}

#[test]
fn a_task_that_comes_back_has_no_edge_to_one_that_is_gone() {
    let yard = yard("1 pending; 2 pending <- 1; 3 pending <- 2");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(2)).unwrap());
    done(yard.delete(&ids(&[1])));
    done(yard.undo(UndoRange::One(Revision(2))));
    assert_eq!((task(&yard, 2).blocked_by, task(&yard, 2).blocks), (ids(&[]), ids(&[3])));
    assert_eq!(task(&yard, 3).blocked_by, ids(&[2]));
}

#[test]
fn a_task_that_comes_back_is_known_again_to_those_it_knows() {
    let yard = yard("1 pending; 2 pending <- 1");
    elsewhere(&yard, Op::RemovedElsewhere, |txn| txn.remove(&id(2)).unwrap());
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        let mut one = txn.find(&id(1)).unwrap().task().unwrap();
        one.blocks.clear();
        txn.put(one).unwrap();
    });
    done(yard.undo(UndoRange::One(Revision(2))));
    assert_eq!(task(&yard, 1).blocks, ids(&[2]));
}

#[test]
fn a_task_that_goes_leaves_no_edge_behind() {
    let yard = yard("1 pending");
    done(yard.create(NewTask::default()));
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        let mut one = txn.find(&id(1)).unwrap().task().unwrap();
        one.blocked_by = ids(&[2]);
        txn.put(one).unwrap();
    });
    done(yard.undo(UndoRange::One(Revision(2))));
    assert_eq!((find(&yard, 2), task(&yard, 1).blocked_by), (None, ids(&[])));
}

#[test]
fn what_cannot_be_read_now_is_not_overwritten() {
    let yard = yard("1 pending");
    elsewhere(&yard, Op::ChangedElsewhere, |txn| txn.put_image(&id(1), Image::new(b"rubbish".as_slice())).unwrap());
    assert!(matches!(refused(yard.undo(UndoRange::Newest)), Refusal::Unreadable { .. }));
}
