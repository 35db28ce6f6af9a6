//! `taskyard mcp`, and what its server serves.

use std::fs::File;
use std::io;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Args, ValueEnum};
use taskyard::Error;
use taskyard::config::WhenUnset;
use taskyard::core::rules::hooks::{System, system_when_interactive, system_when_not_interactive, yes_or_no};
use taskyard::core::rules::lists::Reason;
use taskyard::core::timing::TimeZone;
use taskyard::core::tools::ToolSet;
use taskyard::core::tools::task_output::longest_output;
use taskyard::core::{AgentName, ClientVersion, Rules};
use taskyard::liveness::serve_client;
use taskyard::opening::Address;
use taskyard::process::Cancel;
use taskyard::todos::TodoLists;
use taskyard_jobs::processes;
use taskyard_mcp::calls::{SharedConnection, Transcripts};
use taskyard_mcp::{Host, Hub, Leases, Names, Options, ServedJobs, Surroundings, Unserved, serve_stdio};

use crate::context::Context;
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::Output;
use crate::places;

/// Serve the list to an agent: the Model Context Protocol on standard input and output
///
/// Agents start this themselves. Their claims last while it runs, and one minute longer.
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
            output.warn("this is a server for programs: agents start it themselves; press Ctrl-D to end it")?;
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
        Ok(if processes::was_stopped() { Exit::Stopped } else { Exit::Done })
    }
}

impl Offer {
    /// Returns the server's options.
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
            // Disabling tasks overrides any dialect.
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

/// Returns whether a person uses the client. This cannot be determined reliably from here, so it is assumed unless
/// configured otherwise.
fn is_for_a_person(context: &Context) -> Result<bool, Problem> {
    Ok(match context.config()?.when_unset() {
        None | Some(WhenUnset::Tasks) => true,
        Some(WhenUnset::Todos) => false,
        // The server's own stdin and stdout are always pipes.
        Some(WhenUnset::Auto) => !context.environment().is_automation && File::open("/dev/tty").is_ok(),
    })
}

/// Returns whether the agent that the server was started for is in a team.
fn is_in_a_team(context: &Context) -> bool {
    let (Ok(teams), Ok(actor)) = (context.teams(), context.actor()) else { return false };
    context.named_agent().is_some() && teams.only_seat(&actor).is_ok_and(|seat| seat.is_some())
}

/// The context in which a server was started. A client may later report another directory.
#[derive(Debug)]
struct ContextHost {
    origin: Mutex<Context>,
    options: Options,
}

impl Host for ContextHost {
    fn surroundings(&self, directory: &Path) -> Result<Surroundings, Unserved> {
        let origin = self.origin.lock().unwrap_or_else(PoisonError::into_inner).in_directory(directory.to_owned());
        surroundings(&origin, self.options).map_err(|problem| {
            let report = problem.report();
            Unserved { message: report.message.clone(), hint: report.hint.clone() }
        })
    }

    fn name_client(&self) -> Option<AgentName> {
        let origin = self.origin.lock().unwrap_or_else(PoisonError::into_inner);
        origin.client_process()?;
        let named = origin.choice().and_then(|choice| origin.name_client(&choice.list));
        if let Err(problem) = named {
            tracing::debug!(why = problem.report().message, "the name of the client is not written down");
        }
        origin.session_agent()
    }
}

/// Opens the hub on the context's list.
pub(crate) fn open_hub(context: Context, options: Options, cancel: Cancel) -> Result<Hub, Problem> {
    let here = surroundings(&context, options)?;
    // Only validates the name: an agent without a name gets a better one than the user's.
    context.actor()?;
    let named = |name: Option<&str>| name.and_then(|name| AgentName::new(name).ok());
    let names = Names {
        agent: named(context.named_agent()),
        // A client that names no session may resume one and take its name.
        session_agent: match (context.client_process(), &context.environment().client_session) {
            (Some(_), session) => session.as_ref().and_then(|_| context.session_agent()),
            (None, _) => named(context.environment().session_agent.as_deref()),
        },
        session: context.environment().client_session.clone(),
    };
    let host = ContextHost { origin: Mutex::new(context), options };
    Ok(Hub::open(Arc::new(host), here, names, options, cancel))
}

/// Collects what the server needs from a context.
fn surroundings(context: &Context, options: Options) -> Result<Surroundings, Problem> {
    let jobs = ServedJobs {
        jobs: context.shared_jobs()?,
        longest_output: longest_output(context.environment().longest_output.as_deref()),
        store: context.address()?.clone(),
        session: context.environment().client_session.clone(),
    };
    if options.runs_commands
        && let Err(problem) = context.let_children_in()
    {
        tracing::warn!(why = problem.report().message, "other machines are not told of the jobs that agents start");
    }
    let yard = context.yard()?;
    // A server started by `work` belongs to its run, but the clients of an HTTP server do not.
    let yard = if options.leases == Leases::Time { yard.in_run(None) } else { yard };
    Ok(Surroundings {
        yard,
        directory: context.directory().ok().map(Path::to_owned),
        follows_team: !is_said(context.choice()?.reason),
        own_list: context.list_of_directory().ok().map(|own| own.list),
        config: context.config()?.clone(),
        hooks: Some(Arc::clone(context.hooks()?)),
        jobs: Some(jobs),
        notices: context.notices()?,
        claim_limit: context.claim_limit()?,
        todos: todo_lists(context, options)?,
        zone: TimeZone::system(),
        shared: shared_connection(context, options).map(Arc::new),
        client: context.client_process().filter(|_| options.leases == Leases::Connection).cloned(),
    })
}

/// Returns how to distinguish the agents of a client that share one pipe. HTTP clients may be on another machine, and
/// the client's own rules do not support claims by subagents.
fn shared_connection(context: &Context, options: Options) -> Option<SharedConnection> {
    if options.leases != Leases::Connection || context.rules().ok()?.is_client() {
        return None;
    }
    let environment = context.environment();
    let client = places::client_config(environment).ok()?;
    let directories = [
        context.directory().ok().map(Path::to_owned),
        environment.client_project.clone(),
        std::env::current_dir().ok(),
    ];
    let directories: Vec<PathBuf> = directories.into_iter().flatten().collect();
    Some(SharedConnection::new(Transcripts::new(&client, environment.client_session.clone(), &directories)))
}

/// Returns whether the user named the list explicitly.
fn is_said(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Flag
            | Reason::TaskyardList
            | Reason::ClientList
            | Reason::Settings
            | Reason::Config
            | Reason::ConfiguredSession
    )
}

/// Returns the todo lists: those of the session if it is known, beside the client's own under the rules of 2.1.34,
/// otherwise in memory.
fn todo_lists(context: &Context, options: Options) -> Result<TodoLists, Problem> {
    let session = context.environment().client_session.as_deref().filter(|_| options.leases == Leases::Connection);
    let rules = context.rules()?;
    let (Some(session), Ok(todos)) = (session, context.todos()) else { return Ok(TodoLists::in_memory()) };
    let lists = TodoLists::served(todos, session, rules);
    if rules == Rules::Client(ClientVersion::V2_1_34) && options.system == System::Todos {
        lists.of(context.named_agent().unwrap_or(session)).begin().map_err(Error::from)?;
    }
    Ok(lists)
}
