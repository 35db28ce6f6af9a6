//! The one language in which tasks are chosen: `status:pending tag:db not tag:old older:2d "exact words"`.
//!
//! A query is read once ([`Query::parse`], [`Query::of_arguments`]) and then asked of one task after the other. It
//! knows no list and no clock: the caller tells it through [`Surroundings`] what it has to know beside a task.

mod condition;
mod marking;
mod matching;
mod mistake;
mod parsing;
mod sorting;
mod terms;
mod texts;
mod tokens;

pub use condition::Query;
pub use matching::{ListSurroundings, Surroundings, Times};
pub use mistake::Mistake;
pub use sorting::{SortKey, SortOrder, UnknownSortKey};
pub use terms::{FIELDS, is_keyword};
pub(crate) use texts::Needle;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
