//! A program that serves a list of its own: pages for people, the API for programs, and tools for agents.
//!
//! `cargo run -p taskyard-server --example own_server DIRECTORY` keeps its tokens in a directory and prints a link.

use std::env::args_os;
use std::error::Error;
use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::problem::Problem;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::opening::{Address, Opened, Places};
use taskyard::operations::NewTask;
use taskyard::store::MemoryStore;
use taskyard_mcp::Options;
use taskyard_server::tokens::ServerToken;
use taskyard_server::{Cancel, Host, Hub, Jobs, Served, Server, ServerTerms};

/// The list that is served, and where the server keeps what it has to remember.
#[derive(Debug)]
struct Rocket {
    store: Arc<MemoryStore>,
    list: ListId,
    host: AgentName,
    data: PathBuf,
}

impl Host for Rocket {
    fn served(&self, _before: Option<&Served>) -> Result<Served, Problem> {
        let places = Places { data: Some(self.data.clone()), ..Places::default() };
        let opened = Opened::with_this_machines(Arc::clone(&self.store) as _, &Address::Memory, &places);
        Ok(Served::new(opened, Address::Memory, places, self.list.clone(), self.host.clone()))
    }

    fn list_of_member(&self, _agent: &AgentName) -> Result<ListId, Problem> {
        Ok(self.list.clone())
    }

    fn let_children_in(&self) -> Result<(), Problem> {
        Ok(())
    }

    fn reopen_tasks_everywhere(&self, _jobs: &Jobs) -> Result<(), Problem> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let data = PathBuf::from(args_os().nth(1).ok_or("name a directory for the tokens")?);
    let store = Arc::new(MemoryStore::new(Rules::Strict));
    let rocket =
        Rocket { store: Arc::clone(&store), list: ListId::new("rocket")?, host: AgentName::new("host")?, data };
    let yard = Yard::new(store, rocket.list.clone(), rocket.host.clone());
    yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?;
    let token = ServerToken::load_or_make(&rocket.data).map_err(|problem| problem.report().message.clone())?;
    let data = rocket.data.clone();
    let terms = ServerTerms {
        address: ([127, 0, 0, 1], 0).into(),
        tls: None,
        names: Vec::new(),
        public_url: None,
        token,
        data: &data,
        runs_commands: false,
    };
    let server =
        Server::open(Arc::new(rocket), terms, Cancel::new()).map_err(|problem| problem.report().message.clone())?;
    writeln!(stdout(), "{}", server.link().map_err(|problem| problem.report().message.clone())?)?;
    server.serve(Hub::over(yard, Options::default())).map_err(|problem| problem.report().message.clone())?;
    Ok(())
}
