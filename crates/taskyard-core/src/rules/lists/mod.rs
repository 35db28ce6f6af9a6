//! Which list is meant, and whose word a file is.

pub mod list_choice;
pub mod own_list;
pub mod ownership;
pub mod todos;
