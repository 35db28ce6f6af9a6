//! The web server: pages for people, a JSON API for programs, events, metrics, and the tools for agents (`taskyard-mcp`) over HTTP.
//!
//! A program that serves a store is a [`Host`]: it says what is served ([`Served`]), and the server does the rest. It listens on a port
//! ([`Server`]), encrypts ([`Tls`]), lets in who shows a token ([`tokens`]) or opens a link, and answers. A request names its list and its
//! agent; it calls one operation of the library and gets the answer that `--json` prints, too.
//!
//! `examples/own_server.rs` serves a list in memory.
//!
//! The server never reads flags or the environment, prints nothing, and takes no signals but SIGHUP, upon which the configuration and the
//! certificate are read anew. What is answered is described by `/api/v1/openapi.json` and `docs/web.md`; why it is done so is
//! `docs/design/web.md`.

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
