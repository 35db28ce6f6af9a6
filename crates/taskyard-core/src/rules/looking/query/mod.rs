//! The query language for tasks: `status:pending tag:db not tag:old older:2d "exact words"`. Begin with
//! `query_parsing.rs`.
//!
//! A query is parsed once ([`Query::parse`], [`Query::of_arguments`]) and then evaluated for each task. It accesses
//! neither the list nor the clock: the caller provides them through [`Surroundings`].

mod query_condition;
pub(crate) mod query_matching;
mod query_parsing;
#[cfg(test)]
mod query_tests;
mod query_tokens;

pub(crate) use query_condition::Needle;
pub use query_condition::Query;
pub use query_matching::{ListSurroundings, Surroundings, Times};
pub use query_parsing::{FIELDS, is_keyword};
pub use query_tokens::Mistake;

pub use crate::rules::looking::ordering::{SortKey, SortOrder, UnknownSortKey};
