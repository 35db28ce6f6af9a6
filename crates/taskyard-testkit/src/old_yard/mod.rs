//! Yards as earlier releases left them: everything in them was written by that release (`fixtures/README.md`).

mod list;
mod moving;
mod packing;
mod rows;
mod yard;

pub use list::{OldEntry, OldList};
pub use packing::pack;
pub use rows::Rows;
pub use yard::OldYard;
