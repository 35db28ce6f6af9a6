//! A program that offers a list of its own to an agent, over the Model Context Protocol on standard input and output.
//!
//! `cargo run -p taskyard-mcp --example embedded`, or as the command of a server in an agent's configuration.

use std::error::Error;
use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::operations::NewTask;
use taskyard::store::MemoryStore;
use taskyard_mcp::{Hub, Options, serve_stdio};

fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let yard = Yard::new(store, ListId::new("rocket")?, AgentName::new("host")?);
    // A task that the host has for its agents: the host goes on working with the same yard while they do.
    yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?;
    serve_stdio(Hub::over(yard, Options::default()))?;
    Ok(())
}
