//! Which tasks are shown, in which order, and what is said of them.

pub mod listing;
pub(crate) mod near_words;
pub mod ordering;
pub mod past;
pub mod query;
pub mod searching;
pub mod spent;
pub mod statistics;
pub mod summarizing;
