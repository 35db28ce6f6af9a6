//! `taskyard setup`

use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use taskyard::core::answers::answer_words::{FileOutcome, RegistrationWord, SetupScope, SkipReason};
use taskyard::core::answers::maintenance_answers::{
    AgentFailed, AgentKnown, AgentSetUp, AgentSetUpOrFailed, AgentsKnown, AgentsSetUp, ChangedFile, SkippedAgent,
};
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::lists::SESSION;
use taskyard::problems::advice;
use taskyard_setup::config_edit::{ChangedLine, Unfit};
use taskyard_setup::{
    Agent, Change, Outcome, Plan, Registration, Scope, SetupError, SetupOptions, Wish, plan, users_own_status_line,
};

use crate::context::Context;
use crate::environment::{Environment, HOME};
use crate::exit::{Exit, Problem, ProblemKind, exit_of};
use crate::output::{Output, with_commands};
use crate::places;

/// Register Taskyard with an agent
///
/// Adds the MCP server `taskyard mcp` to the agent's own configuration, and nothing else in it changes: comments, order
/// and indentation stay. For Claude Code it also adds the hooks and a skill, and in a project the variable that makes
/// its own task tools use the project's list. It shows what it adds, asks on a terminal, and changes nothing if
/// everything is registered already; --remove restores the earlier state.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// The agent
    #[arg(value_name = "AGENT", value_parser = agents(), required_unless_present_any = ["all", "list"])]
    which: Option<Agent>,

    /// Every agent installed on this machine; with --remove, every agent it is registered with
    #[arg(long, conflicts_with = "which")]
    all: bool,

    // The global flag of this name takes a value, and its value arrives here too; an empty one names no list.
    /// Show which agents are installed on this machine, and with which Taskyard is registered
    #[arg(long, num_args = 0, default_missing_value = "", conflicts_with_all = ["all", "remove", "allow_tools"])]
    list: Option<String>,

    /// For you everywhere, or for everyone in this project
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    scope: ScopeWord,

    /// Show what would change, without changing it
    #[arg(long)]
    dry_run: bool,

    /// Undo the registration
    #[arg(long, conflicts_with = "allow_tools")]
    remove: bool,

    /// Let the agent use Taskyard's tools without asking each time (Claude Code)
    #[arg(long)]
    allow_tools: bool,

    /// Let Claude Code show `taskyard statusline`; an existing status line is kept
    #[arg(long = "statusline", conflicts_with = "remove")]
    status_line: bool,

    /// Skip the confirmation prompt
    #[arg(long, short)]
    yes: bool,
}

/// The scopes one can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScopeWord {
    /// For you, everywhere
    User,
    /// For everyone, in this project
    Project,
}

/// The result for one agent.
struct Done {
    agent: Agent,
    plan: Plan,
    applied: bool,
}

/// Describes why an agent was skipped by `--all`.
const fn skipped_in_words(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::NotFound => "not found here",
        SkipReason::NoSuchScope => "no project-level servers",
        SkipReason::NotRegistered => "Taskyard is not registered there",
    }
}

fn names(agents: &[Agent]) -> String {
    agents.iter().map(|agent| agent.name()).collect::<Vec<_>>().join(", ")
}

