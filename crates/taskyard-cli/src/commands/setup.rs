//! `taskyard setup`

use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use taskyard::core::answers::setup::{AgentFailed, AgentSetUp, AgentSetUpOrFailed, AgentsSetUp, SkippedAgent};
use taskyard::core::answers::words::{SetupScope, SkipReason};
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::lists::list_choice::SESSION;
use taskyard_setup::{Agent, Plan, Registration, Scope, SetupOptions, Wish, plan, users_own_status_line};

use crate::context::Context;
use crate::displays::agent_setup::{agents_known, change_answer, show, show_standings};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::output::{Output, with_commands};
use crate::places;
use crate::problem::{Problem, exit_of};
use crate::setup_problem::setup_problem;

/// Register Taskyard with an agent
///
/// Adds the MCP server `taskyard mcp` to the agent's own configuration, and nothing else in it changes: comments, order and
/// indentation stay. For Claude Code it also adds the hooks and a skill, and in a project the variable that has its own task
/// tools use the list that people use there. It shows what it adds, asks on a terminal, and changes
/// nothing when everything is there already; --remove restores what was.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = agents(), required_unless_present_any = ["all", "list"])]
    which: Option<Agent>,

    /// Every agent that is installed here; with --remove every agent that knows Taskyard
    #[arg(long, conflicts_with = "which")]
    all: bool,

    // The global flag of this name takes a value, and its value arrives here too; an empty one names no list.
    /// Show which agents are installed here, and which of them know Taskyard
    #[arg(long, num_args = 0, default_missing_value = "", conflicts_with_all = ["all", "remove", "allow_tools"])]
    list: Option<String>,

    /// For you everywhere, or for everybody in this project
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    scope: ScopeWord,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Take it back
    #[arg(long, conflicts_with = "allow_tools")]
    remove: bool,

    /// Let the agent use our tools without asking each time (Claude Code)
    #[arg(long)]
    allow_tools: bool,

    /// Have Claude Code show `taskyard statusline`; a status line that is there stays
    #[arg(long = "statusline", conflicts_with = "remove")]
    status_line: bool,

    /// Do not ask; only a terminal is asked
    #[arg(long, short)]
    yes: bool,
}

/// The scopes one can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScopeWord {
    /// For you, everywhere
    User,
    /// For everybody, in this project
    Project,
}

/// What was done with one agent.
struct Done {
    agent: Agent,
    plan: Plan,
    applied: bool,
}

/// Says why an agent is left out if every one is meant.
const fn skipped_in_words(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::NotFound => "not found here",
        SkipReason::NoSuchScope => "no servers of a project",
        SkipReason::NotRegistered => "nothing of Taskyard there",
    }
}

/// Returns the names of agents, with commas between.
fn names(agents: &[Agent]) -> String {
    agents.iter().map(|agent| agent.name()).collect::<Vec<_>>().join(", ")
}

