//! From the command line to an exit code.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use taskyard::core::Timestamp;
use taskyard::core::answers::access::Version;
use taskyard::core::render::{Line, escaping};
use taskyard::failpoint;
use taskyard::opening::hide_passwords;
use taskyard::problems::with_way_back;
use taskyard::process::Cancel;
use taskyard::tidying::{DailyTidying, Household};

use crate::arguments::{Globals, with_negations, written_out};
use crate::commands::{Arguments, Command, StatusLine, background, grouped, overview, topic};
use crate::context::Context;
use crate::ended_members::take_out_ended_members;
use crate::environment::{Environment, TASKYARD_FAILPOINTS};
use crate::exit::Exit;
use crate::output::{ColorChoice, Output, Pager, Terminal};
use crate::problem::{Problem, ProblemKind};
use crate::reopening::reopen_tasks;
use crate::usage::{in_words, usage_problem, with_way_out};
use crate::{answer_end, completion, logging};
use taskyard_jobs::signals;

/// For how long a command tidies after its answer, once a day.
const TIDYING: Duration = Duration::from_millis(50);

/// Runs the command that was typed.
pub(crate) fn run() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let environment = Environment::read();
    if let [_, only] = &typed[..]
        && (only == "--version" || only == "-V")
    {
        // Scripts ask for the version at every start: do not build the whole tree of commands for it.
        return version(&environment);
    }
    if let Some(code) = background(&typed, &environment) {
        return code;
    }
    if completion::is_asked(&environment) {
        // A shell has no use for what went wrong.
        let _ = completion::answer(Arguments::command(), &typed, &environment);
        return ExitCode::SUCCESS;
    }
    let typed = with_negations(written_out(typed));
    if let Some(text) = topic(&typed, Arguments::command) {
        let json = typed.iter().any(|word| word == "--json");
        let mut output = Output::new(Terminal::detect(ColorChoice::Auto, &environment, now()), json, false);
        if !typed.iter().any(|word| word == "--no-pager") {
            output.page(Pager::wanted(&environment, None));
        }
        let exit = output.manual(&text).map_or_else(|error| output.problem(&Problem::from(error)), |()| Exit::Done);
        return finish(exit, output, false);
    }
    match parse(&typed) {
        Ok(arguments) => {
            let is_terminal = std::io::stdout().is_terminal() && !arguments.globals.json;
            if arguments.command.is_none() && !is_terminal {
                let error = grouped(Arguments::command()).error(ErrorKind::MissingSubcommand, "no command was given");
                let (exit, output) = refuse(&error, &typed, &environment);
                return finish(exit, output, false);
            }
            let (exit, mut output, context) = execute(arguments, environment, &typed);
            let household = if exit == Exit::Stopped { None } else { to_tidy(&context) };
            let tidying = household.as_ref().and_then(DailyTidying::begin);
            if let Some(doubt) = tidying.as_ref().and_then(DailyTidying::new_doubt) {
                // Where even stderr is out of reach, `doctor` tells of it.
                let _ = output.warn(&format!("old history is not tidied up: {doubt}; `taskyard gc` asks what to do"));
            }
            let code = finish(exit, output, context.has_written());
            // Closing the lists may take the disk a while, and the answer is out.
            drop(context);
            if let Some(tidying) = tidying {
                // The reader of the answer has all of it, and sees that it has ended.
                answer_end::let_readers_go();
                tidying.run(TIDYING);
            }
            code
        }
        Err(error) => {
            let (exit, output) = refuse(&error, &typed, &environment);
            finish(exit, output, false)
        }
    }
}

