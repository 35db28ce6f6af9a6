//! What is wrong with a list, what that means, and how it can be mended.
//!
//! Looking at files, locks, jobs and teams is not done here: the library brings what it found there under these codes.

mod examination;
mod examining;
mod families;
mod finding_code;
pub mod mending;
mod owners;
#[cfg(test)]
mod told;

pub use examination::Defect;
pub use examining::examine;
pub use finding_code::FindingCode;
pub use owners::{
    OWNER_SILENCE, is_of_another_program, is_sign_of_owner, judge_owner, may_be_abandoned, may_be_of_ended_session,
    of_ended_session, ran_when_written,
};
