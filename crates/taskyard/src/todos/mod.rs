//! Todo lists: one for each agent, always replaced as a whole. They have no journal and no locks; the client has none either.
//!
//! Where they are kept is behind [`Todos`]: the client's own files, or memory.

mod contract;
mod error;
mod files;
mod list;
mod lists;
mod memory;

pub use contract::{TodoOwner, Todos};
pub use error::TodoError;
pub(crate) use error::TodoFileError;
pub use files::FileTodos;
pub use list::{Replaced, TodoList};
pub use lists::TodoLists;
pub use memory::MemoryTodos;
