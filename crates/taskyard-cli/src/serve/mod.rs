//! The HTTP server: where it listens, over how many connections, and how it ends. What it answers is found elsewhere (`mcp/`, `web/`).

mod accepting;
mod first_bytes;
mod listening;
mod running;
mod tls;
mod write_deadline;

pub(crate) use listening::{Listening, Terms};
pub(crate) use tls::Tls;
