//! `taskyard where`, `use`, `whoami` and `trust`

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use taskyard::answers::ignored_setting;
use taskyard::config::{ConfigWarning, Origin};
use taskyard::core::answers::answer_words::NameSource;
use taskyard::core::answers::list_answers::{ListUsed, OtherTeam};
use taskyard::core::answers::maintenance_answers::{Distrusted, Trusted, TrustedHook};
use taskyard::core::render::{Line, Tone};
use taskyard::core::{AgentName, ListId, answers};
use taskyard::hooks::HookSetup;
use taskyard::machine::{Binding, Machine};
use taskyard::opening::Address;
use taskyard::teams::Seat;

use crate::context::Context;
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::Output;
use crate::places;

/// Show which list is used here, and why
#[derive(Debug, Args)]
pub(crate) struct Where {}

impl Where {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let choice = context.choice()?;
        let address = context.address()?;
        if matches!(address, Address::Claude | Address::Documents) {
            places::client_config(context.environment())?;
        }
        let path = address.path_of_list(&choice.list, context.places()?);
        let data = places::data(context.environment()).ok();
        let name = context.list_names()?.remove(choice.list.directory());
        let warnings = context.ignored_settings()?;
        // Without a working directory, there is no directory list.
        let own = context.list_of_directory().ok();
        let other_teams = other_teams(context, &choice.list)?;
        let directories = context.directories_of(&choice.list)?;
        if output.is_json() {
            output.document(answers::list_answers::Where {
                list: choice.list.as_str(),
                store: address.to_string(),
                reason: choice.reason.words(),
                directory_list: own.as_ref().map(|own| own.list.as_str()),
                directories: directories.iter().map(|path| path.display().to_string()).collect(),
                path: path.map(|path| path.display().to_string()),
                data: data.map(|data| data.display().to_string()),
                agent: context.actor()?.as_str(),
                other_teams: other_teams
                    .iter()
                    .map(|(team, list, joined)| OtherTeam { team, list: list.as_str(), joined_in: joined.as_deref() })
                    .collect(),
                ignored: warnings.iter().map(ignored_setting).collect(),
                name,
            })?;
            return Ok(Exit::Done);
        }
        if output.is_quiet() {
            output.line(&Line::plain(choice.list.as_str()))?;
            return Ok(Exit::Done);
        }
        let mut line = Line::new().with(Tone::Strong, choice.list.as_str());
        line.push(Tone::Plain, &format!(" ({})", choice.reason));
        output.line(&line)?;
        let mut fact = |name: &str, value: &str| {
            output.line(&Line::new().with(Tone::Dim, &format!("  {name:7}")).with(Tone::Plain, value))
        };
        if let Some(own) = own.filter(|own| own.list != choice.list) {
            fact("here", &format!("{}, the list of this directory ({})", own.list, own.reason))?;
        }
        if let Some(name) = name {
            fact("name", &format!("{name}, whose directory is {}", choice.list.directory()))?;
        }
        fact("store", &address.to_string())?;
        if let Some(path) = path {
            let missing = if path.exists() { "" } else { " (does not exist yet)" };
            fact("path", &format!("{}{missing}", path.display()))?;
        }
        if let Some(data) = data {
            fact("data", &data.display().to_string())?;
        }
        fact("agent", context.actor()?.as_str())?;
        for directory in directories.iter().filter(|directory| Some(directory.as_path()) != context.project()) {
            fact("used in", &format!(" {}", directory.display()))?;
        }
        for (team, list, joined) in other_teams {
            let joined = joined.map_or_else(|| "somewhere".to_owned(), |joined| format!("in {joined}"));
            fact("team", &format!("{team}, joined {joined}; its list is used there, or with --list {list}"))?;
        }
        for warning in &warnings {
            fact(
                "ignored ",
                &match warning {
                    ConfigWarning::Untrusted { path, keys } => format!("{} in {}", keys.join(", "), path.display()),
                    warning => warning.to_string(),
                },
            )?;
        }
        Ok(Exit::Done)
    }
}

