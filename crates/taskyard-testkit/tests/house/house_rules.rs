//! What a machine can settle of how this project is built: the arrows between crates, and the shape of files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The arrows of ARCHITECTURE.md: which crate may depend on which. Tests may also use the testkit.
const ARROWS: [(&str, &[&str]); 10] = [
    ("taskyard-core", &[]),
    ("taskyard", &["taskyard-core"]),
    ("taskyard-board", &["taskyard", "taskyard-jobs"]),
    (
        "taskyard-cli",
        &[
            "taskyard",
            "taskyard-board",
            "taskyard-jobs",
            "taskyard-mcp",
            "taskyard-postgres",
            "taskyard-server",
            "taskyard-setup",
        ],
    ),
    ("taskyard-jobs", &["taskyard"]),
    ("taskyard-mcp", &["taskyard", "taskyard-jobs"]),
    ("taskyard-postgres", &["taskyard"]),
    ("taskyard-server", &["taskyard", "taskyard-jobs", "taskyard-mcp"]),
    ("taskyard-setup", &["taskyard"]),
    ("taskyard-testkit", &["taskyard"]),
];

/// A file is a chapter: one subject, usually 100 to 500 lines.
const LONGEST_FILE: usize = 800;
/// A source file with fewer lines of code than this usually belongs in the file that uses it.
const SHORT_FILE: usize = 40;
/// Number of source files shorter than `SHORT_FILE`. It may only fall: merge files, then lower it.
const SHORT_FILES: usize = 226;
const NAMES_THAT_SAY_NOTHING: [&str; 7] =
    ["util.rs", "utils.rs", "helpers.rs", "common.rs", "misc.rs", "imp.rs", "lib_impl.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the dependencies of a crate on crates of ours: those it ships with, and those of its tests.
fn arrows_of(manifest: &str) -> (Vec<String>, Vec<String>) {
    let (mut shipped, mut tests) = (Vec::new(), Vec::new());
    let mut section = "";
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some(name) = line.split(['=', '.', ' ']).next().filter(|name| name.starts_with("taskyard")) {
            match section {
                "[dependencies]" | "[build-dependencies]" => shipped.push(name.to_owned()),
                "[dev-dependencies]" => tests.push(name.to_owned()),
                _ => {}
            }
        }
    }
    (shipped, tests)
}

#[test]
fn crates_depend_on_each_other_as_drawn_and_in_no_other_way() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    let mut seen = 0;
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let (shipped, tests) = arrows_of(&manifest);
        let allowed =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in ARCHITECTURE.md's drawing"));
        for arrow in &shipped {
            assert!(
                allowed.contains(&arrow.as_str()),
                "{name} -> {arrow} is a new arrow; draw it first, with the reason"
            );
        }
        for arrow in &tests {
            assert!(
                allowed.contains(&arrow.as_str()) || arrow == "taskyard-testkit",
                "the tests of {name} use {arrow}, which is neither drawn nor the testkit"
            );
        }
        seen += 1;
    }
    assert_eq!(seen, ARROWS.len(), "a crate was added or removed; ARCHITECTURE.md and this test say which there are");
}

#[test]
fn a_new_arrow_is_noticed() {
    let (shipped, tests) =
        arrows_of("[dependencies]\ntaskyard-cli.workspace = true\n[dev-dependencies]\ntaskyard = { path = \"x\" }\n");
    assert_eq!((shipped, tests), (vec!["taskyard-cli".to_owned()], vec!["taskyard".to_owned()]));
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn files_have_one_subject_and_are_named_for_it() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert!(files.len() > 50, "the sources were not found");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let is_test = file.components().any(|part| part.as_os_str() == "tests");
        assert!(!NAMES_THAT_SAY_NOTHING.contains(&name), "{}: the name says nothing", file.display());
        assert!(
            is_test || text.lines().count() <= LONGEST_FILE,
            "{}: over {LONGEST_FILE} lines; split it by subject",
            file.display()
        );
        let ignored = ["#[ig", "nore"].concat();
        assert!(!text.contains(&ignored), "{}: an ignored test says nothing", file.display());
        if name == "mod.rs" {
            let has_logic =
                text.lines().any(|line| line.trim_start().starts_with("fn ") || line.starts_with("pub fn "));
            assert!(!has_logic, "{}: a mod.rs declares and re-exports", file.display());
            let introduction: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
            assert!(
                is_test || introduction.to_lowercase().contains("begin"),
                "{}: a mod.rs says what the folder is and where to begin reading",
                file.display()
            );
        }
    }
}

