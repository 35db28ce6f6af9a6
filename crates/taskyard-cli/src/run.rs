//! From the command line to an exit code, including suggestions for command lines that cannot be parsed.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};
use taskyard::core::answers::maintenance_answers::Version;
use taskyard::core::dialect::foreign::ImportFormat;
use taskyard::core::render::{Line, escaping};
use taskyard::core::{Task, Timestamp};
use taskyard::failpoint;
use taskyard::interchange::guess;
use taskyard::opening::hide_passwords;
use taskyard::problems::with_way_back;
use taskyard::process::Cancel;
use taskyard::tidying::{DailyTidying, Household};
use taskyard_jobs::processes;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::arguments::{Globals, are_ids, with_negations, written_out};
use crate::commands::{Arguments, Command, StatusLine, background, grouped, meant_by, overview, topic};
use crate::completion::globals;
use crate::context::Context;
use crate::ended_agents::{reopen_tasks, take_out_ended_members};
use crate::environment::{Environment, TASKYARD_FAILPOINTS};
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::{ColorChoice, Output, Pager, Terminal};
use crate::{completion, ended_agents};

/// How long a command may spend on its daily cleanup after answering.
const TIDYING: Duration = Duration::from_millis(50);

pub(crate) fn run() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let environment = Environment::read();
    if let [_, only] = &typed[..]
        && (only == "--version" || only == "-V")
    {
        // Scripts query the version at every start, so avoid building the command tree.
        return version(&environment);
    }
    if let Some(code) = background(&typed, &environment) {
        return code;
    }
    if completion::is_asked(&environment) {
        // A shell has no use for an error.
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
                // If stderr is unavailable, `doctor` still reports it.
                let _ = output.warn(&format!("old history is kept: {doubt}; `taskyard gc` asks what to do"));
            }
            let code = finish(exit, output, context.has_written());
            // Closing the lists may take the disk a while, so the answer has already been written.
            drop(context);
            if let Some(tidying) = tidying {
                // Close stdout and stderr, so that their reader sees the end of the answer before the cleanup.
                ended_agents::let_readers_go();
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

/// Parses the command line.
fn parse(typed: &[OsString]) -> Result<Arguments, clap::Error> {
    if matches!(typed, [_, only] if only == "statusline") {
        // The client runs it several times a second, so avoid building the command tree.
        return Ok(Arguments { globals: Globals::default(), command: Some(Command::StatusLine(StatusLine {})) });
    }
    let mut command = Arguments::command();
    let Ok(mut matches) = command.try_get_matches_from_mut(typed) else {
        // Groups and examples only matter for help and errors, and building them takes longer than parsing.
        command = grouped(Arguments::command());
        return Err(command.try_get_matches_from_mut(typed).expect_err("groups and examples change no meaning"));
    };
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut grouped(command)))
}

/// Returns what to clean up after the answer, if the command wrote something.
fn to_tidy(context: &Context) -> Option<Household> {
    if context.has_written() { context.household_to_tidy() } else { None }
}

