//! Many agents that want the same few tasks, and a judge who reads in the journal whether each was told the truth.

mod attempt;
mod contestant;
mod states;
mod verdict;

pub use attempt::{Answer, Attempt, Wish};
pub use contestant::{Contestant, prepare};
pub use verdict::{Verdict, judge};