/// Reads the command line.
fn parse(typed: &[OsString]) -> Result<Arguments, clap::Error> {
    if matches!(typed, [_, only] if only == "statusline") {
        // The client asks for it several times a second: do not build the whole tree of commands for it.
        return Ok(Arguments { globals: Globals::default(), command: Some(Command::StatusLine(StatusLine {})) });
    }
    let mut command = grouped(Arguments::command());
    let mut matches = command.try_get_matches_from_mut(typed)?;
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Returns what may be tidied once the answer is written, by a command that wrote.
fn to_tidy(context: &Context) -> Option<Household> {
    if context.has_written() { context.household_to_tidy() } else { None }
}

fn execute(arguments: Arguments, environment: Environment, typed: &[OsString]) -> (Exit, Output, Rc<Context>) {
    let Arguments { globals, command } = arguments;
    // Clients keep what a server writes to stderr in a log of their own.
    let is_mcp = matches!(command, Some(Command::Mcp(_)));
    logging::start(environment.log.as_deref().or(is_mcp.then_some("warn")));
    signals::survive_file_size_limits();
    let cancel = Cancel::new();
    let may_hold_locks = command.as_ref().is_none_or(Command::may_hold_locks);
    if may_hold_locks {
        signals::hear_of_children();
    }
    if may_hold_locks && !command.as_ref().is_some_and(Command::stops_itself) {
        match &command {
            Some(command) if command.is_server() => signals::end_server_in_order(cancel.clone()),
            _ => signals::end_in_order_when_stopped(cancel.clone()),
        }
    }
    let terminal = Terminal::detect(globals.color, &environment, now());
    let mut output = Output::new(terminal, globals.json, globals.quiet);
    let armed = arm_failpoints(&environment);
    let is_paged = command.as_ref().is_some_and(Command::is_paged) && !globals.no_pager;
    let context = Rc::new(Context::new(globals, environment, cancel));
    if is_paged && output.is_terminal() {
        output.page(context.pager());
    }
    let call = command.as_ref().filter(|_| armed.is_ok()).and_then(|command| command.begin_call(&context));
    let only_glances = command.as_ref().is_some_and(Command::only_glances);
    if may_hold_locks && !only_glances && armed.is_ok() {
        reopen_tasks(&context);
        take_out_ended_members(&context, &mut output);
        // Whatever the end of jobs and members meant for tasks is not what this command does.
        context.forget_writes();
    }
    let is_long = |command: &Command| command.speaks_a_protocol() || command.has_a_screen();
    let is_short = !command.as_ref().is_some_and(is_long);
    if is_short {
        let context = Rc::clone(&context);
        output.name_other_lists(move || context.other_lists_written());
    }
    let mut made = None;
    let result = armed.and_then(|()| match command {
        Some(command) => {
            if command.only_shows() {
                context.must_have_list()?;
            } else if command.makes_tasks() {
                made = context.list_to_make(&mut output)?;
            }
            command.run(&context, &mut output)
        }
        None => overview(&context, &mut output),
    });
    drop(call);
    if let Some(list) = made.filter(|list| context.has_written_to(list)) {
        let told = output.aside(&Line::plain(&format!("Created list `{list}`")));
        told.unwrap_or_else(|error| tracing::debug!(%error, "cannot be told"));
    }
    let result = result.and_then(|exit| output.tell_of_other_lists().map(|()| exit).map_err(Problem::from));
    if is_short && !only_glances {
        context.tell_of_list(&mut output);
    }
    let warned = context.tell_warnings(&mut output).map_err(Problem::from);
    // A command that failed because of it has told of it.
    let is_told =
        matches!(&result, Err(problem) if matches!(problem.report().code, "journal_damaged" | "newer_journal"));
    let journals = if is_told { Ok(()) } else { context.warn_of_journals(&mut output).map_err(Problem::from) };
    let exit = match result.and_then(|exit| warned.and(journals).map(|()| exit)) {
        Ok(exit) => exit,
        Err(problem) => {
            let problem = with_way_out(after_writing(problem, context.has_written()), typed, &context);
            output.problem(&match context.yard() {
                Ok(yard) => with_way_back(problem, &yard),
                Err(_) => problem,
            })
        }
    };
    output.consider_list_named();
    (exit, output, context)
}

/// Tells the store of a test build at which step to stop.
fn arm_failpoints(environment: &Environment) -> Result<(), Problem> {
    let Some(plan) = &environment.failpoints else { return Ok(()) };
    failpoint::arm(plan).map_err(|error| Problem::usage("bad_failpoints", format!("{TASKYARD_FAILPOINTS}: {error}")))
}

/// Answers a command line that cannot be understood, or that asks for help.
fn refuse(error: &clap::Error, typed: &[OsString], environment: &Environment) -> (Exit, Output) {
    let json = typed.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json");
    let mut output = Output::new(Terminal::detect(ColorChoice::Auto, environment, now()), json, false);
    let written = match error.kind() {
        ErrorKind::DisplayVersion if json => {
            output.document(Version { version: env!("CARGO_PKG_VERSION") }).map(|()| Exit::Done)
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            if !typed.iter().any(|word| word == "--no-pager") {
                output.page(Pager::wanted(environment, None));
            }
            output.help(error).map(|()| Exit::Done)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand if json => {
            Ok(output.problem(&Problem::usage("usage", "no command was given").hint("see `taskyard help`")))
        }
        _ if json => Ok(output.problem(&usage_problem(&hide_passwords(&in_words(error, typed, environment))))),
        _ => {
            let text = in_words(error, typed, environment);
            output.usage_error(&escaping::many_lines(&hide_passwords(&text))).map(|()| Exit::Usage)
        }
    };
    let exit = written.unwrap_or_else(|error| output.problem(&Problem::from(error)));
    (exit, output)
}

fn version(environment: &Environment) -> ExitCode {
    let mut output = Output::new(Terminal::detect(ColorChoice::Never, environment, Timestamp::default()), false, false);
    let written = output.text(concat!("taskyard ", env!("CARGO_PKG_VERSION"), "\n"));
    let exit = written.map_or_else(|error| output.problem(&Problem::from(error)), |()| Exit::Done);
    finish(exit, output, false)
}

fn finish(exit: Exit, mut output: Output, has_written: bool) -> ExitCode {
    let exit = match output.end() {
        Ok(()) => exit,
        Err(error) => output.problem(&after_writing(Problem::from(error), has_written)),
    };
    // What is left in the buffer after a failed write would only be tried again on drop.
    std::mem::forget(output);
    let code = if exit == Exit::Stopped { signals::exit_code() } else { None };
    ExitCode::from(code.unwrap_or(exit.code()))
}

/// Returns the problem of an answer that cannot be written, so that it does not read as if the change had failed.
fn after_writing(problem: Problem, has_written: bool) -> Problem {
    match has_written && problem.report().code == "output" {
        true => problem.of_kind(ProblemKind::Unfinished).hint("the change is recorded: do not repeat the command"),
        false => problem,
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
