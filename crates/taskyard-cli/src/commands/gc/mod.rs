//! `taskyard gc`: everything that is old and promised to nobody goes.

mod command;
mod litter;
mod swept;

pub(super) use command::Gc;
