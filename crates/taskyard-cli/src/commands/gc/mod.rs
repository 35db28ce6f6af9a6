//! `taskyard gc`: everything that is old and no longer promised goes.

mod command;
mod dead_todos;
mod litter;
mod swept;

pub(super) use command::Gc;