/// Returns the acting agent's teams whose list is not the one in use: name, list, and the directory in which it
/// joined.
fn other_teams(context: &Context, chosen: &ListId) -> Result<Vec<(String, ListId, Option<String>)>, Problem> {
    let (Ok(teams), Some(agent)) = (context.teams(), context.named_agent().and_then(|name| AgentName::new(name).ok()))
    else {
        return Ok(Vec::new());
    };
    let of_seat = |seat: Seat| {
        let list = teams.list_of(&seat.team.name).ok().filter(|list| list != chosen)?;
        Some((seat.team.name.to_string(), list, seat.member().and_then(|member| member.cwd.clone())))
    };
    Ok(teams.seats_of(&agent)?.into_iter().filter_map(of_seat).collect())
}

/// Bind this directory and everything below it to a list
#[derive(Debug, Args)]
pub(crate) struct Use {
    /// The list
    #[arg(value_name = "LIST", required_unless_present = "remove")]
    bound: Option<String>,

    /// Remove the binding of this directory
    #[arg(long, conflicts_with = "bound")]
    remove: bool,
}

impl Use {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let directory = context.directory()?;
        let data = places::data(context.environment())?;
        match self.bound {
            Some(name) => {
                let list = context.list_to_be(&name)?;
                Machine::open(&data)?.bind(directory, list.as_str())?;
                context.in_directory(directory.to_owned()).claim_list(output)?;
                if output.is_json() {
                    output
                        .document(ListUsed { list: Some(list.as_str()), directory: directory.display().to_string() })?;
                } else {
                    let mut line = Line::plain(&format!("{} now uses ", directory.display()));
                    line.push(Tone::Strong, list.as_str());
                    output.say(&line)?;
                    // A variable or a team may still take precedence.
                    let choice = context.choice()?;
                    if choice.list != list {
                        output.warn(&format!("here `{}` is still used: {}", choice.list, choice.reason))?;
                    }
                }
            }
            None => {
                let machine = Machine::look(&data)?.map(|_| Machine::open(&data)).transpose()?;
                let was_bound = machine.as_ref().map(|machine| machine.unbind(directory)).transpose()?;
                if was_bound != Some(true) {
                    let above = machine.map(|machine| machine.binding(directory)).transpose()?.flatten();
                    return Err(not_bound(directory, above));
                }
                if output.is_json() {
                    output.document(ListUsed { list: None, directory: directory.display().to_string() })?;
                } else {
                    output.say(&Line::plain(&format!("{} is no longer bound to a list", directory.display())))?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

fn not_bound(directory: &Path, above: Option<Binding>) -> Problem {
    let problem =
        Problem::new(ProblemKind::NotFound, "not_bound", format!("`{}` is not bound to a list", directory.display()));
    problem.hint(match above {
        Some(binding) => {
            format!("the binding to `{}` was made in `{}`: remove it there", binding.list, binding.directory.display())
        }
        None => "`taskyard where` shows which list is used, and why".to_owned(),
    })
}

/// Show the name that commands act under, and its source
///
/// Changes are recorded under this name, it owns the tasks that you start, and `taskyard undo` takes back its changes. A person at a
/// terminal owns tasks without a lease; every other actor is an agent.
#[derive(Debug, Args)]
pub(crate) struct Whoami {}

impl Whoami {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (actor, source) = context.actor_and_source()?;
        let is_person = context.is_person();
        if output.is_json() {
            output.document(answers::list_answers::Whoami { agent: actor.as_str(), source, person: is_person })?;
            return Ok(Exit::Done);
        }
        if output.is_quiet() {
            output.line(&Line::plain(actor.as_str()))?;
            return Ok(Exit::Done);
        }
        let kind = if is_person { "a person" } else { "an agent" };
        let mut line = Line::new().with(Tone::Strong, actor.as_str());
        line.push(Tone::Plain, &format!(", {kind} ({})", in_words(source)));
        output.line(&line)?;
        if source == NameSource::Nobody {
            output.advise("give a name with --as or TASKYARD_AGENT")?;
        }
        Ok(Exit::Done)
    }
}

const fn in_words(source: NameSource) -> &'static str {
    match source {
        NameSource::Flag => "named by --as",
        NameSource::Variable => "named by TASKYARD_AGENT",
        NameSource::Request => "named by the link, the token or the request",
        NameSource::Session => "named after the client's session",
        NameSource::Login => "your login",
        NameSource::Nobody => "no name was given",
    }
}

/// Trust the hooks, checks and settings of this directory
///
/// Hooks and checks are commands. Your own always run; those that came with a directory (`.claude/settings.json`,
/// `.claude/settings.local.json` and `taskyard.toml` of a project) run only after this, and only then may its
/// `taskyard.toml` set more than the project's own list, a store inside it, and the style of lists. It trusts the
/// folder that contains `.git`, else the working directory, and shows what will run and take effect. Review that.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Remove the trust
    #[arg(long)]
    remove: bool,
}

impl Trust {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        context.directory()?;
        let setup = context.hook_setup()?;
        let data = places::data(context.environment())?;
        if self.remove {
            distrust(&setup.project, &data, output)?;
            return Ok(Exit::Done);
        }
        let directory = Machine::open(&data)?.trust(&setup.project)?;
        // The project's settings now take effect. A file that other users can write is still ignored, and reported.
        if !setup.config.warnings.iter().any(|warning| matches!(warning, ConfigWarning::NotCounted { .. })) {
            context.consider_config_told();
        }
        let (hooks, checks) = (setup.hooks_of_project(), checks_of_project(&setup));
        let settings = settings_of_project(&setup);
        if output.is_json() {
            let hooks = hooks.iter().map(|(event, hook)| TrustedHook {
                event: event.as_str(),
                command: hook.name(),
                path: hook.source.path.display().to_string(),
            });
            let (directory, hooks) = (directory.display().to_string(), hooks.collect());
            output.document(Trusted { directory, trusted: true, hooks, checks, settings })?;
            return Ok(Exit::Done);
        }
        let count = format!("{} is trusted: its hooks, checks and settings now take effect", directory.display());
        output.say(&Line::plain(&count))?;
        if hooks.is_empty() && checks.is_empty() && settings.is_empty() {
            output.say(&Line::new().with(Tone::Dim, "  it has none yet"))?;
        }
        for (event, hook) in &hooks {
            output.say(&told(event.as_str(), &hook.name()))?;
        }
        for (name, command) in &checks {
            output.say(&told(&format!("check {name}"), command))?;
        }
        for key in &settings {
            output.say(&Line::plain("  ").with(Tone::Strong, key))?;
        }
        Ok(Exit::Done)
    }
}

