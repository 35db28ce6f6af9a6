//! The agents' door: the tools, resources and prompts of the Model Context Protocol, over stdio and over HTTP.
//!
//! What tools are and what they answer is the core's business, and calling them the library's; here calls come in, find who
//! makes them and on which list, run beside each other, and their answers go out. No web page is served here.
//!
//! A program that has a list to offer serves it in a few lines. Over a pipe to the one client that started it:
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
//! Over HTTP [`answering`] is a service of `axum`, to be put under a path of the program's own:
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
//! It answers requests for this machine's loopback names and addresses, from programs and from pages of those hosts; [`answering_to`] takes
//! further [`Hosts`]. Which callers are let in is for the program to decide before a request gets here: it may put an [`Access`] into the
//! extensions of a request, which limits the tools and ends with the caller's right. Claims live for a time that every call begins anew; those
//! of an agent that is named after its session end with the session. A program that serves more than one list, or jobs and hooks with it, is
//! a [`Host`].

mod admission;
mod announced_jobs;
mod caller;
mod calling;
pub mod calls;
mod connection;
mod error;
mod host;
mod hosts;
mod http;
mod hub;
mod id_scanner;
mod identity;
mod lines;
mod log_level;
mod mail;
mod mailed_agents;
mod messages;
mod news;
mod notifying;
mod options;
mod prompts;
mod resources;
mod response_end;
mod roots;
mod served_list;
pub mod serving;
mod sessions;
mod stdio;
mod telling;
mod tool_list;

pub use caller::Access;
pub use error::ServeError;
pub use host::{Host, Names, ServedJobs, Surroundings, Unserved};
pub use hosts::Hosts;
pub use http::{answering, answering_to};
pub use hub::Hub;
pub use options::{Leases, Options};
pub use response_end::{at_the_end, drop_at_the_end};
pub use stdio::serve_stdio;

/// The examples of the page about embedding compile: here, because this crate has a runtime for the async one.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingPage;