fn execute(arguments: Arguments, environment: Environment, typed: &[OsString]) -> (Exit, Output, Rc<Context>) {
    let Arguments { globals, command } = arguments;
    // Clients log what a server writes to stderr.
    let is_mcp = matches!(command, Some(Command::Mcp(_)));
    start(environment.log.as_deref().or(is_mcp.then_some("warn")));
    processes::survive_file_size_limits();
    let cancel = Cancel::new();
    let may_hold_locks = command.as_ref().is_none_or(Command::may_hold_locks);
    if may_hold_locks {
        processes::hear_of_children();
    }
    if may_hold_locks && !command.as_ref().is_some_and(Command::stops_itself) {
        match &command {
            Some(command) if command.is_server() => processes::end_server_in_order(cancel.clone()),
            Some(command) if command.only_shows() => processes::end_in_order_once_locks_are_held(cancel.clone()),
            _ => processes::end_in_order_when_stopped(cancel.clone()),
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
        // The effects of ended jobs and members are not writes of this command.
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
    // A command that failed because of the journal has already reported it.
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

/// Arms the fail points of a test build.
fn arm_failpoints(environment: &Environment) -> Result<(), Problem> {
    let Some(plan) = &environment.failpoints else { return Ok(()) };
    failpoint::arm(plan).map_err(|error| Problem::usage("bad_failpoints", format!("{TASKYARD_FAILPOINTS}: {error}")))
}

/// Answers a request for help, or a command line that cannot be parsed.
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
    // On drop, the buffer would retry a failed write.
    std::mem::forget(output);
    let code = if exit == Exit::Stopped { processes::exit_code() } else { None };
    ExitCode::from(code.unwrap_or(exit.code()))
}

/// Marks the problem of an answer that could not be written, so that it does not look as if the change had failed.
fn after_writing(problem: Problem, has_written: bool) -> Problem {
    match has_written && problem.report().code == "output" {
        true => problem.of_kind(ProblemKind::Unfinished).hint("the change is recorded: do not repeat the command"),
        false => problem,
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

/// Flags of other programs, and our equivalents.
const OTHER_FLAGS: [(&str, &[&str]); 22] = [
    ("name", &["subject", "title", "source"]),
    ("text", &["description", "subject"]),
    ("desc", &["description"]),
    ("body", &["description"]),
    ("details", &["description"]),
    ("assignee", &["owner"]),
    ("assign", &["owner"]),
    ("user", &["owner", "as"]),
    ("agent", &["owner", "as"]),
    ("label", &["tag"]),
    ("labels", &["tags", "tag"]),
    ("prio", &["priority"]),
    ("deps", &["depends-on"]),
    ("dependencies", &["depends-on"]),
    ("after", &["depends-on"]),
    ("deadline", &["due"]),
    ("wait", &["defer"]),
    ("until", &["due"]),
    ("state", &["status"]),
    ("filter", &["where"]),
    ("query", &["where"]),
    ("format", &["from", "to", "json"]),
];
/// Maximum number of tasks suggested for words that name none.
const OFFERED: usize = 3;

/// Returns clap's message with a suggestion.
pub(crate) fn in_words(error: &clap::Error, typed: &[OsString], environment: &Environment) -> String {
    let text = error.render().to_string();
    let typed: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.clone(),
        Some(ContextValue::Strings(arguments)) => arguments.join(" "),
        _ => String::new(),
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => meant_command(error),
        ErrorKind::UnknownArgument => meant_flag(&argument, &typed),
        ErrorKind::MissingRequiredArgument if argument.starts_with("--from") => Some(known_formats(&typed)),
        ErrorKind::ValueValidation if argument.contains("<ID>") || argument.contains("[ID]") => {
            let globals = globals(&typed.iter().map(OsString::from).chain([OsString::new()]).collect::<Vec<_>>());
            meant_task(&typed, &Context::new(globals, environment.clone(), Cancel::new()))
        }
        _ => None,
    };
    let is_own_guess = error.kind() == ErrorKind::UnknownArgument && tip.is_none() && is_far_fetched(error, &argument);
    match tip {
        Some(tip) => with_tip(&text, &tip),
        None if is_own_guess => with_tip(&text, "`taskyard COMMAND --help` shows the options of a command"),
        None => text,
    }
}

/// Replaces clap's tip with another.
fn with_tip(text: &str, tip: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_told = false;
    for line in text.lines().filter(|line| !line.trim_start().starts_with("tip: ")) {
        if !is_told && line.starts_with("Usage:") {
            lines.extend([format!("  tip: {tip}"), String::new()]);
            is_told = true;
        }
        // Removing the tip left an empty line.
        if !(line.is_empty() && lines.last().is_some_and(String::is_empty)) {
            lines.push(line.to_owned());
        }
    }
    if !is_told {
        let at = lines.iter().position(|line| line.starts_with("For more information")).unwrap_or(lines.len());
        lines.splice(at..at, [format!("  tip: {tip}"), String::new()]);
    }
    lines.join("\n") + "\n"
}

fn meant_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let similar = match error.get(ContextKind::SuggestedSubcommand) {
        // The best match is last.
        Some(ContextValue::Strings(similar)) => similar.last().cloned(),
        Some(ContextValue::String(similar)) => Some(similar.clone()),
        _ => None,
    };
    let meant = meant_by(word).map(str::to_owned).or(similar)?;
    Some(format!("did you mean `taskyard {meant}`?"))
}

/// Returns the command named in a command line.
fn command_of(typed: &[String]) -> Option<clap::Command> {
    let program = Arguments::command();
    typed.iter().skip(1).find_map(|word| program.find_subcommand(word)).cloned()
}

/// Returns our equivalent of another program's flag.
fn meant_flag(flag: &str, typed: &[String]) -> Option<String> {
    let name = flag.trim_start_matches('-').split('=').next()?;
    let command = command_of(typed)?;
    let has = |wanted: &str| {
        let mut arguments = command.get_arguments().filter(|argument| !argument.is_global_set());
        arguments.any(|argument| argument.get_long_and_visible_aliases().is_some_and(|names| names.contains(&wanted)))
    };
    let (_, ours) = OTHER_FLAGS.iter().find(|(other, _)| *other == name)?;
    let ours = ours.iter().find(|ours| has(ours) || matches!(**ours, "as" | "json"))?;
    Some(format!("did you mean `--{ours}`?"))
}

/// Returns whether clap suggests a global flag that is spelled very differently.
fn is_far_fetched(error: &clap::Error, flag: &str) -> bool {
    let offered = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(offered)) => offered.clone(),
        Some(ContextValue::Strings(offered)) => offered.join(" "),
        _ => return false,
    };
    let (flag, offered) = (flag.trim_start_matches('-'), offered.trim_start_matches('-').to_owned());
    let begins = |one: &str, other: &str| one.chars().take(2).eq(other.chars().take(2));
    !begins(flag, &offered)
}

