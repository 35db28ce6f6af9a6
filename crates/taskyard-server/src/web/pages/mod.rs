//! The pages that a browser shows: drawn here, from the same models as the board in the terminal, whole or in those parts that have
//! changed. Nothing is changed here; what people do goes through the API.

mod agents;
mod answering;
mod assets;
mod card;
mod charts;
mod columns;
mod graph;
mod history;
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
mod task_facts;
mod texts;
mod truth;

pub(crate) use answering::{go_home, page};
pub(crate) use assets::{ASSETS, asset, icon, is_style};
pub(crate) use layout::{closed, opening, problem};
pub(crate) use page_address::ROUTES;
