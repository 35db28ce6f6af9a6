//! The MCP server through the binary: what official clients see of it, what it keeps, and what it withstands.

mod background;
mod balanced;
mod client;
mod clients;
mod conformance;
mod dialects;
mod flooding;
mod fuzzing;
mod generations;
mod guarding;
mod http;
mod identity;
mod leases;
mod listing;
mod load;
mod many_servers;
mod messages;
mod newer;
mod notices;
mod notifications;
mod noting;
mod passing_messages;
#[path = "../../../../taskyard-mcp/tests/tools/conformance/recording.rs"]
#[allow(dead_code, reason = "shared with the tests of the library, which read more of it")]
mod recording;
mod repeating;
mod resources;
mod same_answers;
mod scopes;
mod sessions;
mod short_sessions;
mod special_files;
mod subagents;
mod usage;
mod waiting;
