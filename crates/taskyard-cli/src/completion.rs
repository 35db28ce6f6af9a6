//! Shell completion.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::io::Write as _;
use std::sync::Arc;

use clap::builder::StyledStr;
use clap::{Arg, Command, Parser as _, ValueHint};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use clap_complete::env::{Elvish, EnvCompleter as _, Powershell};
use taskyard::core::render::{escaping, state_in_words};
use taskyard::core::rules::agents::is_same_agent;
use taskyard::core::rules::changes::notes::participants;
use taskyard::core::{Entry, Task};
use taskyard::process::Cancel;
use taskyard::store::HistoryQuery;
use taskyard_jobs::processes;

use crate::arguments::{Globals, only_ids_before, written_out};
use crate::context::Context;
use crate::environment::{Environment, TASKYARD_COMPLETE};
use crate::exit::Problem;
use crate::template_files::TemplateFiles;

/// Returns whether a shell requests completions.
pub(crate) fn is_asked(environment: &Environment) -> bool {
    environment.complete.is_some()
}

/// Answers a completion request. The words so far follow `--`.
pub(crate) fn answer(program: clap::Command, typed: &[OsString], environment: &Environment) -> io::Result<()> {
    // Reading a list may briefly hold a lock.
    processes::end_in_order_when_stopped(Cancel::new());
    let shell = environment.complete.as_deref().unwrap_or_default();
    let mut words: Vec<OsString> = typed.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
    let mut typed_before = String::new();
    if shell == "bash" {
        let line = words.first().map(|line| line.to_string_lossy().into_owned()).unwrap_or_default();
        let line = take_apart(&line);
        words = line.words.into_iter().map(OsString::from).collect();
        typed_before = line.typed_before;
    }
    if words.is_empty() {
        return Ok(());
    }
    let source = Source::new(globals(&words), environment.clone());
    let words = spelled_out(words);
    let mut command = with_candidates(program, &source);
    command.build();
    let here = std::env::current_dir().ok();
    let mut out = Vec::new();
    match shell {
        "elvish" => Elvish.write_complete(&mut command, words, here.as_deref(), &mut out)?,
        "powershell" | "pwsh" => Powershell.write_complete(&mut command, words, here.as_deref(), &mut out)?,
        _ => {
            let current = words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            let index = words.len() - 1;
            for found in wanted(complete(&mut command, words, index, here.as_deref())?, &current) {
                writeln!(out, "{}", told(&found, shell, &typed_before))?;
            }
        }
    }
    io::stdout().write_all(&out)
}

/// Expands an abbreviated command line before the word at the cursor. After ids, completes a command.
fn spelled_out(mut words: Vec<OsString>) -> Vec<OsString> {
    let Some(current) = words.pop() else { return words };
    if let Some(at) = only_ids_before(&words) {
        words.truncate(at);
    } else {
        words = written_out(words);
    }
    words.push(current);
    words
}

/// Removes flags if anything else is possible, unless a flag has been begun.
fn wanted(mut found: Vec<CompletionCandidate>, current: &str) -> Vec<CompletionCandidate> {
    let is_flag = |found: &CompletionCandidate| found.get_value().to_string_lossy().starts_with('-');
    if !current.starts_with('-') && found.iter().any(|found| !is_flag(found)) {
        found.retain(|found| !is_flag(found));
    }
    found
}

/// Formats a candidate for a shell.
fn told(found: &CompletionCandidate, shell: &str, typed_before: &str) -> String {
    let value = found.get_value().to_string_lossy();
    let about = found.get_help().map(ToString::to_string).unwrap_or_default();
    let about = about.lines().next().unwrap_or_default().replace('\t', " ");
    match shell {
        "bash" => format!("{}\t{about}", quoted(value.strip_prefix(typed_before).unwrap_or(&value))),
        "zsh" => {
            let escaped = |text: &str| text.replace('\\', "\\\\");
            let colon = if about.is_empty() { "" } else { ":" };
            format!("{}{colon}{}", escaped(&value).replace(':', "\\:"), escaped(&about))
        }
        _ => format!("{value}\t{about}"),
    }
}

