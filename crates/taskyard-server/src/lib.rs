//! The web server: pages for people, a JSON API for programs, events, metrics, and the MCP tools for agents
//! (`taskyard-mcp`) over HTTP.
//!
//! The program that runs the server implements [`Host`], which supplies what to serve ([`Served`]). The server
//! listens on a port ([`Server`]), encrypts ([`Tls`]), authenticates clients by a token ([`tokens`]) or a link, and
//! answers. A request names a list and an agent, calls one operation of the library and returns the same answer that
//! `--json` prints.
//!
//! `examples/own_server.rs` serves a list in memory.
//!
//! The server never reads flags or the environment, prints nothing, and handles no signal but SIGHUP, on which it
//! reloads the configuration and the certificate. The API is described by `/api/v1/openapi.json` and `docs/web.md`,
//! and the design by `docs/design/web.md`.

mod connections;
mod public_url;
mod serve;
pub mod tokens;
mod web;

pub use public_url::PublicUrl;
pub use serve::{Server, ServerTerms, Tls};
pub use taskyard_jobs::{Cancel, JobOptions, Jobs};
pub use taskyard_mcp::Hub;
pub use web::{BeforeWriting, Host, Served};
