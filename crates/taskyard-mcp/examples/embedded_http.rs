//! A program that offers a list of its own to agents on this machine, over the Model Context Protocol on HTTP.
//!
//! `cargo run -p taskyard-mcp --example embedded_http` prints where it listens.

use std::error::Error;
use std::io::{Write as _, stdout};
use std::sync::Arc;

use axum::Router;
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::operations::NewTask;
use taskyard::store::MemoryStore;
use taskyard_mcp::{Hub, Options, answering};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let yard = Yard::new(store, ListId::new("rocket")?, AgentName::new("host")?);
    yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?;
    let hub = Hub::over(yard, Options::default());
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let stop = CancellationToken::new();
        // Every program on this machine may call; web pages of other hosts may not. A program that lets only some callers in puts a layer
        // of its own around this.
        let routes = Router::new().nest_service("/mcp", answering(hub, stop.clone()));
        let socket = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(stdout(), "{}", serde_json::json!({ "mcp": format!("http://{}/mcp", socket.local_addr()?) }))?;
        axum::serve(socket, routes).with_graceful_shutdown(stop.cancelled_owned()).await?;
        Ok(())
    })
}
