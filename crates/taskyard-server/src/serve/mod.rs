//! The HTTP server: where it listens, over how many connections, and how it ends. What it answers is found elsewhere (`taskyard-mcp`, `web/`).

mod accepting;
mod first_bytes;
mod listening;
mod running;
mod tls;
mod write_deadline;

pub use listening::{Server, ServerTerms};
pub use tls::Tls;
