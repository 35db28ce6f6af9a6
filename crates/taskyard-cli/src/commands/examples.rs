//! Two examples for the help of every command.

/// Each command with what people type.
pub(super) const EXAMPLES: [(&str, [&str; 2]); 60] = [
    ("create", ["create \"Write the parser\" --priority high --due fri", "add fix the login +ops due:fri after:4"]),
    ("list", ["list +ops ready", "list due:this-week --sort due"]),
    ("show", ["show 3", "show 3-5"]),
    ("search", ["search parser", "search parser --everywhere"]),
    ("ready", ["ready", "ready -n 3 --json"]),
    ("stats", ["stats", "stats --json"]),
    ("update", ["update 3 due:fri pri:high +ops", "update --where \"tag:beta not blocked\" --priority medium"]),
    ("edit", ["edit 3", "edit"]),
    ("note", ["note 3 the numbers are from the first run", "git log -1 | taskyard note 3 -"]),
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
    ("work", ["work -- claude -p \"do task {id}\"", "work -j 3 --where +ops -- ./do-task"]),
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
    ("hook", ["hook SessionStart < event.json", "hook Stop < event.json"]),
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

/// Returns what stands below the help of a command.
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
    use std::ffi::OsString;

    use clap::{CommandFactory as _, Parser as _};

    use super::{EXAMPLES, below_help};
    use crate::arguments::written_out;
    use crate::commands::Arguments;

    /// Takes an example apart as a shell does, as far as quotes go.
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
