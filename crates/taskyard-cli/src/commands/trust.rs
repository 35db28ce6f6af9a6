//! `taskyard trust`

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use taskyard::config::{ConfigWarning, Origin};
use taskyard::core::answers::setup::{Distrusted, Trusted, TrustedHook};
use taskyard::core::render::{Line, Tone};
use taskyard::hooks::HookSetup;
use taskyard::machine::Machine;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::places;
use crate::problem::{Problem, ProblemKind};

/// Trust the hooks, checks and settings of this directory
///
/// Hooks and checks are commands. Your own run as they are; those that came with a directory (`.claude/settings.json`,
/// `.claude/settings.local.json` and `taskyard.toml` of a project) run only after this, and only then may its
/// `taskyard.toml` set more than a list of the project's own, a store inside it, and how lists look. It trusts the
/// folder that holds `.git`, else the working directory, and shows what will run and count. Read that.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Trust it no longer
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
        // What did not count before now does; a file that other users can write still does not, and that is told.
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
        let count = format!("{} is trusted: its hooks, checks and settings count from now on", directory.display());
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

/// Returns the keys of the project's file that count from now on, besides its commands.
fn settings_of_project(setup: &HookSetup) -> Vec<&'static str> {
    let keys = setup.config.layers.iter().flat_map(|layer| &layer.needs_trust).copied();
    keys.filter(|key| !["hooks", "checks"].contains(key)).collect()
}

fn distrust(project: &Path, data: &Path, output: &mut Output) -> Result<(), Problem> {
    let machine = Machine::look(data)?.map(|_| Machine::open(data)).transpose()?;
    let was_trusted = machine.map(|machine| machine.distrust(project)).transpose()?;
    if was_trusted != Some(true) {
        let message = format!("`{}` is not trusted", project.display());
        return Err(Problem::new(ProblemKind::NotFound, "not_trusted", message).hint("there is nothing to take away"));
    }
    if output.is_json() {
        output.document(Distrusted { directory: project.display().to_string(), trusted: false })?;
    } else {
        output.say(&Line::plain(&format!("{} is not trusted any more", project.display())))?;
    }
    Ok(())
}
