//! The commands in groups, as help shows them, and what is meant by words of other programs.

use std::fmt::Write as _;

use clap::Command;

/// The commands, by what they are for.
const GROUPS: [(&str, &[&str]); 9] = [
    ("Tasks", &["create", "list", "show", "search", "ready", "stats", "update", "edit", "note", "task"]),
    ("Moving on", &["start", "done", "cancel", "reopen", "delete", "clear"]),
    ("Order", &["depend", "undepend", "graph"]),
    ("Sharing work", &["claim", "renew", "release", "work", "team", "send", "inbox", "todo"]),
    ("What happened", &["history", "undo", "restore", "watch", "board"]),
    ("Lists", &["lists", "where", "whoami", "use", "adopt", "merge", "move"]),
    ("Background commands", &["job"]),
    ("Other programs", &["import", "export", "setup", "prime", "hook", "statusline", "mcp", "serve", "token"]),
    ("Care", &["doctor", "gc", "backup", "db", "grant", "trust", "demo", "completions", "man", "help"]),
];

/// What words of other programs mean here.
const OTHER_WORDS: [(&str, &str); 46] = [
    ("add", "create"),
    ("new", "create"),
    ("make", "create"),
    ("ls", "list"),
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
    ("modify", "update"),
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
    ("rm", "delete"),
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

/// Has the help of the whole program show its commands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{options}}{{after-help}}", groups(&command));
    command.help_template(template)
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
        let is_command = |name: &str| command.get_subcommands().any(|inner| inner.get_name() == name);
        for (other, ours) in OTHER_WORDS {
            assert!(is_command(ours), "{ours}");
            assert!(!is_command(other), "{other}");
        }
        assert_eq!(meant_by("RM"), Some("delete"));
        assert_eq!(meant_by("frobnicate"), None);
    }
}
