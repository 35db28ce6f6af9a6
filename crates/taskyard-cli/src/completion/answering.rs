//! Answering a shell.

use std::ffi::OsString;
use std::io::{self, Write as _};

use clap::Parser as _;
use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::{Elvish, EnvCompleter as _, Powershell};
use taskyard::process::Cancel;

use super::candidates::Source;
use super::command_line::{quoted, take_apart};
use super::kinds::with_candidates;
use crate::arguments::{Globals, only_ids_before, written_out};
use crate::environment::Environment;
use taskyard_jobs::signals;

/// Tells whether a shell asks what could stand at the cursor.
pub(crate) fn is_asked(environment: &Environment) -> bool {
    environment.complete.is_some()
}

/// Answers a shell that asks about a program, given as its parser knows it: the words so far stand behind `--`.
pub(crate) fn answer(program: clap::Command, typed: &[OsString], environment: &Environment) -> io::Result<()> {
    // A look at a list may hold a lock for a moment.
    signals::end_in_order_when_stopped(Cancel::new());
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

/// Writes short forms out before the word at the cursor; behind ids stands a command.
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

/// Leaves flags out where something else could stand there, unless one has been begun.
fn wanted(mut found: Vec<CompletionCandidate>, current: &str) -> Vec<CompletionCandidate> {
    let is_flag = |found: &CompletionCandidate| found.get_value().to_string_lossy().starts_with('-');
    if !current.starts_with('-') && found.iter().any(|found| !is_flag(found)) {
        found.retain(|found| !is_flag(found));
    }
    found
}

/// Returns one candidate as a shell wants it.
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

/// Returns what the line so far says of the list and the store; what cannot be understood yet says nothing.
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
    // The word at the cursor is not finished.
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
