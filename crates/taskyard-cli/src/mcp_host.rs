//! What an MCP server of this program serves: the list that a context leads to, and what belongs to it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::Error;
use taskyard::core::rules::hooks::gate::System;
use taskyard::core::rules::lists::list_choice::Reason;
use taskyard::core::timing::TimeZone;
use taskyard::core::tools::task_output::longest_output;
use taskyard::core::{AgentName, ClientVersion, Rules};
use taskyard::process::Cancel;
use taskyard::todos::TodoLists;
use taskyard_mcp::calls::{SharedConnection, Transcripts};
use taskyard_mcp::{Host, Hub, Leases, Names, Options, ServedJobs, Surroundings, Unserved};

use crate::context::Context;
use crate::places;
use crate::problem::Problem;

/// The context a server was started in. A client may say later that its work is elsewhere.
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

/// Opens the list a context leads to.
pub(crate) fn open_hub(context: Context, options: Options, cancel: Cancel) -> Result<Hub, Problem> {
    let here = surroundings(&context, options)?;
    // Asked for its complaint only: without a name there is a better one than the user's for an agent.
    context.actor()?;
    let named = |name: Option<&str>| name.and_then(|name| AgentName::new(name).ok());
    let names = Names {
        agent: named(context.named_agent()),
        // A client that names no session may resume one, whose name it then has.
        session_agent: match (context.client_process(), &context.environment().client_session) {
            (Some(_), session) => session.as_ref().and_then(|_| context.session_agent()),
            (None, _) => named(context.environment().session_agent.as_deref()),
        },
        session: context.environment().client_session.clone(),
    };
    let host = ContextHost { origin: Mutex::new(context), options };
    Ok(Hub::open(Arc::new(host), here, names, options, cancel))
}

/// Looks up what a context leads to.
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
    // `work` may have started the server, but not the callers of a server over HTTP.
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

/// Returns what tells the client's agents apart that call over one pipe. A caller over HTTP may be on another machine,
/// and the client's own rules know of no claims by subagents.
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

/// Tells whether the user said in so many words which list it is.
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

/// Returns where todo lists are kept: under the rules of 2.1.34 beside the client's own, if the session is known; else in memory.
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
