//! How problems end a process.

pub(crate) use taskyard::core::problem::{Problem, ProblemKind};

use crate::exit::Exit;

/// Returns how a process ends because of a problem of a kind.
pub(crate) const fn exit_of(kind: ProblemKind) -> Exit {
    match kind {
        ProblemKind::CouldNot => Exit::CouldNot,
        ProblemKind::Usage => Exit::Usage,
        ProblemKind::Refused => Exit::Refused,
        ProblemKind::NotFound => Exit::NotFound,
        ProblemKind::GaveUp => Exit::GaveUp,
        ProblemKind::Unfinished => Exit::Unfinished,
        ProblemKind::Stopped => Exit::Stopped,
        ProblemKind::EndUnknown => Exit::END_UNKNOWN,
    }
}