fn told(what: &str, command: &str) -> Line {
    Line::new().with(Tone::Plain, "  ").with(Tone::Strong, what).with(Tone::Plain, ": ").with(Tone::Hint, command)
}

fn checks_of_project(setup: &HookSetup) -> BTreeMap<&String, &String> {
    let layers = setup.config.layers.iter().filter(|layer| layer.origin == Origin::Project);
    layers.flat_map(|layer| &layer.settings.checks).collect()
}

/// Returns the keys of the project's file that now take effect, other than its commands.
fn settings_of_project(setup: &HookSetup) -> Vec<&'static str> {
    let keys = setup.config.layers.iter().flat_map(|layer| &layer.needs_trust).copied();
    keys.filter(|key| !["hooks", "checks"].contains(key)).collect()
}

fn distrust(project: &Path, data: &Path, output: &mut Output) -> Result<(), Problem> {
    let machine = Machine::look(data)?.map(|_| Machine::open(data)).transpose()?;
    let was_trusted = machine.map(|machine| machine.distrust(project)).transpose()?;
    if was_trusted != Some(true) {
        let message = format!("`{}` is not trusted", project.display());
        return Err(Problem::new(ProblemKind::NotFound, "not_trusted", message).hint("there is nothing to remove"));
    }
    if output.is_json() {
        output.document(Distrusted { directory: project.display().to_string(), trusted: false })?;
    } else {
        output.say(&Line::plain(&format!("{} is no longer trusted", project.display())))?;
    }
    Ok(())
}
