//! Parses the text of a configuration file.

use std::io;
use std::path::Path;
use std::string::FromUtf8Error;

use super::{ConfigError, Layer, Origin, Settings};
use crate::opening::hide_passwords;
use crate::regular_file;
use crate::regular_file::NotRead;

/// The limit for the size of a configuration file.
const LARGEST: u64 = 1024 * 1024;

/// The known keys of each table; under `*` are names chosen by the user.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "store",
            "list",
            "rules",
            "client_version",
            "claims",
            "checks",
            "hooks",
            "jobs",
            "journal",
            "gc",
            "merge",
            "display",
            "board",
            "mcp",
            "kinds",
            "time",
            "lists",
            "work",
            "notify",
        ],
    ),
    ("claims", &["lease", "limit", "roles", "stale_owner"]),
    ("jobs", &["max_output", "quota", "keep", "grace", "output_form"]),
    ("journal", &["keep", "max_size"]),
    ("gc", &["auto"]),
    ("merge", &["put_back"]),
    ("display", &["completed_after", "style", "pager"]),
    ("board", &["keys", "theme"]),
    ("mcp", &["when_unset"]),
    ("kinds", &["marks"]),
    ("time", &["working_day"]),
    ("lists", &["per_branch"]),
    ("work", &["copy", "link", "setup", "review", "directory"]),
    ("notify", &["command", "on"]),
];

/// The keys of one hook.
const HOOK: &[&str] = &["type", "command", "args", "async", "matcher", "timeout", "stdin"];

/// Reads a file; `None` if it does not exist.
pub(crate) fn read(path: &Path, origin: Origin) -> Result<Option<Layer>, ConfigError> {
    // The user may choose where the user's own configuration leads, and many keep it behind a link.
    let read = match origin {
        Origin::User => regular_file::read_following(path, LARGEST),
        Origin::Project => regular_file::read(path, LARGEST),
    };
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(|error| NotRead::System(not_text(&error))));
    match text {
        Ok(text) => parse(path, &text, origin).map(Some),
        Err(why) if why.is_missing() => Ok(None),
        Err(why) => Err(ConfigError::Io { path: path.to_owned(), source: why.into() }),
    }
}

fn not_text(error: &FromUtf8Error) -> io::Error {
    let at = error.utf8_error().valid_up_to();
    io::Error::new(io::ErrorKind::InvalidData, format!("byte {at} is not UTF-8"))
}

fn parse(path: &Path, text: &str, origin: Origin) -> Result<Layer, ConfigError> {
    let wrong = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        ConfigError::Wrong {
            path: path.to_owned(),
            line,
            message: hide_passwords(error.message().trim()).replace('\n', "; "),
        }
    };
    let settings: Settings = toml::from_str(text).map_err(wrong)?;
    let table: toml::Table = toml::from_str(text).map_err(wrong)?;
    Ok(Layer { path: path.to_owned(), origin, settings, unknown: unknown_keys(&table), needs_trust: Vec::new() })
}

fn unknown_keys(table: &toml::Table) -> Vec<String> {
    let mut unknown = Vec::new();
    for (name, known) in KNOWN {
        let inner = if name.is_empty() { Some(table) } else { table.get(*name).and_then(toml::Value::as_table) };
        let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
        let keys = inner.into_iter().flat_map(toml::Table::keys).filter(|key| !known.contains(&key.as_str()));
        unknown.extend(keys.map(|key| format!("{prefix}{key}")));
    }
    for (event, hooks) in table.get("hooks").and_then(toml::Value::as_table).into_iter().flatten() {
        let keys = hooks.as_array().into_iter().flatten().filter_map(toml::Value::as_table).flat_map(toml::Table::keys);
        unknown.extend(keys.filter(|key| !HOOK.contains(&key.as_str())).map(|key| format!("hooks.{event}.{key}")));
    }
    unknown
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use taskyard_core::ClientVersion;

    use super::parse;
    use crate::config::{ConfigError, HookInput, Layer, Origin, RuleWord};

    fn parsed(text: &str) -> Result<Layer, ConfigError> {
        parse(Path::new("taskyard.toml"), text, Origin::User)
    }

    #[test]
    fn every_section_is_read_into_its_type() {
        let layer = parsed(
            r#"
            store = "file:.taskyard"
            list = "launch"
            rules = "client"
            client_version = "2.1.34"
            [claims]
            lease = "30m"
            limit = 2
            roles = { ana = ["backend", "docs"] }
            [checks]
            tests = "cargo test"
            [[hooks.TaskCompleted]]
            command = "./notify"
            timeout = 5
            stdin = "tasks"
            [jobs]
            max_output = "10MB"
            quota = "1GB"
            keep = "7d"
            output_form = "2.1.325"
            [display]
            completed_after = 3
            style = "flat"
            "#,
        )
        .unwrap();
        let settings = layer.settings;
        assert_eq!(layer.unknown, Vec::<String>::new());
        assert_eq!(settings.rules, Some(RuleWord::Client));
        assert_eq!(settings.client_version, Some(ClientVersion::V2_1_34));
        assert_eq!(settings.claims.lease, Some(Duration::from_secs(1800)));
        assert_eq!(settings.claims.roles["ana"], ["backend", "docs"]);
        assert_eq!(settings.checks["tests"], "cargo test");
        let hook = &settings.hooks["TaskCompleted"][0];
        assert_eq!((hook.kind.as_str(), hook.stdin), ("command", Some(HookInput::Tasks)));
        assert_eq!(hook.timeout, Some(Duration::from_secs(5)));
        assert_eq!(settings.jobs.max_output, Some(10 << 20));
        assert_eq!(settings.display.completed_after, Some(3));
    }

    #[test]
    fn keys_nobody_knows_are_kept_aside_and_not_refused() {
        let layer =
            parsed("colour = 1\n[display]\nstyl = \"x\"\n[[hooks.Stop]]\ncommand = \"x\"\nwhen = \"now\"").unwrap();
        assert_eq!(layer.unknown, ["colour", "display.styl", "hooks.Stop.when"]);
    }

    #[test]
    fn an_error_names_the_line() {
        let at = |text: &str| match parsed(text) {
            Err(ConfigError::Wrong { line, message, .. }) => (line, message),
            other => panic!("{other:?}"),
        };
        assert_eq!(at("store = \"x\"\nrules = \"lenient\"").0, 2);
        assert_eq!(at("\n\n[claims]\nlease = \"soon\"").0, 4);
        assert!(at("[claims]\nlease = \"soon\"").1.contains("invalid duration"));
        assert_eq!(at("store = ").0, 1);
    }
}