#[test]
fn no_new_file_is_too_short_for_a_chapter() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let is_short = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        let code = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("//"));
        code.count() < SHORT_FILE
    };
    let is_chapter = |file: &PathBuf| {
        let declares = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| file.ends_with(name));
        !declares && file.components().any(|part| part.as_os_str() == "src")
    };
    let short = files.iter().filter(|file| is_chapter(file) && is_short(file)).count();
    assert!(
        short <= SHORT_FILES,
        "{short} source files have fewer than {SHORT_FILE} lines of code, {SHORT_FILES} allowed"
    );
}

#[test]
fn test_names_have_at_most_60_characters() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut names = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut lines = text.lines().map(str::trim_start);
        while let Some(line) = lines.next() {
            if !(line.starts_with("#[test]") || line.starts_with("#[tokio::test")) {
                continue;
            }
            let declared = lines.find_map(|line| line.trim_start_matches("async ").strip_prefix("fn "));
            let Some((name, _)) = declared.and_then(|rest| rest.split_once('(')) else { continue };
            names += 1;
            assert!(name.len() <= 60, "{}: the name of test `{name}` is too long", file.display());
        }
    }
    assert!(names > 1_000, "the tests were not found");
}

#[test]
fn imports_name_what_they_bring() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    for file in files {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let is_glob = line.trim_start().starts_with("use ") && line.trim_end().ends_with("::*;");
            let is_allowed = line.contains("proptest::prelude::*");
            assert!(!is_glob || is_allowed, "{}: `{}` hides where names come from", file.display(), line.trim());
        }
    }
}

/// What makes a file or directory.
const MAKES_FILES: [&str; 11] = [
    "create_dir",
    " File::create",
    "fs::File::create",
    ".create(true)",
    "create_new(true)",
    "fs::write(",
    "fs::copy(",
    "DirBuilder",
    "OFlags::CREATE",
    "mkdir",
    "SQLITE_OPEN_CREATE",
];

/// The modules that make files that are not ours, with the modes that the user's umask gives them. `taskyard/src/private` makes everything
/// else, so that no other user can read it.
const MAKE_FILES_OF_OTHERS: [(&str, &str); 23] = [
    ("taskyard-jobs/src/worktrees/moving_base.rs", "files in a git directory"),
    ("taskyard-jobs/src/worktrees/repository.rs", "directories in a git directory"),
    ("taskyard-jobs/src/worktrees/creating.rs", "the directory of worktrees"),
    ("taskyard-jobs/src/worktrees/merging.rs", "the directory of worktrees"),
    ("taskyard-jobs/src/worktrees/provisions.rs", "the files that a worktree gets"),
    ("taskyard/src/backup/backup_contents.rs", "files of lists and teams that come back from a backup"),
    ("taskyard/src/interchange.rs", "an export is the user's"),
    ("taskyard/src/regular_file.rs", "what takes the place of another's file"),
    ("taskyard-setup/src/applying.rs", "the settings of other agents"),
    ("taskyard/src/store/document/held.rs", "a document and its old version"),
    ("taskyard/src/failpoint.rs", "the trace of a test"),
    ("taskyard/src/store/file/reading/files.rs", "task files"),
    ("taskyard/src/store/locks/guarded.rs", "inboxes and team files"),
    ("taskyard/src/store/locks/client_lock.rs", "the client's locks"),
    ("taskyard/src/store/locks/list_paths.rs", "the directory of a list"),
    ("taskyard/src/store/file/commit.rs", "the file that locks a list"),
    ("taskyard/src/store/teaching/files.rs", "a teaching folder"),
    ("taskyard/src/teams/files/inboxes.rs", "the directories of inboxes"),
    ("taskyard/src/teams/files/team_files.rs", "the directories of a team and of its list"),
    ("taskyard/src/todos.rs", "the client's todo lists"),
    ("taskyard-cli/src/environment.rs", "the client's variables for a session"),
    ("taskyard-cli/src/commands/demo.rs", "the demonstration's own place"),
    ("taskyard-cli/src/commands/man.rs", "pages of the manual"),
];

