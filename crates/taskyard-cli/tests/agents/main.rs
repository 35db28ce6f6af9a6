//! Agents through the binary: MCP, real clients, messages, jobs, `work`, and what the seeds say.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod jobs;
mod mcp;
mod messages;
mod plugin;
mod real_client;
mod seeds;
mod stdio;
mod working;