impl Setup {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let mut options = self.options(context)?;
        let own_line = users_own_status_line(&options).filter(|_| self.status_line && self.scope == ScopeWord::Project);
        if let Some(path) = own_line {
            output.warn(&format!("the status line in `{}` stays: one of the project would hide it", path.display()))?;
            options.status_line = false;
        }
        if self.list.as_deref() == Some("") {
            return self.show_standings(&options, output);
        }
        if let Some(agent) = self.which.filter(|agent| self.allow_tools && *agent != Agent::Claude) {
            let message = format!("--allow-tools is for Claude Code; {} asks in its own way", agent.name());
            return Err(Problem::usage("usage", message).hint("leave --allow-tools out"));
        }
        if let Some(agent) = self.which.filter(|agent| self.status_line && *agent != Agent::Claude) {
            let message = format!("--statusline is for Claude Code; {} has none that we know", agent.name());
            return Err(Problem::usage("usage", message).hint("leave --statusline out"));
        }
        let data = places::data(context.environment())?;
        let exit = match self.which {
            Some(agent) => {
                let done = self.set_up(agent, &options, &data, output)?;
                if output.is_json() {
                    output.document(self.answer(&done))?;
                }
                Exit::Done
            }
            None => self.set_up_all(&options, &data, output)?,
        };
        if !self.remove && !self.dry_run && !is_on_path(context.environment()) {
            output.warn("agents start `taskyard` by its name, and it is not on your PATH")?;
        }
        Ok(exit)
    }

    /// Sets every agent up that is there, and says which it found and which it skipped. What goes wrong with one is said, and the others
    /// are still set up.
    fn set_up_all(&self, options: &SetupOptions, data: &Path, output: &mut Output) -> Result<Exit, Problem> {
        let judged = Agent::ALL.map(|agent| (agent, self.skipped(agent, options)));
        let agents: Vec<Agent> = judged.iter().filter(|(_, why)| why.is_none()).map(|(agent, _)| *agent).collect();
        if !agents.is_empty() && !output.is_json() {
            output.say(&Line::plain(&format!("Found {}", names(&agents))))?;
        }
        if agents.is_empty() && !output.is_json() {
            let text = if self.remove { "No agent knows Taskyard" } else { "No agent was found here" };
            output.say(&Line::plain(text))?;
            output.advise("see the agents it looks for with `taskyard setup --list`")?;
        }
        let mut answers = Vec::new();
        let mut exit = Exit::Done;
        for agent in agents {
            match self.set_up(agent, options, data, output) {
                Ok(done) => answers.push(AgentSetUpOrFailed::SetUp(self.answer(&done))),
                Err(problem) => {
                    let error = problem.report().clone();
                    let failed = AgentFailed { agent: agent.word(), name: agent.name(), error };
                    answers.push(AgentSetUpOrFailed::Failed(failed));
                    exit = if output.is_json() { exit_of(problem.report().kind) } else { output.problem(&problem) };
                }
            }
        }
        if output.is_json() {
            let skipped = judged.iter().filter_map(|(agent, why)| Some((agent, (*why)?)));
            let skipped =
                skipped.map(|(agent, reason)| SkippedAgent { agent: agent.word(), name: agent.name(), reason });
            output.document(AgentsSetUp { agents: answers, skipped: skipped.collect() })?;
            return Ok(exit);
        }
        for why in [SkipReason::NotFound, SkipReason::NoSuchScope, SkipReason::NotRegistered] {
            let agents: Vec<Agent> =
                judged.iter().filter(|(_, said)| *said == Some(why)).map(|(agent, _)| *agent).collect();
            if !agents.is_empty() {
                output.say(
                    &Line::new().with(Tone::Dim, &format!("Skipped {}: {}", names(&agents), skipped_in_words(why))),
                )?;
            }
        }
        Ok(exit)
    }

    /// Returns why an agent is left out where every one is meant; `None` if it is not.
    fn skipped(&self, agent: Agent, options: &SetupOptions) -> Option<SkipReason> {
        match agent.registration(self.scope.into(), options) {
            Registration::NoSuchScope => Some(SkipReason::NoSuchScope),
            Registration::Missing if self.remove => Some(SkipReason::NotRegistered),
            _ if self.remove || agent.found(options).is_some() => None,
            _ => Some(SkipReason::NotFound),
        }
    }

    fn set_up(&self, agent: Agent, options: &SetupOptions, data: &Path, output: &mut Output) -> Result<Done, Problem> {
        let scope = self.scope.into();
        let wish = match (self.remove, self.allow_tools && agent == Agent::Claude) {
            (true, _) => Wish::Remove,
            (false, true) => Wish::RegisterAndAllowTools,
            (false, false) => Wish::Register,
        };
        let failed = |error| setup_problem(error, agent, wish);
        let plan = plan(agent, scope, wish, options, data).map_err(failed)?;
        if !output.is_json() {
            for change in &plan.changes {
                show(change, options.home.as_deref(), output)?;
            }
        }
        let wanted = plan.changes_anything() && !self.dry_run;
        let applied = wanted && (self.yes || !output.is_terminal() || output.ask("Write this?")?);
        if applied {
            plan.apply(data).map_err(failed)?;
        }
        let done = Done { agent, plan, applied };
        if !output.is_json() {
            self.conclude(&done, output)?;
        }
        Ok(done)
    }

    fn show_standings(&self, options: &SetupOptions, output: &mut Output) -> Result<Exit, Problem> {
        let agents: Vec<Agent> = self.which.map_or_else(|| Agent::ALL.into(), |agent| vec![agent]);
        if output.is_json() {
            output.document(agents_known(&agents, options))?;
        } else {
            show_standings(&agents, options, output)?;
        }
        Ok(Exit::Done)
    }

    fn conclude(&self, done: &Done, output: &mut Output) -> Result<(), Problem> {
        let name = done.agent.name();
        let text = match (done.plan.changes_anything(), done.applied, self.remove) {
            (false, _, false) => format!("{name} knows Taskyard already; nothing to change"),
            (false, _, true) => format!("{name} has nothing of Taskyard; nothing to remove"),
            (true, false, _) if self.dry_run => "Nothing was changed: this was a dry run".to_owned(),
            (true, false, _) => "Nothing was changed; without asking it is done with --yes".to_owned(),
            (true, true, false) => format!("{name} knows Taskyard from its next start on"),
            (true, true, true) => format!("{name} has nothing of Taskyard any more"),
        };
        output.say(&Line::plain(&text))?;
        if let Some(needed) = done.agent.still_needed(self.scope.into()).filter(|_| !self.remove) {
            output.say(&with_commands(&format!("  {needed}"), Tone::Dim))?;
        }
        if done.applied && !self.remove {
            let reverse = self.reverse(done.agent);
            output.say(&Line::new().with(Tone::Dim, "  take it back with ").with(Tone::Hint, &reverse))?;
        }
        Ok(())
    }

    fn answer(&self, done: &Done) -> AgentSetUp {
        AgentSetUp {
            agent: done.agent.word(),
            name: done.agent.name(),
            scope: match self.scope {
                ScopeWord::User => SetupScope::User,
                ScopeWord::Project => SetupScope::Project,
            },
            applied: done.applied,
            files: done.plan.changes.iter().map(change_answer).collect(),
            still_needed: done.agent.still_needed(self.scope.into()).filter(|_| !self.remove),
        }
    }

    /// Returns the command that undoes this one.
    fn reverse(&self, agent: Agent) -> String {
        let scope = if matches!(self.scope, ScopeWord::Project) { " --scope project" } else { "" };
        format!("taskyard setup {}{scope} --remove", agent.word())
    }

    fn options(&self, context: &Context) -> Result<SetupOptions, Problem> {
        let environment = context.environment();
        let project = match self.scope {
            ScopeWord::Project => context.directory()?,
            ScopeWord::User => context.directory().unwrap_or(Path::new("/")),
        };
        let root = places::repository(project).unwrap_or(project);
        Ok(SetupOptions {
            // A home that does not exist must not come into being by this.
            home: environment.home.clone().filter(|home| home.is_dir()),
            claude_config: environment.client_config.clone(),
            codex_home: environment.codex_home.clone(),
            copilot_home: environment.copilot_home.clone(),
            xdg_config: environment.xdg_config.clone().filter(|path| path.is_absolute()),
            project: root.to_owned(),
            project_list: match self.scope {
                ScopeWord::Project => list_of_project(context, root)?,
                ScopeWord::User => None,
            },
            status_line: self.status_line,
            programs: environment.programs.clone(),
        })
    }
}

/// Returns the list that people work on at the root of the project; none where every session is to have one of its own.
fn list_of_project(context: &Context, root: &Path) -> Result<Option<String>, Problem> {
    let context = context.in_directory(root.to_owned());
    let is_per_session = context.config()?.list().is_some_and(|(list, _)| list == SESSION);
    Ok(if is_per_session { None } else { Some(context.list_of_directory()?.list.directory().to_owned()) })
}

/// Returns what reads the name of an agent.
fn agents() -> impl TypedValueParser<Value = Agent> {
    let words = Agent::ALL.map(|agent| PossibleValue::new(agent.word()).help(agent.name()));
    PossibleValuesParser::new(words).try_map(|word| {
        Agent::ALL.into_iter().find(|agent| agent.word() == word).ok_or("only the words of agents are let through")
    })
}

fn is_on_path(environment: &Environment) -> bool {
    let name = format!("taskyard{}", std::env::consts::EXE_SUFFIX);
    environment.programs.iter().any(|directory| directory.join(&name).is_file())
}

impl From<ScopeWord> for Scope {
    fn from(word: ScopeWord) -> Self {
        match word {
            ScopeWord::User => Self::User,
            ScopeWord::Project => Self::Project,
        }
    }
}
