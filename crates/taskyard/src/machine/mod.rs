//! What Taskyard remembers of this machine as a whole, in `<data>/machine.sqlite`: which list a directory is bound
//! to, which directories may run commands of their own, and what was added to the configuration of agents.

mod bindings;
mod database;
mod setups;
mod trust;

pub use bindings::Binding;
pub use database::{Machine, MachineError};
