//! Everything served over HTTP: pages for people, a JSON API for programs, events and metrics. Begin with
//! `routes.rs`; `serve/` listens and accepts connections.

mod api;
mod call;
mod compression;
mod delivery;
mod entering;
mod events;
mod host;
mod letters;
mod metrics;
mod openapi;
mod pages;
mod pasts;
mod paths;
mod routes;
pub(crate) mod security;
mod site;
mod tally;

pub(crate) use compression::compressed;
pub(crate) use delivery::Unsent;
pub(crate) use entering::{Peer, let_in};
pub use host::{BeforeWriting, Host, Served};
pub(crate) use routes::routes;
pub(crate) use site::{Entrance, Site};
