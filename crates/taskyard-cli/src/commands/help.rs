//! Command groups, help topics, and the examples in help texts.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::Command;

/// The commands by group.
const GROUPS: [(&str, &[&str]); 9] = [
    ("Tasks", &["create", "list", "show", "search", "ready", "stats", "update", "edit", "note", "template", "task"]),
    ("Status", &["start", "done", "cancel", "reopen", "retry", "delete", "clear"]),
    ("Dependencies", &["depend", "undepend", "graph"]),
    ("Sharing work", &["claim", "renew", "release", "work", "worktrees", "diff", "team", "send", "inbox", "todo"]),
    ("History", &["history", "undo", "restore", "watch", "board"]),
    ("Lists", &["lists", "where", "whoami", "use", "adopt", "merge", "move"]),
    ("Background commands", &["job"]),
    ("Other programs", &["import", "export", "setup", "prime", "hook", "statusline", "mcp", "serve", "token"]),
    ("Maintenance", &["doctor", "gc", "backup", "db", "grant", "trust", "demo", "completions", "man", "help"]),
];

/// Other programs' names for our commands.
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

/// Returns our command for another program's name.
pub(crate) fn meant_by(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, ours)| *ours)
}

/// The reference to the global options in every help text.
const OPTIONS_HINT: &str = "Options of every command (--list, --as, --json, ...): see `taskyard help options`";

/// Groups the commands in the program's help, adds examples to each command's, and moves the global options to a
/// topic of their own.
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
    command.help_template(template).after_help(format!("{OPTIONS_HINT}\n\n{after}"))
}

/// Adds the reference to the global options to a command and its subcommands.
fn with_options_line(command: Command, before: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command =
        names.iter().fold(command, |command, name| command.mut_subcommand(name, |inner| with_options_line(inner, "")));
    command.after_help(format!("{before}{OPTIONS_HINT}"))
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
                if *name == "help" { Some("Show this help, or the help of a command".to_owned()) } else { about(name) };
            // Skip commands missing from this build.
            let Some(said) = said else { continue };
            let _ = writeln!(text, "  {name:<12} {}", said.replace(['{', '}'], ""));
        }
        text.push('\n');
    }
    text
}

/// The topics: name, description and page.
const TOPICS: [(&str, &str, &str); 6] = [
    ("query", "choose tasks in list, search, watch and --where", include_str!("../../../../docs/formats/query.md")),
    ("dates", "write dates and durations", include_str!("../../../../docs/formats/dates.md")),
    ("templates", "keep plans to make them again", include_str!("../../../../docs/formats/template.md")),
    ("config", "settings in taskyard.toml", include_str!("../../../../docs/formats/config.md")),
    ("lists", "which list is meant", include_str!("../../../../docs/lists.md")),
    ("agents", "work with agents from the command line", include_str!("../../../../docs/agents.md")),
];
/// The topic of the global options.
const OPTIONS_TOPIC: &str = "options";

/// Returns the topic page that a command line such as `help query` requests.
pub(crate) fn topic(typed: &[OsString], program: fn() -> Command) -> Option<String> {
    let words: Vec<&str> = typed.iter().skip(1).map(|word| word.to_str().unwrap_or_default()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !matches!(*word, "--json" | "--no-pager")).collect();
    match words[..] {
        // `help lists` is the topic; `lists --help` is the command.
        ["help", OPTIONS_TOPIC] => Some(options(program())),
        ["help", name] if TOPICS.iter().any(|(known, ..)| *known == name) => page(name, &program()),
        _ => None,
    }
}

pub(crate) fn page(name: &str, program: &Command) -> Option<String> {
    let (.., text) = TOPICS.iter().find(|(known, ..)| *known == name)?;
    let own = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
    let command = own.map(|about| {
        format!("\n(There is also a command: `taskyard {name}`. {about}: see `taskyard {name} --help`.)\n")
    });
    Some(format!("{text}{}", command.unwrap_or_default()))
}

/// Returns the global options.
pub(crate) fn options(program: Command) -> String {
    let mut command =
        program.disable_help_subcommand(true).term_width(100).help_template("Options of every command:\n\n{options}");
    let text = command.render_long_help().to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}

/// Returns the list of topics.
pub(crate) fn overview_of_topics() -> String {
    let mut text = String::from("Topics (`taskyard help TOPIC`):\n");
    let about = TOPICS.iter().map(|(name, about, _)| (*name, *about));
    for (name, about) in about.chain([(OPTIONS_TOPIC, "the options of every command: --list, --as, --json and others")])
    {
        let _ = writeln!(text, "  {name:<12} {about}");
    }
    text
}

