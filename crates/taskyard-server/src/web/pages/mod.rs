//! The pages shown in a browser, rendered from the same models as the terminal board, completely or in parts. Begin
//! with `seen.rs` and `layout.rs`. Pages change nothing; user actions go through the API.

mod agents;
mod answering;
mod assets;
mod card;
mod charts;
mod columns;
mod framed_graph;
mod graph;
mod history;
mod job_output;
mod jobs;
mod keys;
mod layout;
mod lists;
mod messages;
mod page_address;
mod searching;
mod seen;
mod table;
mod task;
mod texts;
mod truth;

pub(crate) use answering::{go_home, page};
pub(crate) use assets::{ASSETS, asset, icon, is_style};
pub(crate) use layout::{closed, opening, problem};
pub(crate) use page_address::ROUTES;
