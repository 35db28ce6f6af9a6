//! What the documents name is there: source files, pages, commands, flags, variables, error codes and JSON keys.

mod codes;
mod commands;
mod keys;
mod links;
mod page;
mod sources;
mod variables;
