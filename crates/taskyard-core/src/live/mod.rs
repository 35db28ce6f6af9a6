//! A list in memory with incrementally maintained dependencies and readiness; begin with `live_list.rs`. Tasks are
//! kept as the bytes they are read from, to save memory. The rules are those of [`crate::rules`]; a property test
//! checks that both agree.

mod live_list;
mod live_readiness;

pub use live_list::LiveList;
pub(crate) use live_list::{Outline, Slot};
pub use live_readiness::ReadyTask;
