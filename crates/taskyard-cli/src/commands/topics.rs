//! The help topics: pages that belong to no command.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::Command;

/// The topics, what each is about, and its page.
const TOPICS: [(&str, &str, &str); 5] = [
    ("query", "choose tasks in list, search, watch and --where", include_str!("../../../../docs/formats/query.md")),
    ("dates", "write dates and durations", include_str!("../../../../docs/formats/dates.md")),
    ("config", "settings in taskyard.toml", include_str!("../../../../docs/formats/config.md")),
    ("lists", "which list is meant", include_str!("../../../../docs/lists.md")),
    ("agents", "work with agents from the command line", include_str!("../../../../docs/agents.md")),
];
/// The topic with the options of every command.
const OPTIONS: &str = "options";

/// Returns the page that a command line of a program asks for: `help query`.
pub(crate) fn topic(typed: &[OsString], program: fn() -> Command) -> Option<String> {
    let words: Vec<&str> = typed.iter().skip(1).map(|word| word.to_str().unwrap_or_default()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !matches!(*word, "--json" | "--no-pager")).collect();
    match words[..] {
        // `help lists` is the page; `lists --help` is the command.
        ["help", OPTIONS] => Some(options(program())),
        ["help", name] if TOPICS.iter().any(|(known, ..)| *known == name) => page(name, &program()),
        _ => None,
    }
}

/// Returns the page of a topic.
pub(crate) fn page(name: &str, program: &Command) -> Option<String> {
    let (.., text) = TOPICS.iter().find(|(known, ..)| *known == name)?;
    let own = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
    let command = own.map(|about| {
        format!("\n(There is also a command: `taskyard {name}`. {about}: see `taskyard {name} --help`.)\n")
    });
    Some(format!("{text}{}", command.unwrap_or_default()))
}

/// Returns the options that every command takes.
pub(crate) fn options(program: Command) -> String {
    let mut command =
        program.disable_help_subcommand(true).term_width(100).help_template("Options of every command:\n\n{options}");
    let text = command.render_long_help().to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}

/// Returns the lines that name the topics.
pub(crate) fn overview_of_topics() -> String {
    let mut text = String::from("Topics (`taskyard help TOPIC`):\n");
    let about = TOPICS.iter().map(|(name, about, _)| (*name, *about));
    for (name, about) in about.chain([(OPTIONS, "the options of every command: --list, --as, --json and others")]) {
        let _ = writeln!(text, "  {name:<12} {about}");
    }
    text
}

/// Returns the pages for `man`, each with the name of its file.
pub(crate) fn manual_pages() -> Vec<(String, String)> {
    let page = |(name, about, text): &(&str, &str, &str)| (format!("taskyard-{name}.7"), roff(name, about, text));
    TOPICS.iter().map(page).collect()
}

/// Returns the page of a topic for `man`.
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

#[cfg(test)]
mod tests {
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
