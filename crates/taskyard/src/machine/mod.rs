//! What Taskyard remembers of this machine as a whole, in `<data>/machine.sqlite`: which list a directory is bound
//! to, and which directories may run commands of their own.

mod bindings;
mod database;
mod trust;

pub use bindings::Binding;
pub use database::{Machine, MachineError};