/// Returns the list and store given so far. Incomplete flags are ignored.
pub(crate) fn globals(words: &[OsString]) -> Globals {
    /// The flags that decide which list is meant.
    #[derive(clap::Parser)]
    #[command(ignore_errors = true, disable_help_flag = true)]
    struct Typed {
        #[command(flatten)]
        globals: Globals,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        _rest: Vec<OsString>,
    }

    let flags = ["--list", "--store", "--as", "--rules", "--client-version"];
    let mut given: Vec<OsString> = vec!["taskyard".into()];
    // The word at the cursor is unfinished.
    let mut before = words[..words.len() - 1].iter();
    while let Some(word) = before.next() {
        let text = word.to_string_lossy();
        if flags.iter().any(|flag| text.starts_with(&format!("{flag}="))) {
            given.push(word.clone());
        } else if flags.contains(&text.as_ref())
            && let Some(value) = before.next()
        {
            given.extend([word.clone(), value.clone()]);
        }
    }
    Typed::try_parse_from(given).map(|typed| typed.globals).unwrap_or_default()
}

/// Maximum number of candidates.
const MOST: usize = 1000;

/// Maximum number of revisions offered.
const REVISIONS: usize = 30;

/// The source of candidates: the list and store given so far.
#[derive(Clone, Debug)]
struct Source(Arc<(Globals, Environment)>);

/// The tasks to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tasks {
    /// All tasks, open ones first.
    All,
    Open,
    Completed,
}

impl Tasks {
    /// Returns the tasks that an argument of a command accepts.
    fn of(command: &str, argument: &str) -> Self {
        match (command, argument) {
            ("start" | "done" | "cancel" | "claim" | "release" | "renew", _) => Self::Open,
            ("reopen", _) => Self::Completed,
            _ => Self::All,
        }
    }
}

impl Source {
    fn new(globals: Globals, environment: Environment) -> Self {
        Self(Arc::new((globals, environment)))
    }

    fn context(&self) -> Context {
        let (globals, environment) = &*self.0;
        Context::new(globals.clone(), environment.clone(), Cancel::new())
    }

    fn present(&self) -> Result<Vec<Task>, Problem> {
        let context = self.context();
        let list = context.choice()?.list;
        Ok(context.store()?.read(&list)?.tasks()?)
    }

    fn tasks(&self, which: Tasks) -> Vec<CompletionCandidate> {
        let mut tasks = self.present().unwrap_or_default();
        tasks.retain(|task| !task.is_internal());
        tasks.retain(|task| which == Tasks::All || task.status.is_open() == (which == Tasks::Open));
        tasks.sort_by_key(|task| !task.status.is_open());
        tasks.truncate(MOST);
        let about = |task: &Task| match task.status.is_open() && task.owner().is_none() {
            true => task.shown_subject().into_owned(),
            false => {
                let whose = task.owner().map(|owner| format!(", {owner}")).unwrap_or_default();
                format!("{} [{}{whose}]", task.shown_subject(), state_in_words(task))
            }
        };
        tasks.iter().map(|task| candidate(task.id.as_str(), Some(&about(task)))).collect()
    }

    fn missing(&self) -> Vec<CompletionCandidate> {
        let restorable = self.context().yard().and_then(|yard| Ok(yard.restorable()?)).unwrap_or_default();
        let tasks = restorable.iter().take(MOST).map(|restorable| &restorable.task);
        tasks.map(|task| candidate(task.id.as_str(), Some(&task.shown_subject()))).collect()
    }

    fn tags(&self) -> Vec<CompletionCandidate> {
        let tasks = self.present().unwrap_or_default();
        let tags: BTreeSet<&str> = tasks.iter().flat_map(Task::tags).collect();
        tags.into_iter().map(|tag| candidate(tag, None)).collect()
    }

    /// Returns the roles that tasks are restricted to.
    fn roles(&self) -> Vec<CompletionCandidate> {
        let tasks = self.present().unwrap_or_default();
        let allowed = tasks.iter().filter_map(|task| task.meta("assignable_to")?.as_array()).flatten();
        let roles: BTreeSet<&str> = allowed.filter_map(|name| name.as_str()?.strip_prefix("role:")).collect();
        roles.into_iter().map(|role| candidate(role, None)).collect()
    }

    /// Returns the agents that own tasks, wrote notes or are in a team.
    fn agents(&self) -> Vec<CompletionCandidate> {
        let context = self.context();
        let tasks = self.present().unwrap_or_default();
        let mut names: BTreeSet<String> = tasks
            .iter()
            .flat_map(participants)
            .map(str::to_owned)
            .chain(context.actor().ok().map(|name| name.to_string()))
            .collect();
        let teams = context.teams().and_then(|teams| Ok(teams.list()?)).unwrap_or_default();
        for member in teams.iter().flat_map(|team| &team.members) {
            if !names.iter().any(|name| is_same_agent(name, &member.name)) {
                names.insert(member.name.clone());
            }
        }
        names.iter().map(|name| candidate(name, None)).collect()
    }

