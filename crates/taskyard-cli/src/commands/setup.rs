//! `taskyard setup`

use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use taskyard::core::config_edit::ChangedLine;
use taskyard::core::render::{Line, Tone};
use taskyard::setup::{Agent, Change, Outcome, Plan, Scope, SetupPlaces, Wish, plan};

use super::setup_problem::setup_problem;
use crate::context::Context;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::output::Output;
use crate::places;
use crate::problem::Problem;

/// Register Taskyard with an agent
///
/// Adds the MCP server `taskyard mcp` to the agent's own configuration, and nothing else in it changes: comments, order and
/// indentation stay. For Claude Code it also adds the hooks and a skill. It shows what it adds, asks on a terminal, and changes
/// nothing when everything is there already; --remove restores what was.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// The agent
    #[arg(value_name = "AGENT")]
    which: AgentWord,

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

    /// Do not ask; only a terminal is asked
    #[arg(long, short)]
    yes: bool,
}

/// The agents one can name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum AgentWord {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// Cursor
    Cursor,
    /// VS Code
    Vscode,
}

/// The scopes one can name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScopeWord {
    /// For you, everywhere
    User,
    /// For everybody, in this project
    Project,
}

/// A file that comes or goes as a whole is shown in full up to so many lines, and of a longer one the beginning.
const LONGEST: usize = 40;
const BEGINNING: usize = 3;

impl Setup {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (agent, scope): (Agent, Scope) = (self.which.into(), self.scope.into());
        if self.allow_tools && agent != Agent::Claude {
            let message = format!("--allow-tools is for Claude Code; {} asks in its own way", agent.name());
            return Err(Problem::usage("usage", message).hint("leave --allow-tools out"));
        }
        let wish = match (self.remove, self.allow_tools) {
            (true, _) => Wish::Remove,
            (false, true) => Wish::RegisterAndAllowTools,
            (false, false) => Wish::Register,
        };
        let data = places::data(context.environment())?;
        let places = places_of(context, scope)?;
        let failed = |error| setup_problem(error, agent, wish);
        let plan = plan(agent, scope, wish, &places, &data).map_err(failed)?;
        let home = places.home.as_deref();
        if !output.is_json() {
            for change in &plan.changes {
                show(change, home, output)?;
            }
        }
        let wanted = plan.changes_anything() && !self.dry_run;
        let applied = wanted && (self.yes || !output.is_terminal() || output.ask("Write this?")?);
        if applied {
            plan.apply(&data).map_err(failed)?;
        }
        if output.is_json() {
            output.document(document(&plan, &self, agent, scope, applied))?;
        } else {
            conclude(&plan, &self, agent, applied, output)?;
        }
        if applied && wish != Wish::Remove && !is_on_path(context.environment()) {
            output.warn("agents start `taskyard` by its name, and it is not on your PATH")?;
        }
        Ok(Exit::Done)
    }

    /// Returns the command that undoes this one.
    fn reverse(&self) -> String {
        let scope = if matches!(self.scope, ScopeWord::Project) { " --scope project" } else { "" };
        format!("taskyard setup {}{scope} --remove", self.which.word())
    }
}

fn places_of(context: &Context, scope: Scope) -> Result<SetupPlaces, Problem> {
    let environment = context.environment();
    let project = match scope {
        Scope::Project => context.directory()?,
        Scope::User => context.directory().unwrap_or(Path::new("/")),
    };
    Ok(SetupPlaces {
        // A home that does not exist must not come into being by this.
        home: environment.home.clone().filter(|home| home.is_dir()),
        claude_config: environment.client_config.clone(),
        codex_home: environment.codex_home.clone(),
        xdg_config: environment.xdg_config.clone().filter(|path| path.is_absolute()),
        project: places::repository(project).unwrap_or(project).to_owned(),
    })
}

/// Shows what is to happen to a file.
fn show(change: &Change, home: Option<&Path>, output: &mut Output) -> Result<(), Problem> {
    let path = in_home(&change.path, home);
    for entry in &change.otherwise {
        let note = Line::new()
            .with(Tone::Strong, &path)
            .with(Tone::Dim, &format!("  {entry} is there in another form, and stays"));
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
        // Tabs are shown as they would look; everything else that could steer a terminal is escaped.
        output.say(&Line::new().with(tone, &format!("{mark}{}", text.replace('\t', "    "))))?;
    }
    if shown < change.lines.len() {
        let rest = change.lines.len() - shown;
        output.say(&Line::new().with(Tone::Dim, &format!("    ... {rest} more lines")))?;
    }
    Ok(())
}

fn conclude(plan: &Plan, command: &Setup, agent: Agent, applied: bool, output: &mut Output) -> Result<(), Problem> {
    let name = agent.name();
    let text = match (plan.changes_anything(), applied, command.remove) {
        (false, _, false) => format!("{name} knows Taskyard already; nothing to change"),
        (false, _, true) => format!("{name} has nothing of Taskyard; nothing to remove"),
        (true, false, _) if command.dry_run => "Nothing was changed: this was a dry run".to_owned(),
        (true, false, _) => "Nothing was changed; without asking it is done with --yes".to_owned(),
        (true, true, false) => format!("{name} knows Taskyard from its next start on"),
        (true, true, true) => format!("{name} has nothing of Taskyard any more"),
    };
    output.say(&Line::plain(&text))?;
    if applied && !command.remove {
        output.say(&Line::new().with(Tone::Dim, "  take it back with ").with(Tone::Hint, &command.reverse()))?;
    }
    Ok(())
}

fn document(plan: &Plan, command: &Setup, agent: Agent, scope: Scope, applied: bool) -> Value {
    let line = |line: &ChangedLine| match line {
        ChangedLine::Same(text) => format!(" {text}"),
        ChangedLine::Added(text) => format!("+{text}"),
        ChangedLine::Removed(text) => format!("-{text}"),
        ChangedLine::Skipped(_) => "...".to_owned(),
    };
    let file = |change: &Change| {
        json!({
            "path": change.path.display().to_string(),
            "outcome": change.outcome.as_str(),
            "otherwise": change.otherwise,
            "lines": change.lines.iter().map(line).collect::<Vec<_>>(),
        })
    };
    json!({
        "agent": command.which.word(),
        "name": agent.name(),
        "scope": scope.as_str(),
        "applied": applied,
        "files": plan.changes.iter().map(file).collect::<Vec<_>>(),
    })
}

/// Returns a path as people write it.
fn in_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

fn is_on_path(environment: &Environment) -> bool {
    let name = format!("taskyard{}", std::env::consts::EXE_SUFFIX);
    environment.programs.iter().any(|directory| directory.join(&name).is_file())
}

impl AgentWord {
    fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl From<AgentWord> for Agent {
    fn from(word: AgentWord) -> Self {
        match word {
            AgentWord::Claude => Self::Claude,
            AgentWord::Codex => Self::Codex,
            AgentWord::Gemini => Self::Gemini,
            AgentWord::Cursor => Self::Cursor,
            AgentWord::Vscode => Self::Vscode,
        }
    }
}

impl From<ScopeWord> for Scope {
    fn from(word: ScopeWord) -> Self {
        match word {
            ScopeWord::User => Self::User,
            ScopeWord::Project => Self::Project,
        }
    }
}
