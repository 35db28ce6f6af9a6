//! The agents' door: the tools, resources and prompts of the Model Context Protocol, over stdio and over HTTP.
//!
//! What tools are and what they answer is the core's business, and calling them the library's; here calls come in, find who
//! makes them and on which list, run beside each other, and their answers go out. No web page is served here.

mod admission;
mod agents_told;
mod caller;
mod calling;
mod connection;
mod http;
mod hub;
mod identity;
mod jobs_told;
mod lines;
mod log_level;
mod mail;
mod messages;
mod news;
mod notifying;
mod options;
mod prompts;
mod repeats;
mod resources;
mod roots;
mod served_list;
mod sessions;
mod stdio;
mod telling;
mod tool_list;
mod workers;

pub(crate) use http::answering;
pub(crate) use hub::Hub;
pub(crate) use options::{Leases, Options};
pub(crate) use stdio::serve_stdio;
