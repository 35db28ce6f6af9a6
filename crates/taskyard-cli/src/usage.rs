//! What was meant by a command line that cannot be understood, or that names a task that is not there.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use taskyard::core::Task;
use taskyard::core::dialect::foreign::ImportFormat;
use taskyard::interchange::guess;
use taskyard::process::Cancel;

use crate::arguments::are_ids;
use crate::commands::{Arguments, meant_by};
use crate::completion::globals;
use crate::context::Context;
use crate::environment::Environment;
use crate::problem::Problem;

/// Flags that other programs have, each with the flag of ours that does the same.
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
/// Tasks that are offered for words that name none.
const OFFERED: usize = 3;

/// Returns what clap says of a command line, with what was probably meant.
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
        None if is_own_guess => with_tip(&text, "`--help` behind a command shows its options"),
        None => text,
    }
}

/// Puts a tip in the place of clap's own.
fn with_tip(text: &str, tip: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_told = false;
    for line in text.lines().filter(|line| !line.trim_start().starts_with("tip: ")) {
        if !is_told && line.starts_with("Usage:") {
            lines.extend([format!("  tip: {tip}"), String::new()]);
            is_told = true;
        }
        // The tip that went left an empty line.
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
        // The best comes last.
        Some(ContextValue::Strings(similar)) => similar.last().cloned(),
        Some(ContextValue::String(similar)) => Some(similar.clone()),
        _ => None,
    };
    let meant = meant_by(word).map(str::to_owned).or(similar)?;
    Some(format!("did you mean `taskyard {meant}`?"))
}

/// Returns the command that a line names, with its name.
fn command_of(typed: &[String]) -> Option<clap::Command> {
    let program = Arguments::command();
    typed.iter().skip(1).find_map(|word| program.find_subcommand(word)).cloned()
}

/// Returns what is meant by a flag of another program.
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

/// Tells whether clap offers a flag of every command for one that is not spelt like it.
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

/// Names the formats, and the one that the file seems to have.
fn known_formats(typed: &[String]) -> String {
    let names: Vec<&str> = ImportFormat::ALL.iter().map(|format| format.as_str()).collect();
    let path = typed.iter().skip(1).find(|word| *word != "import" && !word.starts_with('-'));
    let seen = path.and_then(|path| Some((path, guess(std::path::Path::new(path))?)));
    match seen {
        Some((path, format)) => format!("this looks like {format}: `taskyard import {path} --from {format}`"),
        None => format!("say what it is with `--from`: {}", names.join(", ")),
    }
}

/// Returns what is meant by words that name no task: the task of that title, or the number that stands last.
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
            Some(format!("tasks are named by number: {}", offered.join(", ")))
        }
    }
}

/// Adds to the problem of a task that is not there which one may be meant.
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

/// Takes clap's text apart: the sentence, and the advice below it.
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