/// Lists the formats, and guesses the one of the file.
fn known_formats(typed: &[String]) -> String {
    let names: Vec<&str> = ImportFormat::ALL.iter().map(|format| format.as_str()).collect();
    let path = typed.iter().skip(1).find(|word| *word != "import" && !word.starts_with('-'));
    let seen = path.and_then(|path| Some((path, guess(std::path::Path::new(path))?)));
    match seen {
        Some((path, format)) => format!("this looks like {format}: `taskyard import {path} --from {format}`"),
        None => format!("give its format with `--from`: {}", names.join(", ")),
    }
}

/// Returns the task probably meant by words that name none: one with that title, or the number at the end.
fn meant_task(typed: &[String], context: &Context) -> Option<String> {
    let at = typed.iter().skip(1).position(|word| Arguments::command().find_subcommand(word).is_some())? + 1;
    let command = &typed[at];
    let words: Vec<&str> =
        typed[at + 1..].iter().map(String::as_str).take_while(|word| !word.starts_with('-')).collect();
    if command == "note"
        && let [text @ .., id] = &words[..]
        && !text.is_empty()
        && are_ids(id)
    {
        return Some(format!("the task comes first: `taskyard note {id} \"{}\"`", text.join(" ")));
    }
    let list = context.choice().ok()?.list;
    let tasks = context.store().ok()?.read(&list).ok()?.tasks().ok()?;
    let wanted: Vec<String> = words.iter().flat_map(|word| word.split_whitespace()).map(str::to_lowercase).collect();
    if wanted.is_empty() {
        return None;
    }
    let is_meant = |task: &&Task| {
        let title = task.shown_subject().to_lowercase();
        wanted.iter().all(|word| title.contains(word))
    };
    let mut found: Vec<&Task> = tasks.iter().filter(|task| !task.is_internal()).filter(is_meant).collect();
    found.sort_by_key(|task| !task.status.is_open());
    let named = |task: &Task| format!("#{} {}", task.id, task.shown_subject());
    match &found[..] {
        [] => None,
        [one] => Some(format!("did you mean {}? `taskyard {command} {}`", named(one), one.id)),
        several => {
            let offered: Vec<String> = several.iter().take(OFFERED).map(|task| named(task)).collect();
            Some(format!("give tasks by number: {}", offered.join(", ")))
        }
    }
}

/// Adds a suggestion to the problem of a task that does not exist.
pub(crate) fn with_way_out(problem: Problem, typed: &[OsString], context: &Context) -> Problem {
    let report = problem.report();
    let named = report.details.get("task").and_then(serde_json::Value::as_str);
    if report.code != "task_not_found" || named.is_none_or(are_ids) {
        return problem;
    }
    let typed: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match meant_task(&typed, context) {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

/// Splits clap's text into the message and the hint.
pub(crate) fn usage_problem(text: &str) -> Problem {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or("wrong usage").trim_start_matches("error: ").to_owned();
    let mut details = Vec::new();
    let mut hint = "see `taskyard help`".to_owned();
    for line in lines {
        if let Some(tip) = line.strip_prefix("tip: ") {
            hint = tip.to_owned();
        } else if !line.starts_with("Usage:") && !line.starts_with("For more information") {
            details.push(line);
        } else {
            break;
        }
    }
    let message = if details.is_empty() { message } else { format!("{message} {}", details.join(", ")) };
    Problem::usage("usage", message).hint(hint)
}

/// Starts logging to stderr if there is a filter: a level, or `target=level`, several separated by commas.
pub(crate) fn start(filter: Option<&str>) {
    let Some(filter) = filter else { return };
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(true).without_time().with_ansi(false);
    let subscriber = tracing_subscriber::registry().with(targets(filter)).with(lines);
    // A second start only happens in tests; the first one stays in effect.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Parses a filter. Invalid parts are ignored; if none is valid, only errors are logged.
fn targets(filter: &str) -> Targets {
    let mut parts = filter.split(',').filter_map(|part| part.trim().parse::<Targets>().ok()).peekable();
    if parts.peek().is_none() {
        return Targets::new().with_default(LevelFilter::ERROR);
    }
    parts.fold(Targets::new(), |all, part| match part.default_level() {
        Some(level) => all.with_default(level),
        None => all.with_targets(part),
    })
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::targets;

    #[test]
    fn filter_is_a_level_or_levels_of_targets() {
        let everything = targets("debug");
        assert!(everything.would_enable("taskyard::store", &Level::DEBUG));
        assert!(!everything.would_enable("taskyard::store", &Level::TRACE));
        let store = targets("warn, taskyard::store=trace,=!");
        assert!(store.would_enable("taskyard::store::file", &Level::TRACE));
        assert!(store.would_enable("taskyard::hooks", &Level::WARN));
        assert!(!store.would_enable("taskyard::hooks", &Level::INFO));
        assert!(targets("").would_enable("taskyard", &Level::ERROR));
    }
}
