//! Drawing what the board shows, one file per view. What is drawn is decided elsewhere; the only thing noted here is where things are, for
//! the mouse.

mod agents;
mod canvas;
mod columns;
mod detail;
mod footer;
mod frame;
mod graph;
mod header;
mod help;
mod history;
mod jobs;
mod list;
mod lists;
mod mail;
mod picker;
mod row_facts;
mod rows;
mod said;

pub(super) use frame::draw;
