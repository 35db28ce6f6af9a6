//! `taskyard board`

use std::collections::BTreeMap;
use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};
use taskyard::core::ListId;
use taskyard::operations::{Claim, DEFAULT_LEASE};
use taskyard_jobs::signals;

use super::edit::Edit;
use super::list::COMPLETED_SHOWN;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, local_zone};
use crate::places;
use crate::problem::Problem;
use taskyard_board::{
    ClientStyle, Keymap, Opening, Outside, Settings, Theme, ThemeChoice, TodoSources, command_words, run,
};

/// Runs a command of the command line, given as its words.
pub(super) type RunCommand = fn(&[String], &Context, &mut Output) -> Result<Exit, Problem>;

/// Show a list as a board that moves with it, and work from there
///
/// The foot of the screen shows the keys that act on what is under the cursor; `?` explains all of them, `:` finds
/// anything by its name and runs any command. A refusal says why, where the cursor is. Set keys and colours under
/// `[board]` in taskyard.toml.
#[derive(Debug, Args)]
pub(crate) struct Board {
    /// Show the tasks as this release of the client did
    #[arg(long, value_name = "RELEASE")]
    style: Option<BoardStyle>,
}

/// The releases of the client whose lines can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BoardStyle {
    /// As client 2.1.19 showed it: `#3. [pending] Deploy`
    #[value(name = "2.1.19")]
    V2_1_19,
    /// As client 2.1.20 showed it, without numbers: `◻ Deploy`
    #[value(name = "2.1.20")]
    V2_1_20,
}

impl Board {
    /// Shows the board of a program, given as its parser knows it and with what runs its commands.
    pub(crate) fn run(
        self,
        program: &clap::Command,
        run_command: RunCommand,
        context: &Context,
        output: &mut Output,
    ) -> Result<Exit, Problem> {
        if output.is_json() || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Err(Problem::usage("no_terminal", "a board needs a terminal to be shown in")
                .hint("`taskyard list --json` shows the tasks to a program, `taskyard watch` what happens to them"));
        }
        let settings = self.settings(program, context, output)?;
        let yard = context.yard()?.lasting();
        let config = context.config()?;
        let claim = Claim {
            roles: config.roles(yard.actor()).to_vec(),
            limit: context.claim_limit()?,
            ttl: config.lease().or(Some(DEFAULT_LEASE)),
            resuming: context.resuming(),
            ..Claim::default()
        };
        let _caretaker = context.caretaker();
        output.flush()?;
        let todos = context.todos().ok().map(|todos| {
            let environment = context.environment();
            let client = places::client_config(environment).ok();
            let directory = context.directory().ok().map(std::path::Path::to_owned);
            TodoSources::new(todos, environment.client_session.clone(), client.zip(directory))
        });
        let mut outside = |list: &ListId, what: Outside<'_>| -> Result<(), Problem> {
            let there = context.on_list(list);
            match what {
                Outside::Edit(tasks) => Edit::of(tasks).run(&there, output).map(|_| ()),
                Outside::Command(line) => run_typed(run_command, line, &there, output),
            }
        };
        // Where the data directory is out of reach there are no jobs, and tasks all the same.
        let jobs = context.shared_jobs().ok();
        run(Opening { yard, jobs, claim, settings, todos, outside: &mut outside })?;
        Ok(if signals::was_stopped() { Exit::Stopped } else { Exit::Done })
    }

    fn settings(&self, program: &clap::Command, context: &Context, output: &Output) -> Result<Settings, Problem> {
        let config = context.config()?;
        let wrong = |path: &std::path::Path, why: String| {
            Problem::usage("config", format!("`{}`: [board] {why}", path.display()))
                .hint("`taskyard help config` describes every key of this file")
        };
        let keymap = match config.board_keys() {
            Some((keys, layer)) => Keymap::with(&keys).map_err(|why| wrong(&layer.path, why))?,
            None => Keymap::with(&BTreeMap::new()).map_err(|why| Problem::usage("config", why))?,
        };
        let theme = match config.board_theme() {
            Some((word, layer)) => ThemeChoice::parse(word).ok_or_else(|| {
                wrong(&layer.path, format!("theme: `{word}` is none of terminal, light, dark and none"))
            })?,
            None => ThemeChoice::default(),
        };
        // A file is looked at for nothing; a database is asked over a network.
        let period = if context.store()?.care().is_some() { 3_000 } else { 15_000 };
        let theme = if output.has_color() { theme } else { ThemeChoice::None };
        Ok(Settings {
            keymap,
            theme: Theme::of(theme),
            unicode: output.look().unicode,
            completed_after: config.completed_after().unwrap_or(COMPLETED_SHOWN),
            style: self.style.map(|style| match style {
                BoardStyle::V2_1_19 => ClientStyle::V2_1_19,
                BoardStyle::V2_1_20 => ClientStyle::V2_1_20,
            }),
            todo_period: context.todos().is_ok().then_some(period),
            zone: local_zone(),
            commands: commands(program),
        })
    }
}

/// Returns the commands of the command line that a board can run, each with what it does.
fn commands(program: &clap::Command) -> Vec<(String, String)> {
    let about = |command: &clap::Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        (command.get_name().to_owned(), about)
    };
    program.get_subcommands().filter(|command| !UNFIT.contains(&command.get_name())).map(about).collect()
}

/// The commands that are for programs, or do not end by themselves.
const UNFIT: [&str; 9] = ["board", "watch", "work", "mcp", "serve", "hook", "statusline", "demo", "help"];

/// Runs a command of the command line, as the user typed it into the board.
fn run_typed(run: RunCommand, line: &str, context: &Context, output: &mut Output) -> Result<(), Problem> {
    let open_quote = || Problem::usage("bad_quotes", "a quote is not closed");
    let words = command_words(line).ok_or_else(open_quote)?;
    if words.first().is_some_and(|word| UNFIT.contains(&word.as_str())) {
        let why = format!("`{}` is for programs, or does not end by itself", words[0]);
        return Err(Problem::usage("not_on_the_board", why).hint("run it in a shell of its own"));
    }
    let ended = run(&words, context, output);
    output.flush()?;
    ended.map(|_| ())
}
