//! `taskyard mcp`

use std::fs::File;
use std::io::{self, IsTerminal as _};

use clap::{Args, ValueEnum};
use taskyard::config::WhenUnset;
use taskyard::core::rules::hooks::gate::{System, system_when_interactive, system_when_not_interactive, yes_or_no};
use taskyard::core::tools::ToolSet;
use taskyard::liveness::serve_client;
use taskyard::opening::Address;
use taskyard_mcp::{Leases, Options, serve_stdio};

use crate::context::Context;
use crate::exit::Exit;
use crate::mcp_host::open_hub;
use crate::output::Output;
use crate::problem::{Problem, ProblemKind};
use taskyard_jobs::signals;

/// Serve the list to an agent: the Model Context Protocol on standard input and output
///
/// Agents start this themselves. Their claims last as long as it runs, and a minute longer.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(flatten)]
    offer: Offer,
}

/// What a server offers to agents.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Offer {
    /// Which tools to offer
    #[arg(long, value_name = "SET", default_value = "core")]
    tools: Tools,

    /// Which dialect's tool names and texts to use; a document or teaching folder has its own
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<Dialect>,

    /// Add structured content to the text of answers; most clients then show the model the structure alone
    #[arg(long)]
    structured: bool,

    /// Offer TaskRun, with which agents run commands in the background on this machine
    #[arg(long)]
    allow_exec: bool,
}

/// The words that tools speak in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// Claude Code's own
    Native,
    /// TaskCreate with dependencies, TaskUpdate with notes, TaskList answering a JSON array
    Export,
}

/// The sets of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tools {
    /// Those every agent needs
    Core,
    /// All there are
    All,
    /// Exactly those of Claude Code itself
    Client,
    /// Only TaskClaim and TaskRelease, beside Claude Code's own tools on the same list
    Claims,
}

impl Mcp {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if io::stdin().is_terminal() {
            output.warn("this speaks to programs: agents start it themselves; end it with Ctrl-D")?;
        }
        let project = context.environment().client_project.clone().filter(|project| project.is_dir());
        let directory = project.map_or_else(|| context.directory().map(ToOwned::to_owned), Ok)?;
        let options = self.offer.options(context, Leases::Connection)?;
        if let Some(client) = context.client_process() {
            serve_client(client.clone());
        }
        let cancel = context.cancel();
        let _caretaker = context.caretaker();
        let served =
            serve_stdio(open_hub(context.in_directory(directory).naming_client_later(), options, cancel.clone())?);
        served.map_err(|error| Problem::new(ProblemKind::CouldNot, "mcp", error.to_string()))?;
        Ok(if signals::was_stopped() { Exit::Stopped } else { Exit::Done })
    }
}

impl Offer {
    /// Returns what the server is to offer.
    pub(crate) fn options(self, context: &Context, leases: Leases) -> Result<Options, Problem> {
        let has_teams = context.environment().client_teams == Some(true);
        let tools = match self.tools {
            Tools::Core if is_in_a_team(context) => ToolSet::Team,
            Tools::Core => ToolSet::Core,
            Tools::All if context.rules()?.is_client() && !has_teams && !is_in_a_team(context) => ToolSet::AllAlone,
            Tools::All => ToolSet::All,
            Tools::Client if has_teams => ToolSet::ClientTeam,
            Tools::Client => ToolSet::Client,
            Tools::Claims if is_in_a_team(context) => ToolSet::ClaimsTeam,
            Tools::Claims => ToolSet::Claims,
        };
        let said = context.environment().client_enables_tasks.as_deref();
        let is_off = said.and_then(yes_or_no) == Some(false);
        let system = match (self.dialect, context.address()?) {
            // A user who has switched tasks off has no tasks in any dialect.
            _ if is_off => System::Todos,
            (Some(Dialect::Export), _) => System::Export,
            (None, Address::Documents | Address::Document(_)) => System::Document,
            (None, Address::Teaching(_)) => System::Teaching,
            (Some(Dialect::Native) | None, _) if is_for_a_person(context)? => system_when_interactive(said),
            (Some(Dialect::Native) | None, _) => system_when_not_interactive(said),
        };
        Ok(Options { tools, system, structured: self.structured, leases, runs_commands: self.allow_exec })
    }
}

/// Tells whether a person sits before the client, as far as the configuration has that matter. It cannot be told from here for sure, so
/// that it is assumed unless something else is configured.
fn is_for_a_person(context: &Context) -> Result<bool, Problem> {
    Ok(match context.config()?.when_unset() {
        None | Some(WhenUnset::Tasks) => true,
        Some(WhenUnset::Todos) => false,
        // The server's own input and output are pipes in any case.
        Some(WhenUnset::Auto) => !context.environment().is_automation && File::open("/dev/tty").is_ok(),
    })
}

/// Tells whether the agent the server is started for is in a team.
fn is_in_a_team(context: &Context) -> bool {
    let (Ok(teams), Ok(actor)) = (context.teams(), context.actor()) else { return false };
    context.named_agent().is_some() && teams.only_seat(&actor).is_ok_and(|seat| seat.is_some())
}