    /// Returns the lists of the store with their task counts.
    fn lists(&self) -> Vec<CompletionCandidate> {
        let lists = self.context().store().and_then(|store| Ok(store.lists()?)).unwrap_or_default();
        let about = |[pending, in_progress, completed]: [usize; 3]| {
            format!("{} open, {completed} completed", pending + in_progress)
        };
        lists.iter().take(MOST).map(|info| candidate(info.list.as_str(), Some(&about(info.counts)))).collect()
    }

    /// Returns the teams with their members.
    fn teams(&self) -> Vec<CompletionCandidate> {
        let teams = self.context().teams().and_then(|teams| Ok(teams.list()?)).unwrap_or_default();
        let members = |team: &taskyard::core::Team| {
            team.members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        teams.iter().map(|team| candidate(team.name.as_str(), Some(&members(team)))).collect()
    }

    /// Returns the user's templates.
    fn templates(&self) -> Vec<CompletionCandidate> {
        let names = TemplateFiles::of(self.context().environment()).and_then(|files| files.names());
        names.unwrap_or_default().iter().map(|name| candidate(name, None)).collect()
    }

    /// Returns the jobs, running ones first.
    fn jobs(&self) -> Vec<CompletionCandidate> {
        let mut jobs = self.context().jobs().and_then(|jobs| Ok(jobs.list()?)).unwrap_or_default();
        jobs.sort_by_key(|job| job.state().is_over());
        let about = |job: &taskyard::core::Job| format!("{} [{}]", job.description, job.state().as_str());
        jobs.iter().take(MOST).map(|job| candidate(job.id.as_str(), Some(&about(job)))).collect()
    }

    /// Returns the newest revisions with what each did.
    fn revisions(&self) -> Vec<CompletionCandidate> {
        let context = self.context();
        let query = HistoryQuery { newest: Some(REVISIONS), ..HistoryQuery::default() };
        let entries = context.yard().and_then(|yard| Ok(yard.history(&query)?)).unwrap_or_default();
        let about = |entry: &Entry| {
            format!("{} {} #{}", entry.actor, taskyard::core::render::op_in_words(entry.op), entry.task)
        };
        let mut entries: Vec<&Entry> =
            entries.chunk_by(|one, two| one.revision == two.revision).filter_map(<[_]>::first).collect();
        entries.reverse();
        entries.iter().map(|entry| candidate(&entry.revision.to_string(), Some(&about(entry)))).collect()
    }

    /// Returns the possible terms of a query.
    fn query_words(&self) -> Vec<CompletionCandidate> {
        let mut words: Vec<CompletionCandidate> =
            ["ready", "blocked", "overdue", "deferred", "not", "or", "older:2d", "changed:1h", "due:1w"]
                .map(CompletionCandidate::new)
                .into();
        for (key, values) in
            [("status", ["pending", "in_progress", "completed"]), ("priority", ["high", "medium", "low"])]
        {
            words.extend(values.map(|value| CompletionCandidate::new(format!("{key}:{value}"))));
        }
        for (key, found) in [("tag", self.tags()), ("owner", self.agents())] {
            words.extend(found.into_iter().map(|found| found.add_prefix(format!("{key}:"))));
        }
        words
    }
}

/// Returns a candidate whose description is safe to show on a terminal.
fn candidate(value: &str, about: Option<&str>) -> CompletionCandidate {
    let about = about.map(|about| escaping::one_line(about).into_owned());
    CompletionCandidate::new(value).help(about.map(Into::into))
}

/// A command line split into words.
#[derive(Debug, PartialEq, Eq)]
struct CommandLine {
    /// The words; the last one is at the cursor and may be empty.
    words: Vec<String>,
    /// The part of the last word that readline treats as a separate word, which must not be repeated.
    typed_before: String,
}

/// Splits a command line as a shell does, with quotes and backslashes. Ignores what precedes the last command
/// separator.
fn take_apart(line: &str) -> CommandLine {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (Some('"'), '\\') | (None, '\\') => word.extend(characters.next()),
            (Some(_), character) => word.push(character),
            (None, '\'' | '"') => quote = Some(character),
            (None, ';' | '|' | '&' | '(') => {
                words.clear();
                word.clear();
            }
            (None, character) if character.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, character) => word.push(character),
        }
    }
    let end = word.rfind([':', '=']).map_or(0, |at| at + 1);
    let typed_before = word[..end].to_owned();
    words.push(word);
    CommandLine { words, typed_before }
}

