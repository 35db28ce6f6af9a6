//! The HTTP server: listening, limiting connections, TLS and shutdown. Begin with `listening.rs`. Requests are
//! answered by `taskyard-mcp` and `web/`.

mod accepting;
mod first_bytes;
mod listening;
mod running;
mod tls;
mod write_deadline;

pub use listening::{Server, ServerTerms};
pub use tls::Tls;
