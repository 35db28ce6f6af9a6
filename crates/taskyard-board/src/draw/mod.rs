//! Drawing. Begin at `frame.rs`. What is shown is decided in `app`; drawing only records where items are, for the
//! mouse.

mod bars;
mod frame;
mod overlays;
mod rows;
mod tasks;
mod views;

pub(super) use frame::draw;