/// Returns the manual pages of the topics, each with its file name.
pub(crate) fn manual_pages() -> Vec<(String, String)> {
    let page = |(name, about, text): &(&str, &str, &str)| (format!("taskyard-{name}.7"), roff(name, about, text));
    TOPICS.iter().map(page).collect()
}

/// Returns the manual page of a topic.
pub(crate) fn manual_page(name: &str) -> Option<String> {
    let (name, about, text) = TOPICS.iter().find(|(known, ..)| *known == name)?;
    Some(roff(name, about, text))
}

fn roff(name: &str, about: &str, text: &str) -> String {
    let mut page = format!(".TH taskyard-{name} 7\n.SH NAME\ntaskyard\\-{name} \\- {about}\n.SH DESCRIPTION\n.nf\n");
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        let _ = writeln!(page, "{guard}{line}");
    }
    page.push_str(".fi\n");
    page
}

/// The examples for each command.
pub(super) const EXAMPLES: [(&str, [&str; 2]); 63] = [
    ("create", ["create \"Write the parser\" --priority high --due fri", "add fix the login +ops due:fri after:4"]),
    ("list", ["list +ops ready", "list due:this-week --sort due"]),
    ("show", ["show 3", "show 3-5"]),
    ("search", ["search parser", "search parser --everywhere"]),
    ("ready", ["ready", "ready -n 3 --json"]),
    ("stats", ["stats", "stats --json"]),
    ("update", ["update 3 due:fri pri:high +ops", "update --where \"tag:beta not blocked\" --priority medium"]),
    ("edit", ["edit 3", "edit --where +release"]),
    ("note", ["note 3 the numbers are from the first run", "git log -1 | taskyard note 3 -"]),
    ("template", ["template save release 12-19 version=2.0", "create --template release version=2.1"]),
    (
        "task",
        ["task create mission \"Ship 1.0\" --repo app --version 1.0", "task create phase --parent 67 \"Phase 1\""],
    ),
    ("start", ["start 3", "start 3 4 --as ana"]),
    ("done", ["done 3", "done 3-5 8"]),
    ("cancel", ["cancel 3", "cancel --where \"older:90d no:owner\" --dry-run"]),
    ("reopen", ["reopen 3", "reopen 3 --keep-owner"]),
    ("retry", ["retry 3", "retry --where +ops"]),
    ("delete", ["delete 3", "delete 3 --with-parts"]),
    ("clear", ["clear", "clear --list scratch"]),
    ("depend", ["depend 3 4", "depend 3 on 4,5"]),
    ("undepend", ["undepend 3 4", "undepend 3 on 4,5"]),
    ("graph", ["graph", "graph --format svg > graph.svg"]),
    ("claim", ["claim 3 --as ana", "claim --next --wait --as ana"]),
    ("renew", ["renew 3 --token 12", "renew 3 --token 12 --ttl 30m"]),
    ("release", ["release 3", "release --agent ana"]),
    ("worktrees", ["worktrees", "worktrees merge 7 --done"]),
    ("diff", ["diff 7", "diff 7 --committed"]),
    (
        "work",
        ["work -- claude -p \"do task {id}\"", "work -j 4 --worktree --merge --check \"cargo test\" -- claude -p"],
    ),
    ("team", ["team create launch", "team join launch --as bo"]),
    ("send", ["send --to bo \"the schema is ready\"", "send --to bo --summary schema - < notes.txt"]),
    ("inbox", ["inbox --as bo", "inbox --ack"]),
    ("todo", ["todo read", "todo write < todos.json"]),
    ("history", ["history 3", "history --since yesterday"]),
    ("undo", ["undo", "undo 41..45"]),
    ("restore", ["restore", "restore 3"]),
    ("watch", ["watch", "watch tag:ops --since 2h"]),
    ("board", ["board", "board --list launch"]),
    ("lists", ["lists", "lists rename old new"]),
    ("where", ["where", "where --json"]),
    ("whoami", ["whoami", "whoami --as ana"]),
    ("use", ["use launch", "use --remove"]),
    ("adopt", ["adopt", "adopt 1b4e28ba"]),
    ("merge", ["merge old new", "merge old new --open"]),
    ("move", ["move launch --to postgres://ana@db/tasks", "move launch --to file:.taskyard --dry-run"]),
    ("job", ["job run --wait --task 3 -- cargo test", "job output b3f7a2c --follow"]),
    ("import", ["import tasks.json --from taskmaster --dry-run", "import . --from backlog"]),
    ("export", ["export --to markdown plan.md", "export --to csv --where open"]),
    ("setup", ["setup claude", "setup --all --dry-run"]),
    ("prime", ["prime", "prime --as ana"]),
    ("hook", ["hook SessionStart < event.json", "hook SubagentStop < event.json"]),
    ("statusline", ["statusline < status.json", "setup claude --statusline"]),
    ("mcp", ["mcp", "mcp --tools all"]),
    ("serve", ["serve --open", "serve --port 8080"]),
    ("token", ["token list", "token create ci --scope read"]),
    ("doctor", ["doctor", "doctor --fix"]),
    ("gc", ["gc", "gc --dry-run"]),
    ("backup", ["backup ~/taskyard.tar", "restore --from ~/taskyard.tar"]),
    ("db", ["db status --store postgres://ana@db/tasks", "db init --store postgres://ana@db/tasks --role workers"]),
    (
        "grant",
        [
            "grant launch bo work --store postgres://ana@db/tasks",
            "grant launch bo read --store postgres://ana@db/tasks",
        ],
    ),
    ("trust", ["trust", "trust --remove"]),
    ("demo", ["demo", "demo --color always"]),
    ("completions", ["completions bash", "completions fish > ~/.config/fish/completions/taskyard.fish"]),
    ("man", ["man create", "man --out ~/.local/share/man/man1"]),
    ("help", ["help create", "help query"]),
];

