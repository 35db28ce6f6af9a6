//! The HTTP server: where it listens, who may come in, and how it ends. What it answers is found elsewhere (`mcp/`).

mod accepting;
mod connections;
mod first_bytes;
mod guard;
mod listening;
mod token;

pub(crate) use listening::Listening;
pub(crate) use token::Token;
