//! The MCP server: tools, resources and prompts of the Model Context Protocol, over stdio and HTTP.
//!
//! The core crate defines the tools and their answers, and the library executes them. This crate receives calls,
//! determines their agent and list, runs them concurrently and sends the answers. It serves no web pages.
//!
//! A program with a list can serve it in a few lines. Over a pipe, to the one client that started it:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use taskyard::Yard;
//! use taskyard::core::{AgentName, ListId, Rules};
//! use taskyard::store::MemoryStore;
//! use taskyard_mcp::{Hub, Options, serve_stdio};
//!
//! let store = Arc::new(MemoryStore::new(Rules::Strict));
//! let yard = Yard::new(store, ListId::new("rocket")?, AgentName::new("host")?);
//! serve_stdio(Hub::over(yard, Options::default()))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Over HTTP, [`answering`] is an `axum` service, to be mounted at a path of the program:
//!
//! ```no_run
//! # async fn serve(hub: taskyard_mcp::Hub) -> std::io::Result<()> {
//! let stop = tokio_util::sync::CancellationToken::new();
//! let routes = axum::Router::new().nest_service("/mcp", taskyard_mcp::answering(hub, stop));
//! let socket = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
//! axum::serve(socket, routes).await
//! # }
//! ```
//!
//! It answers requests for this machine's loopback names and addresses, from programs and from web pages of those
//! hosts; [`answering_to`] accepts further [`Hosts`]. The program decides which callers to admit before a request gets
//! here: it may put an [`Access`] into the extensions of a request, which limits the tools and ends sessions when the
//! caller's access ends. Claims expire by time, and every call renews them; the claims of an agent that is named after
//! its session end with the session. A program that serves several lists, or jobs and hooks, implements [`Host`].

mod calling;
pub mod calls;
mod connection;
mod host;
mod http;
mod http_admission;
mod hub;
mod json_rpc;
mod news;
mod resources_and_prompts;
mod served_list;
pub mod serving;
mod stdio;

pub use host::{Host, Leases, Names, Options, ServeError, ServedJobs, Surroundings, Unserved};
pub use http::{answering, answering_to};
pub use http_admission::{Hosts, at_the_end, drop_at_the_end};
pub use hub::Hub;
pub use served_list::Access;
pub use stdio::serve_stdio;

/// Compiles the examples in the page about embedding: here, because this crate has a runtime for the async one.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingPage;
