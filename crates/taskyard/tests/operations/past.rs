use taskyard::core::rules::looking::past::LifeState;
use taskyard::operations::{KnownPast, PastAndPresent};

use crate::{done, id, yard};

/// Returns the states that each task went through.
fn states(known: &PastAndPresent) -> Vec<Vec<LifeState>> {
    known.past.tasks().map(|(_, stretches)| stretches.iter().map(|stretch| stretch.state).collect()).collect()
}

#[test]
fn history_is_the_journal_and_resumes_where_it_stopped() {
    use LifeState::{Completed, InProgress, Pending};
    let yard = yard("1 pending; 2 pending; 3 pending {\"_internal\":true}");
    done(yard.start(&id(1)));
    let mut known = KnownPast::default();
    assert_eq!(states(&yard.past(&mut known).unwrap()), [vec![Pending, InProgress], vec![Pending], vec![]]);
    done(yard.done(&id(1)));
    done(yard.start(&id(2)));
    let again = yard.past(&mut known).unwrap();
    assert_eq!(states(&again), [vec![Pending, InProgress, Completed], vec![Pending, InProgress], vec![]]);
    assert_eq!(states(&yard.past(&mut KnownPast::default()).unwrap()), states(&again), "read at once it is the same");
    assert_eq!(again.tasks.len(), 3);
}

#[test]
fn a_list_that_does_not_exist_has_no_past() {
    let past = yard("").past(&mut KnownPast::default()).unwrap();
    assert_eq!((past.past.tasks().count(), past.past.begun()), (0, None));
}
