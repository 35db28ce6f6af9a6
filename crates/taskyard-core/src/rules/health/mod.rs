//! Defects of a list: kinds, consequences and repairs. Begin with `examining.rs`.
//!
//! Files, locks, jobs and teams are not examined here; the library reports what it finds there under these codes.

pub mod defects;
mod examining;
#[cfg(test)]
mod told;

pub use defects::FindingCode;
pub use examining::{
    Defect, OWNER_SILENCE, examine, is_of_another_program, is_sign_of_owner, judge_owner, may_be_abandoned,
    may_be_of_ended_session, of_ended_session, ran_when_written,
};
