//! `taskyard board`

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};
use taskyard::core::ListId;
use taskyard::operations::{Claim, DEFAULT_LEASE};
use taskyard_board::{
    ClientStyle, External, Keymap, Opening, Settings, Theme, ThemeChoice, TodoSources, command_words, run,
};
use taskyard_jobs::processes;

use super::list::COMPLETED_SHOWN;
use crate::arguments::NotifyFlag;
use crate::commands::update::Edit;
use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::{Output, local_zone};
use crate::places;

/// Runs a command given as words.
pub(super) type RunCommand = fn(&[String], &Context, &mut Output) -> Result<Exit, Problem>;

/// Open the live terminal board
///
/// The bottom of the screen shows the keys for the task under the cursor; `?` explains all of them, `:` finds anything
/// by name and runs any command. Set keys and colours under `[board]` in taskyard.toml.
#[derive(Debug, Args)]
pub(crate) struct Board {
    /// Show the tasks as this release of the client did
    #[arg(long, value_name = "RELEASE")]
    style: Option<BoardStyle>,

    #[command(flatten)]
    notify: NotifyFlag,
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
    /// Shows the board. `program` and `run_command` parse and run the commands typed into it.
    pub(crate) fn run(
        self,
        program: &clap::Command,
        run_command: RunCommand,
        context: &Context,
        output: &mut Output,
    ) -> Result<Exit, Problem> {
        if output.is_json() || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Err(Problem::usage("no_terminal", "the board needs a terminal")
                .hint("programs can use `taskyard list --json` for the tasks and `taskyard watch` for events"));
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
        let mut external = |list: &ListId, what: External<'_>| -> Result<(), Problem> {
            let there = context.on_list(list);
            match what {
                External::Edit(tasks) => Edit::of(tasks).run(&there, output).map(|_| ()),
                External::Command(line) => run_typed(run_command, line, &there, output),
            }
        };
        // Without a data directory there are no jobs, but tasks still work.
        let jobs = context.shared_jobs().ok();
        let notifier = context.notifier(self.notify)?;
        let globals = context.global_arguments()?;
        let is_in_memory = context.address()?.to_string().starts_with("memory:");
        let command = |list: &ListId, line: &str| own_command(line, list, (&globals, is_in_memory));
        run(Opening { yard, jobs, claim, settings, todos, command: &command, notifier, external: &mut external })?;
        Ok(if processes::was_stopped() { Exit::Stopped } else { Exit::Done })
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
                wrong(&layer.path, format!("invalid theme `{word}`: expected terminal, light, dark or none"))
            })?,
            None => ThemeChoice::default(),
        };
        // Polling files is cheap, while a database is polled over a network.
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
            working_day: config.working_day(),
            commands: commands(program),
        })
    }
}

/// Returns the commands that a board can run, each with its description.
fn commands(program: &clap::Command) -> Vec<(String, String)> {
    let about = |command: &clap::Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        (command.get_name().to_owned(), about)
    };
    program.get_subcommands().filter(|command| !UNFIT.contains(&command.get_name())).map(about).collect()
}

/// Commands that are meant for programs, or do not end by themselves.
const UNFIT: [&str; 9] = ["board", "watch", "work", "mcp", "serve", "hook", "statusline", "demo", "help"];

/// Commands that need the terminal for themselves: for an editor, questions or a pager.
const NEEDS_TERMINAL: [&str; 3] = ["edit", "setup", "adopt"];

/// Returns the process for a typed command, on the displayed list and with the board's global flags. Returns `None`
/// if the command must run in this process.
fn own_command(
    line: &str,
    list: &ListId,
    (globals, is_in_memory): (&[OsString], bool),
) -> Result<Option<std::process::Command>, Problem> {
    let words = fit_words(line)?;
    // The contents of an in-memory store exist only in this process.
    if is_in_memory || words.first().is_none_or(|word| NEEDS_TERMINAL.contains(&word.as_str())) {
        return Ok(None);
    }
    let program = std::env::current_exe().map_err(|error| Problem::io("cannot find the taskyard program", &error))?;
    let mut command = std::process::Command::new(program);
    command.args(globals).arg("--list").arg(list.as_str()).args(words);
    Ok(Some(command))
}

/// Splits a typed command into words. Fails if the board cannot run it.
fn fit_words(line: &str) -> Result<Vec<String>, Problem> {
    let open_quote = || Problem::usage("bad_quotes", "a quote is never closed");
    let words = command_words(line).ok_or_else(open_quote)?;
    if words.first().is_some_and(|word| UNFIT.contains(&word.as_str())) {
        let why = format!("`{}` is for programs, or runs until it is stopped", words[0]);
        return Err(Problem::usage("not_on_the_board", why).hint("run it in a separate shell"));
    }
    Ok(words)
}

/// Runs a command typed into the board.
fn run_typed(run: RunCommand, line: &str, context: &Context, output: &mut Output) -> Result<(), Problem> {
    let ended = run(&fit_words(line)?, context, output);
    output.flush()?;
    ended.map(|_| ())
}