impl Setup {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let mut options = self.options(context)?;
        let own_line = users_own_status_line(&options).filter(|_| self.status_line && self.scope == ScopeWord::Project);
        if let Some(path) = own_line {
            output.warn(&format!(
                "the status line in `{}` was not changed: a project's status line would hide \
                it",
                path.display()
            ))?;
            options.status_line = false;
        }
        if self.list.as_deref() == Some("") {
            return self.show_standings(&options, output);
        }
        if let Some(agent) = self.which.filter(|agent| self.allow_tools && *agent != Agent::Claude) {
            let message = format!("--allow-tools is only for Claude Code, not for {}", agent.name());
            return Err(Problem::usage("usage", message).hint("leave out --allow-tools"));
        }
        if let Some(agent) = self.which.filter(|agent| self.status_line && *agent != Agent::Claude) {
            let message = format!("--statusline is only for Claude Code, not for {}", agent.name());
            return Err(Problem::usage("usage", message).hint("leave out --statusline"));
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
            output.warn("agents start `taskyard` by name, but it is not on your PATH")?;
        }
        Ok(exit)
    }

    /// Sets up every agent found, and reports which were found and skipped. A failure of one is reported and does not
    /// affect the others.
    fn set_up_all(&self, options: &SetupOptions, data: &Path, output: &mut Output) -> Result<Exit, Problem> {
        let judged = Agent::ALL.map(|agent| (agent, self.skipped(agent, options)));
        let agents: Vec<Agent> = judged.iter().filter(|(_, why)| why.is_none()).map(|(agent, _)| *agent).collect();
        if !agents.is_empty() && !output.is_json() {
            output.say(&Line::plain(&format!("Found {}", names(&agents))))?;
        }
        if agents.is_empty() && !output.is_json() {
            let text = if self.remove {
                "Taskyard is not registered with any agent"
            } else {
                "No agents were found on this machine"
            };
            output.say(&Line::plain(text))?;
            output.advise("see the supported agents with `taskyard setup --list`")?;
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

    /// Returns why `--all` skips an agent, or `None` if it does not.
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
            (false, _, false) => format!("Taskyard is already registered with {name}; nothing to change"),
            (false, _, true) => format!("Taskyard is not registered with {name}; nothing to remove"),
            (true, false, _) if self.dry_run => "Nothing was changed (dry run)".to_owned(),
            (true, false, _) => "Nothing was changed; pass --yes to skip the question".to_owned(),
            (true, true, false) => format!("Registered Taskyard with {name}, effective from its next start"),
            (true, true, true) => format!("Removed Taskyard from {name}"),
        };
        output.say(&Line::plain(&text))?;
        if let Some(needed) = done.agent.still_needed(self.scope.into()).filter(|_| !self.remove) {
            output.say(&with_commands(&format!("  {needed}"), Tone::Dim))?;
        }
        if done.applied && !self.remove {
            let reverse = self.reverse(done.agent);
            output.say(&Line::new().with(Tone::Dim, "  undo it with ").with(Tone::Hint, &reverse))?;
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
            // Do not create a home directory that does not exist.
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

/// Returns the list used at the root of the project; `None` if every session has its own.
fn list_of_project(context: &Context, root: &Path) -> Result<Option<String>, Problem> {
    let context = context.in_directory(root.to_owned());
    let is_per_session = context.config()?.list().is_some_and(|(list, _)| list == SESSION);
    Ok(if is_per_session { None } else { Some(context.list_of_directory()?.list.directory().to_owned()) })
}

/// Returns the parser of an agent's name.
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

/// A file that is created or removed is shown in full up to this many lines, otherwise only its beginning.
const LONGEST: usize = 40;
const BEGINNING: usize = 3;

/// Shows a planned change of a file.
pub(crate) fn show(change: &Change, home: Option<&Path>, output: &mut Output) -> Result<(), Problem> {
    let path = in_home(&change.path, home);
    for entry in &change.otherwise {
        let note = Line::new()
            .with(Tone::Strong, &path)
            .with(Tone::Dim, &format!("  {entry} exists in a different form and was not changed"));
        output.say(&note)?;
    }
    if change.outcome == Outcome::Unchanged {
        return Ok(());
    }
    output.say(&Line::new().with(Tone::Strong, &path).with(Tone::Dim, &format!("  {}", change.outcome.as_str())))?;
    let is_whole = matches!(change.outcome, Outcome::Created | Outcome::Removed);
    let shown = if is_whole && change.lines.len() > LONGEST { BEGINNING } else { change.lines.len() };
    for line in &change.lines[..shown] {
        let (tone, mark, text) = match line {
            ChangedLine::Same(text) => (Tone::Dim, "    ", text.as_str()),
            ChangedLine::Added(text) => (Tone::Done, "  + ", text.as_str()),
            ChangedLine::Removed(text) => (Tone::Error, "  - ", text.as_str()),
            ChangedLine::Skipped(_) => (Tone::Dim, "    ", "..."),
        };
        // Tabs are expanded; other control characters are escaped.
        output.say(&Line::new().with(tone, &format!("{mark}{}", text.replace('\t', "    "))))?;
    }
    if shown < change.lines.len() {
        let rest = change.lines.len() - shown;
        output.say(&Line::new().with(Tone::Dim, &format!("    ... {rest} more lines")))?;
    }
    Ok(())
}

/// Returns a planned change of a file, for programs.
pub(crate) fn change_answer(change: &Change) -> ChangedFile {
    let line = |line: &ChangedLine| match line {
        ChangedLine::Same(text) => format!(" {text}"),
        ChangedLine::Added(text) => format!("+{text}"),
        ChangedLine::Removed(text) => format!("-{text}"),
        ChangedLine::Skipped(_) => "...".to_owned(),
    };
    ChangedFile {
        path: change.path.display().to_string(),
        outcome: match change.outcome {
            Outcome::Created => FileOutcome::Created,
            Outcome::Changed => FileOutcome::Changed,
            Outcome::Removed => FileOutcome::Removed,
            Outcome::Unchanged => FileOutcome::Unchanged,
        },
        otherwise: change.otherwise.clone(),
        lines: change.lines.iter().map(line).collect(),
    }
}

/// Shows which agents are installed and registered.
pub(crate) fn show_standings(agents: &[Agent], options: &SetupOptions, output: &mut Output) -> Result<(), Problem> {
    let look = output.look();
    let widest = agents.iter().map(|agent| agent.word().len()).max().unwrap_or(0);
    let widest_name = agents.iter().map(|agent| agent.name().len()).max().unwrap_or(0);
    let mut unknown_to_some = false;
    for agent in agents {
        let found = agent.found(options);
        let (user, project) = standings_of(*agent, options);
        let is_known = [&user, &project].iter().any(|standing| is_known(standing));
        let (mark, tone) = match (found.is_some(), is_known) {
            (_, true) => (look.either("✓ ", "+ "), Tone::Done),
            (true, false) => (look.either("○ ", "o "), Tone::Warning),
            (false, false) => ("  ", Tone::Dim),
        };
        unknown_to_some |= found.is_some() && !is_known;
        let name = if found.is_some() || is_known { Tone::Plain } else { Tone::Dim };
        let mut line = Line::new().with(tone, mark);
        line.append(Line::new().with(name, agent.word()).padded(widest + 2));
        line.append(Line::new().with(Tone::Dim, agent.name()).padded(widest_name + 2));
        line.push(name, &in_words(&user, &project, found.is_some()));
        output.line(&look.fitted(line))?;
    }
    if unknown_to_some {
        output.advise("register with all installed agents with `taskyard setup --all`")?;
    }
    Ok(())
}

/// Returns which agents are installed and registered, for programs.
pub(crate) fn agents_known(agents: &[Agent], options: &SetupOptions) -> AgentsKnown {
    let answer = |agent: &Agent| {
        let (user, project) = standings_of(*agent, options);
        let found = agent.found(options);
        AgentKnown {
            agent: agent.word(),
            name: agent.name(),
            installed: found.is_some(),
            found: found.map(|path| path.display().to_string()),
            user: word(&user),
            project: word(&project),
        }
    };
    AgentsKnown { agents: agents.iter().map(answer).collect() }
}

fn standings_of(agent: Agent, options: &SetupOptions) -> (Registration, Registration) {
    (agent.registration(Scope::User, options), agent.registration(Scope::Project, options))
}

fn is_known(standing: &Registration) -> bool {
    matches!(standing, Registration::Registered | Registration::Otherwise)
}

fn word(standing: &Registration) -> RegistrationWord {
    match standing {
        Registration::Registered => RegistrationWord::Registered,
        Registration::Otherwise => RegistrationWord::Otherwise,
        Registration::Missing => RegistrationWord::Missing,
        Registration::NoSuchScope => RegistrationWord::NoSuchScope,
        Registration::Unreadable(_) => RegistrationWord::Unreadable,
    }
}

fn in_words(user: &Registration, project: &Registration, is_installed: bool) -> String {
    if let Registration::Unreadable(error) = user {
        return error.to_string();
    }
    if let Registration::Unreadable(error) = project {
        return error.to_string();
    }
    let known = match (is_known(user), is_known(project)) {
        (true, true) => "registered for you, and for this project",
        (true, false) => "registered for you",
        (false, true) => "registered for this project",
        (false, false) if is_installed => return "installed, not registered".to_owned(),
        (false, false) => return "not installed".to_owned(),
    };
    let by_hand = [user, project].iter().any(|standing| matches!(standing, Registration::Otherwise));
    if by_hand { format!("{known}, in a customized form") } else { known.to_owned() }
}

/// Abbreviates the home directory as `~`.
fn in_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// Returns the problem of an agent that could not be set up.
pub(crate) fn setup_problem(error: SetupError, agent: Agent, wish: Wish) -> Problem {
    let message = error.to_string();
    let by_hand = match wish {
        Wish::Remove => "remove `taskyard` by hand".to_owned(),
        Wish::Register | Wish::RegisterAndAllowTools => format!("do it by hand: {}", agent.by_hand()),
    };
    match error {
        SetupError::Io { path, source, .. } => {
            let problem = Problem::new(ProblemKind::CouldNot, "io", message).detail("path", path.display().to_string());
            match advice(&source) {
                Some(advice) => problem.hint(advice),
                None => problem,
            }
        }
        SetupError::Unfit { path, unfit } => {
            let (Unfit::Unreadable { line, .. } | Unfit::Shape { line, .. } | Unfit::Odd { line, .. }) = unfit;
            Problem::new(ProblemKind::CouldNot, "agent_config", message)
                .hint(format!("nothing was changed; correct the file and try again, or {by_hand}"))
                .detail("path", path.display().to_string())
                .detail("line", line)
        }
        SetupError::ChangedMeanwhile { path } => Problem::new(ProblemKind::GaveUp, "conflict", message)
            .hint("run the same command again")
            .detail("path", path.display().to_string()),
        SetupError::Machine(error) => Problem::from(error)
            .hint("Taskyard stores there what `--remove` needs; set TASKYARD_HOME to a writable directory"),
        SetupError::OnlyForUser { .. } => Problem::usage("usage", message).hint("leave out --scope project"),
        SetupError::NoHome => Problem::new(ProblemKind::CouldNot, "no_home", message)
            .hint(format!("set {HOME} to your home directory, or use --scope project")),
    }
}