/// Quotes a word for bash.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_./:=@%+,~^#".contains(character);
    let mut quoted = String::new();
    for character in word.chars() {
        if !is_plain(character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

/// Possible values of arguments whose type does not list them.
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

/// Finds candidates for an argument.
type Find = Box<dyn Fn(&Source) -> Vec<CompletionCandidate> + Send + Sync>;

/// Attaches completers to all arguments of a command and its subcommands.
fn with_candidates(command: Command, source: &Source) -> Command {
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
        (_, _, "TEMPLATE_NAME") => arg.add(complete(Box::new(Source::templates))),
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

const NAMES: [&str; 2] = ["taskyard", "yd"];

/// Shows several candidates with descriptions, but a single one as a bare word. Words end where readline ends them.
const BASH: &str = r#"_taskyard() {
    local value about shown=()
    COMPREPLY=()
    while IFS=$'\t' read -r value about; do
        COMPREPLY+=("$value")
        shown+=("$value${about:+  ($about)}")
    done < <(VARIABLE=bash taskyard -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if ((${#COMPREPLY[@]} > 1)); then
        # A menu inserts what it shows.
        [[ $COMP_TYPE == 37 || $COMP_TYPE == 42 ]] || COMPREPLY=("${shown[@]}")
    elif [[ ${COMPREPLY-} == *[=/:] ]]; then
        compopt -o nospace
    fi
}
complete -o nosort -o bashdefault -o default -F _taskyard taskyard yd
"#;

const ZSH: &str = r#"#compdef taskyard yd
_taskyard() {
    local -a found
    found=("${(@f)$(VARIABLE=zsh taskyard -- "${(@Q)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ -n $found ]]; then
        _describe -V 'taskyard' found
    else
        _files
    fi
}
if [[ $funcstack[1] == _taskyard ]]; then
    _taskyard "$@"
else
    compdef _taskyard taskyard yd
fi
"#;

const FISH: &str = "complete --command NAME --keep-order --exclusive --arguments \
    '(VARIABLE=fish taskyard -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))'\n";

pub(crate) fn script(shell: Shell) -> String {
    let other = |register: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut script = Vec::new();
        // Writing to memory cannot fail.
        let _ = register(&mut script);
        String::from_utf8_lossy(&script).into_owned()
    };
    match shell {
        Shell::Bash => BASH.replace("VARIABLE", TASKYARD_COMPLETE),
        Shell::Zsh => ZSH.replace("VARIABLE", TASKYARD_COMPLETE),
        Shell::Fish => NAMES.map(|name| FISH.replace("NAME", name).replace("VARIABLE", TASKYARD_COMPLETE)).concat(),
        Shell::Elvish => other(&|script| {
            NAMES.iter().try_for_each(|name| Elvish.write_registration(TASKYARD_COMPLETE, name, name, name, script))
        }),
        _ => other(&|script| {
            NAMES.iter().try_for_each(|name| Powershell.write_registration(TASKYARD_COMPLETE, name, name, name, script))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, quoted, take_apart};

    #[test]
    fn a_line_is_taken_apart_as_a_shell_does() {
        let line = |text: &str| take_apart(text).words;
        assert_eq!(line("taskyard done "), ["taskyard", "done", ""]);
        assert_eq!(
            line("cd x && taskyard  create 'a b' \"c \\\" d\" e\\ f"),
            ["taskyard", "create", "a b", "c \" d", "e f"]
        );
        let CommandLine { words, typed_before } = take_apart("taskyard list --list=ro");
        assert_eq!((words[2].as_str(), typed_before.as_str()), ("--list=ro", "--list="));
        assert_eq!(take_apart("taskyard list status:pen").typed_before, "status:");
    }

    #[test]
    fn a_word_with_spaces_stays_one() {
        assert_eq!(quoted("a b$c"), "a\\ b\\$c");
        assert_eq!(quoted("--list=rocket"), "--list=rocket");
    }
}
