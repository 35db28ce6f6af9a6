//! Todo lists: one for each agent, always replaced as a whole. They have no journal and no locks; the client has none either.

mod error;
mod file;
mod list;
mod lists;

pub use error::TodoError;
pub use list::{Replaced, TodoList};
pub use lists::TodoLists;
