//! The commands in groups, as help shows them, and what is meant by words of other programs.

use std::fmt::Write as _;

use clap::Command;

use super::examples::below_help;
use super::topics::overview_of_topics;

/// The commands, by what they are for.
const GROUPS: [(&str, &[&str]); 9] = [
    ("Tasks", &["create", "list", "show", "search", "ready", "stats", "update", "edit", "note", "task"]),
    ("Moving on", &["start", "done", "cancel", "reopen", "retry", "delete", "clear"]),
    ("Order", &["depend", "undepend", "graph"]),
    ("Sharing work", &["claim", "renew", "release", "work", "team", "send", "inbox", "todo"]),
    ("What happened", &["history", "undo", "restore", "watch", "board"]),
    ("Lists", &["lists", "where", "whoami", "use", "adopt", "merge", "move"]),
    ("Background commands", &["job"]),
    ("Other programs", &["import", "export", "setup", "prime", "hook", "statusline", "mcp", "serve", "token"]),
    ("Care", &["doctor", "gc", "backup", "db", "grant", "trust", "demo", "completions", "man", "help"]),
];

/// What words of other programs mean here.
const OTHER_WORDS: [(&str, &str); 42] = [
    ("new", "create"),
    ("make", "create"),
    ("tasks", "list"),
    ("all", "list"),
    ("cat", "show"),
    ("view", "show"),
    ("get", "show"),
    ("info", "show"),
    ("describe", "show"),
    ("find", "search"),
    ("grep", "search"),
    ("next", "ready"),
    ("status", "stats"),
    ("set", "update"),
    ("change", "update"),
    ("assign", "update"),
    ("comment", "note"),
    ("remark", "note"),
    ("annotate", "note"),
    ("begin", "start"),
    ("close", "done"),
    ("finish", "done"),
    ("complete", "done"),
    ("end", "done"),
    ("resolve", "done"),
    ("drop", "cancel"),
    ("abandon", "cancel"),
    ("open", "reopen"),
    ("remove", "delete"),
    ("del", "delete"),
    ("block", "depend"),
    ("unblock", "undepend"),
    ("dag", "graph"),
    ("take", "claim"),
    ("pick", "claim"),
    ("log", "history"),
    ("revert", "undo"),
    ("recover", "restore"),
    ("msg", "send"),
    ("mail", "inbox"),
    ("switch", "use"),
    ("fix", "doctor"),
];

/// Returns what is meant by a word that is no command of ours.
pub(crate) fn meant_by(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, ours)| *ours)
}

/// What the help of every command says of the options that all take.
const OPTIONS: &str = "Options of every command (--list, --as, --json, ...): see `taskyard help options`";

/// Has the help of the whole program show its commands in groups, and that of each command its examples; the options of every command are
/// a topic of their own.
pub(crate) fn grouped(command: Command) -> Command {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{}\n{{options}}{{after-help}}",
        groups(&command),
        overview_of_topics()
    );
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |inner| {
            let examples = below_help(name).map(|examples| format!("{examples}\n")).unwrap_or_default();
            with_options_line(inner, &examples)
        })
    });
    let command = command.mut_args(|arg| {
        let everywhere = arg.is_global_set();
        arg.hide(everywhere)
    });
    command.help_template(template).after_help(format!("{OPTIONS}\n\n{after}"))
}

/// Names the options of every command below the help of a command and of those below it.
fn with_options_line(command: Command, before: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command =
        names.iter().fold(command, |command, name| command.mut_subcommand(name, |inner| with_options_line(inner, "")));
    command.after_help(format!("{before}{OPTIONS}"))
}

fn groups(command: &Command) -> String {
    let about = |name: &str| {
        let found = command.get_subcommands().find(|inner| inner.get_name() == name);
        found.and_then(Command::get_about).map(ToString::to_string)
    };
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{heading}:");
        for name in names {
            let said =
                if *name == "help" { Some("Show this, or the help of a command".to_owned()) } else { about(name) };
            // A command that this build does not have is not named.
            let Some(said) = said else { continue };
            let _ = writeln!(text, "  {name:<12} {}", said.replace(['{', '}'], ""));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{GROUPS, OTHER_WORDS, meant_by};
    use crate::commands::Arguments;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Arguments::command();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let mut all: Vec<&str> = command
            .get_subcommands()
            .filter(|inner| !inner.is_hide_set())
            .map(clap::Command::get_name)
            .chain(["help"])
            .collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn words_of_others_mean_commands_that_there_are_and_are_none_themselves() {
        let command = Arguments::command();
        let is_command = |name: &str| {
            command.get_subcommands().any(|inner| {
                inner.get_name_and_visible_aliases().contains(&name)
                    || inner.get_all_aliases().any(|alias| alias == name)
            })
        };
        for (other, ours) in OTHER_WORDS {
            assert!(is_command(ours), "{ours}");
            assert!(!is_command(other), "{other}");
        }
        assert_eq!(meant_by("DEL"), Some("delete"));
        assert_eq!(meant_by("frobnicate"), None);
    }
}
