//! The operations a random sequence is made of.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use taskyard::core::Status;

/// One operation. Tasks and revisions are named by a number that is taken modulo how many there are.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Create { blocked_by: Vec<u8>, blocks: Vec<u8>, owner: Option<u8> },
    Update { task: u8, subject: u8, status: Option<Status>, meta: u8 },
    Edges { task: u8, add_blocks: Vec<u8>, add_blocked_by: Vec<u8>, remove_blocks: Vec<u8>, remove_blocked_by: Vec<u8> },
    Depend { task: u8, on: u8 },
    Undepend { task: u8, on: u8 },
    Start { task: u8 },
    Done { task: u8 },
    Cancel { task: u8 },
    Reopen { task: u8 },
    Delete { tasks: Vec<u8> },
    Clear,
    UndoNewest,
    UndoOne { revision: u8 },
    UndoRange { from: u8, to: u8 },
    RestoreAll,
    Restore { tasks: Vec<u8> },
    MergeAway { open: bool },
    MergeBack { open: bool },
    Mend,
}

/// Makes sequences of operations, creations and edges being the most frequent.
pub(super) fn sequences() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..50)
}

fn step() -> impl Strategy<Value = Step> {
    let few = || vec(any::<u8>(), 0..3);
    let status = prop_oneof![
        Just(None),
        Just(Some(Status::Pending)),
        Just(Some(Status::InProgress)),
        Just(Some(Status::Completed))
    ];
    prop_oneof![
        8 => (few(), few(), any::<Option<u8>>())
            .prop_map(|(blocked_by, blocks, owner)| Step::Create { blocked_by, blocks, owner }),
        8 => (any::<u8>(), any::<u8>(), status, any::<u8>())
            .prop_map(|(task, subject, status, meta)| Step::Update { task, subject, status, meta }),
        6 => (any::<u8>(), few(), few(), few(), few()).prop_map(
            |(task, add_blocks, add_blocked_by, remove_blocks, remove_blocked_by)| Step::Edges {
                task, add_blocks, add_blocked_by, remove_blocks, remove_blocked_by
            }
        ),
        24 => (any::<u8>(), any::<u8>()).prop_map(|(task, on)| Step::Depend { task, on }),
        12 => (any::<u8>(), any::<u8>()).prop_map(|(task, on)| Step::Undepend { task, on }),
        4 => any::<u8>().prop_map(|task| Step::Start { task }),
        6 => any::<u8>().prop_map(|task| Step::Done { task }),
        2 => any::<u8>().prop_map(|task| Step::Cancel { task }),
        2 => any::<u8>().prop_map(|task| Step::Reopen { task }),
        4 => vec(any::<u8>(), 1..3).prop_map(|tasks| Step::Delete { tasks }),
        1 => Just(Step::Clear),
        6 => Just(Step::UndoNewest),
        20 => any::<u8>().prop_map(|revision| Step::UndoOne { revision }),
        4 => (any::<u8>(), any::<u8>()).prop_map(|(from, to)| Step::UndoRange { from, to }),
        3 => Just(Step::RestoreAll),
        4 => vec(any::<u8>(), 1..3).prop_map(|tasks| Step::Restore { tasks }),
        1 => any::<bool>().prop_map(|open| Step::MergeAway { open }),
        1 => any::<bool>().prop_map(|open| Step::MergeBack { open }),
        1 => Just(Step::Mend),
    ]
}
