//! Which acknowledged values a write of another program took back, and what becomes of them.
//!
//! The client rewrites whole files from what it read before. What was written in between is gone then, and no agent meant that. The journal
//! knows what was written and what the file said before, so that such a write is told from one that was meant.

mod evidence;
mod fields;
mod judging;
mod lasting;
#[cfg(test)]
mod tests;

pub use evidence::is_same_task;
pub use judging::{Judgement, LOOKED_BACK, OutsideWrite, judge, judge_together};
pub use lasting::{LostValue, OpenLosses, StillLost, is_still_taken, lost_values, put_back};