/// Returns the examples shown below the help of a command.
pub(super) fn below_help(name: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(known, _)| *known == name)?;
    let line = |example: &&str| match example.contains("| taskyard ") {
        true => format!("  {example}\n"),
        false => format!("  taskyard {example}\n"),
    };
    Some(format!("Examples:\n{}", examples.iter().map(line).collect::<String>()))
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
    fn foreign_words_are_aliases_of_real_commands() {
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

#[cfg(test)]
mod topics_tests {
    use std::ffi::OsString;

    use clap::CommandFactory as _;

    use super::{TOPICS, manual_page, topic};
    use crate::commands::Arguments;

    fn asked(line: &str) -> Option<String> {
        topic(&line.split(' ').map(OsString::from).collect::<Vec<_>>(), Arguments::command)
    }

    #[test]
    fn every_topic_has_a_page_and_one_for_man() {
        for (name, ..) in TOPICS {
            assert!(asked(&format!("taskyard help {name}")).unwrap().starts_with("# "), "{name}");
            assert!(manual_page(name).unwrap().contains(".SH DESCRIPTION"), "{name}");
        }
        assert!(asked("taskyard help options --no-pager").unwrap().contains("--client-version"));
        assert_eq!(asked("taskyard help create"), None);
        assert_eq!(asked("taskyard create query"), None);
    }
}

#[cfg(test)]
mod examples_tests {
    use std::ffi::OsString;

    use clap::{CommandFactory as _, Parser as _};

    use super::{EXAMPLES, below_help};
    use crate::arguments::written_out;
    use crate::commands::Arguments;

    /// Splits an example into words as a shell does with quotes.
    fn words(example: &str) -> Vec<OsString> {
        let example = example.split(" < ").next().unwrap().split(" > ").next().unwrap();
        let example =
            example.rsplit_once("taskyard note").map_or(example.to_owned(), |(_, rest)| format!("note{rest}"));
        let (mut words, mut word, mut is_quoted) = (vec![OsString::from("taskyard")], String::new(), false);
        for character in example.chars().chain([' ']) {
            match character {
                '"' => is_quoted = !is_quoted,
                ' ' if !is_quoted => {
                    if !word.is_empty() {
                        words.push(std::mem::take(&mut word).into());
                    }
                }
                character => word.push(character),
            }
        }
        words
    }

    #[test]
    fn every_command_has_two_examples_that_can_be_typed() {
        for inner in Arguments::command().get_subcommands().filter(|inner| !inner.is_hide_set()) {
            assert!(below_help(inner.get_name()).is_some(), "{}", inner.get_name());
        }
        for (name, examples) in EXAMPLES {
            for example in examples.iter().filter(|_| name != "help") {
                let typed = written_out(words(example));
                Arguments::try_parse_from(&typed).unwrap_or_else(|error| panic!("{example}: {error}"));
            }
        }
    }
}
