//! What Taskyard remembers of this machine as a whole, in `<data>/machine.sqlite`: which list a directory is bound to.

mod bindings;
mod database;

pub use bindings::Binding;
pub use database::{Machine, MachineError};
