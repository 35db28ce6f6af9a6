//! `taskyard gc`: everything that is old and promised to nobody goes.

mod command;
mod litter;
mod swept;
mod telling;

pub(super) use command::Gc;