/// The one line of a file that otherwise makes what is ours.
const MAKES_BOTH: [(&str, &str); 1] = [("taskyard/src/teams/files/file_teams.rs", "fs::create_dir(directory)")];

#[test]
fn what_is_ours_is_made_by_the_one_module_that_makes_it_private() {
    let crates = root().join("crates");
    let mut seen = BTreeMap::new();
    for folder in ["taskyard/src", "taskyard-jobs/src", "taskyard-setup/src", "taskyard-board/src", "taskyard-cli/src"]
    {
        let mut files = Vec::new();
        sources(&crates.join(folder), &mut files);
        for file in files.iter().filter(|file| !file.starts_with(crates.join("taskyard/src/private.rs"))) {
            let name = file.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(file).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
                let makes = MAKES_FILES.iter().any(|call| line.contains(call));
                if !makes || MAKES_BOTH.iter().any(|(path, part)| *path == name && line.contains(part)) {
                    continue;
                }
                assert!(
                    MAKE_FILES_OF_OTHERS.iter().any(|(path, _)| *path == name),
                    "{name}: `{line}` makes a file; what is ours is made by `taskyard::private`"
                );
                *seen.entry(name.clone()).or_insert(0) += 1;
            }
        }
    }
    let needless: Vec<_> = MAKE_FILES_OF_OTHERS.iter().filter(|(path, _)| !seen.contains_key(*path)).collect();
    assert!(needless.is_empty(), "these make no files any more: {needless:?}");
}

/// Returns the lines of a file's public items in which a type of a crate is named: signatures, fields and variants.
fn public_lines_naming<'a>(text: &'a str, crate_name: &str) -> Vec<&'a str> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let path = format!("{crate_name}::");
    let imports =
        text.split(';').filter_map(|line| line.trim().split_once(&format!("use {path}")).map(|(_, names)| names));
    let imported: Vec<&str> = imports
        .flat_map(|names| names.split(|symbol: char| !symbol.is_alphanumeric() && symbol != '_'))
        .filter(|name| name.starts_with(char::is_uppercase))
        .collect();
    let is_named = |line: &str| {
        let mut words = line.split(|symbol: char| !symbol.is_alphanumeric() && symbol != '_');
        line.contains(&path) || words.any(|word| imported.contains(&word))
    };
    // What ends the public item that a line is in; inside a struct only fields that are public themselves count.
    let (mut found, mut end, mut is_struct) = (Vec::new(), None, false);
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let (code, indent) = (line.trim_start(), line.len() - line.trim_start().len());
        let is_public = code.starts_with("pub ") && !code.starts_with("pub use");
        let is_conversion = code.starts_with("impl From<");
        if (is_public || is_conversion || end.is_some() && !is_struct) && is_named(code) {
            found.push(code);
        }
        let opens = code.ends_with(['{', '(']) && !is_conversion;
        let is_body = code.contains("fn ") && code.ends_with('{') || code.starts_with(")") && code.ends_with('{');
        match end {
            None if is_public && opens && !is_body => (end, is_struct) = (Some(indent), code.contains("struct ")),
            Some(of_item) if indent == of_item && code.starts_with(['}', ')']) => end = None,
            _ => {}
        }
    }
    found
}

