//! What stands for what on the command line: which argument takes a task, an agent, a list.

use clap::builder::StyledStr;
use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::candidates::{Source, Tasks};

/// The words that some arguments take and that no type of theirs names.
const WORDS: [(&str, &[&str]); 11] = [
    ("STATUS", &["pending", "in_progress", "completed"]),
    ("TIME", &["today", "tomorrow", "mon", "fri", "2h", "1w", "none"]),
    ("KEY", &["id", "priority", "status", "subject", "owner", "due", "defer", "estimate", "age", "changed"]),
    ("TEMPLATE", &["{id} {subject}", "{id} {status} {subject} {owner}"]),
    ("PRIORITY", &["low", "medium", "high"]),
    ("KIND", &["mission", "experiment", "phase", "bug", "detour", "task"]),
    ("VERSION", &["2.1.34", "2.1.325"]),
    ("ADDRESS", &["claude:", "file:", "document:", "teaching:", "memory:"]),
    ("DURATION", &["30s", "5m", "30m", "1h", "8h"]),
    ("SIZE", &["1MB", "16MB", "256MB"]),
    ("EVENT", &["SessionStart", "SubagentStop", "Stop", "TeammateIdle"]),
];

/// Finds what could stand for an argument.
type Find = Box<dyn Fn(&Source) -> Vec<CompletionCandidate> + Send + Sync>;

/// Has every argument of a command and of those below it answer what it could be.
pub(super) fn with_candidates(command: Command, source: &Source) -> Command {
    let commands: Vec<(String, Option<StyledStr>)> =
        command.get_subcommands().map(|inner| (inner.get_name().to_owned(), inner.get_about().cloned())).collect();
    let pages = ArgValueCompleter::new(move |typed: &std::ffi::OsStr| {
        let all = commands.iter().map(|(name, about)| CompletionCandidate::new(name).help(about.clone()));
        starting_with(all.collect(), typed)
    });
    below(command, &[], source).mut_subcommand("man", |man| man.mut_arg("command", |arg| arg.add(pages)))
}

fn starting_with(mut found: Vec<CompletionCandidate>, typed: &std::ffi::OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    found.retain(|candidate| candidate.get_value().to_string_lossy().starts_with(&*typed));
    found
}

fn below(command: Command, path: &[&str], source: &Source) -> Command {
    let command = command.mut_args(|arg| with_completer(arg, path, source));
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name.clone(), |inner| {
            let inner_path: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
            below(inner, &inner_path, source)
        })
    })
}

fn with_completer(arg: Arg, path: &[&str], source: &Source) -> Arg {
    if !arg.get_action().takes_values() || !arg.get_possible_values().is_empty() {
        return arg;
    }
    let name = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default();
    let id = arg.get_id().as_str().to_owned();
    let source = source.clone();
    let complete =
        |find: Find| ArgValueCompleter::new(move |typed: &std::ffi::OsStr| starting_with(find(&source), typed));
    let command = path.first().copied().unwrap_or_default();
    match (command, id.as_str(), name.as_str()) {
        (_, "list", _) | (_, _, "LIST") | ("merge", "from" | "into", _) => arg.add(complete(Box::new(Source::lists))),
        ("job", "id", _) => arg.add(complete(Box::new(Source::jobs))),
        ("team", "name", _) | (_, _, "TEAM") => arg.add(complete(Box::new(Source::teams))),
        ("restore", "ids", _) => arg.add(complete(Box::new(Source::missing))),
        (_, _, "ID" | "IDS") => {
            let which = Tasks::of(command, &id);
            arg.add(complete(Box::new(move |source| source.tasks(which))))
        }
        (_, _, "ROLE") => arg.add(complete(Box::new(Source::roles))),
        (_, _, "AGENT") => arg.add(complete(Box::new(Source::agents))),
        (_, _, "TAG" | "T" | "TAGS") => arg.add(complete(Box::new(Source::tags))),
        (_, _, "REV" | "REVISIONS") => arg.add(complete(Box::new(Source::revisions))),
        (_, _, "QUERY" | "WORDS") => arg.add(complete(Box::new(Source::query_words))),
        ("serve", "bind", _) => {
            let all = || ["127.0.0.1", "0.0.0.0", "::1"].map(CompletionCandidate::new).into();
            arg.add(complete(Box::new(move |_| all())))
        }
        ("man", "command", _) => arg,
        (_, _, "PATH" | "FILE" | "COMMAND") => arg.value_hint(ValueHint::AnyPath),
        (_, _, "DIRECTORY" | "DIR") => arg.value_hint(ValueHint::DirPath),
        (_, _, name) => match WORDS.iter().find(|(known, _)| *known == name) {
            Some((_, words)) => {
                let all = || words.iter().map(CompletionCandidate::new).collect();
                arg.add(complete(Box::new(move |_| all())))
            }
            None => arg,
        },
    }
}
