//! Listing, sorting, searching and summarizing tasks. Begin with `listing.rs`; `query` is the query language.

pub mod listing;
pub mod ordering;
pub mod past;
pub mod query;
pub mod searching;
pub mod statistics;