#[test]
fn no_type_of_the_database_crate_is_public() {
    let mut files = Vec::new();
    sources(&root().join("crates/taskyard/src"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let found = public_lines_naming(&text, "rusqlite");
        assert!(found.is_empty(), "{}: who uses the library need not know SQLite: {found:?}", file.display());
    }
}

#[test]
fn a_public_type_of_another_crate_is_noticed() {
    let notice =
        |code: &str| public_lines_naming(&format!("use rusqlite::{{Connection, Row}};\n{code}"), "rusqlite").len();
    for public in [
        "pub enum Error {\n    Database { source: rusqlite::Error },\n}",
        "pub struct Machine {\n    pub connection: Connection,\n}",
        "pub fn read(row: &Row<'_>) -> u8 {",
        "    pub fn read(\n        &self,\n        row: &Row<'_>,\n    ) -> u8 {",
        "pub trait Read {\n    fn read(&self, row: &Row<'_>);\n}",
        "impl From<rusqlite::Error> for Error {",
    ] {
        assert_eq!(notice(public), 1, "{public}");
    }
    for private in [
        "pub struct Machine {\n    connection: Connection,\n}",
        "pub(crate) fn read(row: &Row<'_>) -> u8 {",
        "pub fn read(&self) -> u8 {\n    let read = |row: &Row<'_>| row.get(0);\n}",
        "/// Says what rusqlite::Error says.\npub fn say() {",
    ] {
        assert_eq!(notice(private), 0, "{private}");
    }
}

/// The modules that continue or stop processes: those that started them, and a test that stops its own.
const MAY_CONTINUE_AND_STOP: [&str; 3] = ["taskyard-jobs/src", "taskyard/src/process", "taskyard/src/failpoint.rs"];

#[test]
fn process_is_stopped_and_continued_only_by_its_starter() {
    let crates = root().join("crates");
    let (mut files, mut seen) = (Vec::new(), 0);
    for folder in ["taskyard/src", "taskyard-jobs/src", "taskyard-setup/src", "taskyard-board/src", "taskyard-cli/src"]
    {
        sources(&crates.join(folder), &mut files);
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if code.any(|line| ["Signal::CONT", "Signal::STOP", "Signal::TSTP"].iter().any(|signal| line.contains(signal)))
        {
            let is_allowed = MAY_CONTINUE_AND_STOP.iter().any(|place| file.starts_with(crates.join(place)));
            assert!(is_allowed, "{}: whose process is that?", file.display());
            seen += 1;
        }
    }
    assert!(seen > 0, "the signals were not found");
}

/// A limit of a test's own on how long something takes. The words are put together here so that this file is not one of those that hold
/// them.
fn limits_a_time(line: &str) -> bool {
    line.contains("assert!(") && line.contains(&["elapsed()", " <"].concat())
}

#[test]
fn no_test_has_a_limit_of_its_own_on_how_long_something_takes() {
    let crates = root().join("crates");
    let place = crates.join("taskyard-testkit/src/patience.rs");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    for file in files.into_iter().filter(|file| *file != place) {
        let text = fs::read_to_string(&file).unwrap();
        let limited = text.lines().find(|line| limits_a_time(line));
        assert!(
            limited.is_none(),
            "{}: `{}`; on a busy machine everything takes longer: `wait_until`, `is_once_within` and `Took` do not mind",
            file.display(),
            limited.unwrap_or_default().trim()
        );
    }
    assert!(limits_a_time(&["assert!(started.elapsed()", " < PATIENCE);"].concat()));
    assert!(!limits_a_time("assert!(started.elapsed() >= TTL);"));
}

/// What starts a process past the testkit. The words are put together here so that this file is not one of those that hold them.
fn starts_a_process(line: &str) -> bool {
    [["process::", "Command"], ["process::{", "Command"], ["Command", "::new("]]
        .iter()
        .any(|words| line.contains(&words.concat()))
}

#[test]
fn tests_start_processes_through_the_testkit_alone() {
    let crates = root().join("crates");
    let place = crates.join("taskyard-testkit/src/process.rs");
    let (mut files, mut seen) = (Vec::new(), 0);
    sources(&crates.join("taskyard-testkit"), &mut files);
    for folder in fs::read_dir(&crates).unwrap() {
        let tests = folder.unwrap().path().join("tests");
        if tests.exists() {
            sources(&tests, &mut files);
        }
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let started = text.lines().find(|line| starts_a_process(line));
        let is_allowed = file.starts_with(&place);
        assert!(
            is_allowed || started.is_none(),
            "{}: `{}`; `taskyard_testkit::Program` starts processes that no test leaves behind",
            file.display(),
            started.unwrap_or_default().trim()
        );
        seen += usize::from(started.is_some());
    }
    assert_eq!(
        seen, 1,
        "one file of the testkit starts processes: those of tests, and the one that ends what they leave behind"
    );
}

#[test]
fn a_process_that_is_started_past_the_testkit_is_noticed() {
    for line in
        [["use std::process::", "Command;"], ["use std::process::{", "Command, Stdio};"], ["    Command", "::new(x)"]]
    {
        assert!(starts_a_process(&line.concat()), "{line:?}");
    }
    assert!(!starts_a_process("use std::process::Stdio;") && !starts_a_process("Program::new(x)"));
}
