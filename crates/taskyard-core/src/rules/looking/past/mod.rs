//! What became of a list over time, as its journal has it, and what charts show of it.

mod agents_at_work;
mod burn_up;
mod list_past;
mod time_in_state;

pub use agents_at_work::{AgentAtWork, agents_at_work};
pub(crate) use burn_up::BurnUpPoint;
pub use burn_up::{BurnUp, burn_up};
pub use list_past::{LifeState, ListPast, Stretch};
pub use time_in_state::{TaskTimes, TimeInState, time_in_state};
