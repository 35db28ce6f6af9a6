//! The builder every test of a command goes through.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use taskyard_testkit::{Program, Rules, kill_all_with, list_builder, rules_under_test};
use tempfile::TempDir;

use crate::job_traces::{hide_jobs, jobs_in};

/// A home directory of its own with a project in it, the commands that were run there, and what they said.
pub(crate) struct Test {
    place: PathBuf,
    _directory: TempDir,
    environment: Vec<(OsString, Option<OsString>)>,
    /// The rules of commands that name none.
    rules: Rules,
    stdin: Option<Vec<u8>>,
    directory: String,
    transcript: String,
    /// The jobs that were heard of, in that order.
    jobs: Vec<String>,
}

impl Test {
    /// Returns an empty home with an empty directory `project`, from which commands run.
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let place = directory.path().canonicalize().unwrap();
        for inner in ["home/project", "data"] {
            std::fs::create_dir_all(place.join(inner)).unwrap();
        }
        Self {
            place,
            _directory: directory,
            environment: Vec::new(),
            rules: rules_under_test(),
            stdin: None,
            directory: String::new(),
            transcript: String::new(),
            jobs: Vec::new(),
        }
    }

    /// Has commands that name no rules follow the strict ones, whatever the rules under test are.
    pub(crate) fn strict(mut self) -> Self {
        self.rules = Rules::Strict;
        self
    }

    /// Writes task files for the list of the project: `1 pending; 2 in_progress (ana) "Title" <- 1`.
    pub(crate) fn list(self, tasks: &str) -> Self {
        self.list_named("project", tasks)
    }

    /// Writes task files for a list.
    pub(crate) fn list_named(self, list: &str, tasks: &str) -> Self {
        for (name, text) in list_builder::files(tasks) {
            self.write(&format!("home/.claude/tasks/{list}/{name}"), text.as_bytes());
        }
        self
    }

    /// Writes a file of the project's list.
    pub(crate) fn task_file(self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        self.file(&format!("home/.claude/tasks/project/{name}"), contents)
    }

    /// Writes any file, below `home/` or `data/`.
    pub(crate) fn file(self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        self.write(path, contents.as_ref());
        self
    }

    /// Sets a variable for the commands that follow.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    /// Takes a variable away from the commands that follow.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// Runs the commands that follow in a directory of the project.
    pub(crate) fn inside(mut self, directory: &str) -> Self {
        directory.clone_into(&mut self.directory);
        self
    }

    /// Gives the next command something to read.
    pub(crate) fn stdin(mut self, text: impl AsRef<[u8]>) -> Self {
        self.stdin = Some(text.as_ref().to_vec());
        self
    }

    /// Does something to the files between two commands.
    pub(crate) fn meanwhile(self, change: impl FnOnce(&Path)) -> Self {
        change(&self.place);
        self
    }

    /// Runs a command and writes down what it said. Words are split as a shell does, with `'` and `"`.
    pub(crate) fn run(mut self, line: &str) -> Self {
        let output = self.output_of(line);
        let _ = write!(self.transcript, "$ taskyard {}\n{}", hide_ids(&shown(line)), self.told(&output));
        self
    }

    /// Runs a command on a terminal of so many columns and writes down what appeared there. The second text is typed.
    #[cfg(unix)]
    pub(crate) fn on_terminal(mut self, columns: u16, line: &str, typed: &str) -> Self {
        let mut command = self.command(env!("CARGO_BIN_EXE_taskyard"));
        command.args(words(line));
        let (screen, status) = crate::terminal::run(command, columns, typed);
        let code = status.code().map_or_else(|| status.to_string(), |code| code.to_string());
        let screen = self.redacted(&screen.replace("\r\n", "\n").replace('\u{1b}', "\\e"));
        let _ = writeln!(self.transcript, "$ taskyard {}\n{screen}--- exit {code}\n", shown(line));
        self
    }

    /// Runs a command that must succeed, and does not write it down.
    pub(crate) fn quietly(mut self, line: &str) -> Self {
        let output = self.output_of(line);
        assert!(output.status.success(), "taskyard {line}\n{}", self.told(&output));
        self
    }

    /// Runs a command and returns the JSON it answered with.
    pub(crate) fn json(&mut self, line: &str) -> Value {
        let output = self.output_of(line);
        let text = String::from_utf8(output.stdout).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("taskyard {line}: {error}\n{text}"))
    }

    /// Returns a command of ours in the project, with a clean environment.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Program {
        let home = self.path("home");
        let mut command = Program::new(program.as_ref());
        command.env_clear().current_dir(home.join("project").join(&self.directory));
        command.env("HOME", &home).env("TASKYARD_HOME", self.path("data")).env("PATH", "/usr/bin:/bin");
        // Snapshots show tokens: the first is 1 here, and otherwise taken from the clock.
        command.env("USER", "tester").env("LANG", "C.UTF-8").env("TASKYARD_FAILPOINTS", "any=token:1");
        command.under(self.rules);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Writes down what a command said that was run by other means.
    pub(crate) fn note(&mut self, line: &str, output: &Output) {
        let _ = write!(self.transcript, "$ {line}\n{}", self.told(output));
    }

    /// Returns a path in the test's place.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.place.join(below)
    }

    /// Compares everything that was said with what was said before.
    #[track_caller]
    pub(crate) fn snapshot(self) {
        compare(&self.transcript);
    }

    /// Runs a command that reads something, and returns how it ended.
    pub(crate) fn answer_to(&mut self, line: &str, read: &str) -> Output {
        self.stdin = Some(read.into());
        self.output_of(line)
    }

    /// Runs a command and returns how it ended.
    pub(crate) fn output_of(&mut self, line: &str) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_taskyard"));
        command.args(words(line)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.start();
        let mut stdin = child.take_input();
        if let Some(text) = self.stdin.take() {
            stdin.write_all(&text).unwrap();
        }
        drop(stdin);
        let output = child.wait_with_output();
        for job in jobs_in(&String::from_utf8_lossy(&output.stdout)) {
            if !self.jobs.contains(&job) {
                self.jobs.push(job);
            }
        }
        output
    }

    fn told(&self, output: &Output) -> String {
        let mut text = self.redacted(&String::from_utf8_lossy(&output.stdout));
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str("[no line end]\n");
        }
        if !output.stderr.is_empty() {
            let _ = write!(text, "--- stderr\n{}", self.redacted(&String::from_utf8_lossy(&output.stderr)));
        }
        let code = output.status.code().map_or_else(|| format!("{}", output.status), |code| code.to_string());
        let _ = writeln!(text, "--- exit {code}\n");
        text
    }

    /// Returns the text without what differs from run to run.
    fn redacted(&self, text: &str) -> String {
        let place = self.place.display().to_string();
        let text = hide_jobs(&text.replace(&place, "[place]"), &self.jobs, &self.place);
        hide_ids(&hide_digests(&hide_times(&text)))
    }

    fn write(&self, path: &str, contents: &[u8]) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        // A file of this very moment could still be changing; the files of a test are from before.
        let before = SystemTime::now() - Duration::from_secs(3600);
        std::fs::File::options().append(true).open(path).unwrap().set_modified(before).unwrap();
    }
}

impl Drop for Test {
    /// A job outlives the command that starts it; it does not outlive the test.
    fn drop(&mut self) {
        if !self.jobs.is_empty() {
            kill_all_with("TASKYARD_HOME", &self.path("data").display().to_string());
        }
    }
}

/// Compares a transcript with the one that is kept under the name of the test.
#[track_caller]
pub(crate) fn compare(transcript: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("test").replace("::", "__");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, transcript));
}

/// Replaces the ids of messages by `[id]`, and the moments in the ids of requests and in names of files by `[moment]`.
fn hide_ids(text: &str) -> String {
    let is_in_word = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let hide = |before: &str, word: &str| {
        let parts: Vec<&str> = word.split('-').collect();
        if before.ends_with("\"id\":\"") && parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) {
            return "[id]".to_owned();
        }
        let is_moment = |part: &str| part.len() >= 13 && part.bytes().all(|byte| byte.is_ascii_digit());
        parts.into_iter().map(|part| if is_moment(part) { "[moment]" } else { part }).collect::<Vec<_>>().join("-")
    };
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_in_word) {
        let word = &rest[start..];
        let end = word.find(|character| !is_in_word(character)).unwrap_or(word.len());
        hidden.push_str(&rest[..start]);
        let word_hidden = hide(&hidden, &word[..end]);
        hidden.push_str(&word_hidden);
        rest = &word[end..];
    }
    hidden + rest
}

/// Replaces every `2026-11-15T01:02:03.000Z` by `[time]`.
fn hide_times(text: &str) -> String {
    const FORM: &str = "dddd-dd-ddTdd:dd:dd.dddZ";
    let fits = |candidate: &[u8]| {
        candidate.len() == FORM.len()
            && candidate
                .iter()
                .zip(FORM.bytes())
                .all(|(byte, form)| if form == b'd' { byte.is_ascii_digit() } else { *byte == form })
    };
    let mut hidden = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some(first) = rest.first() {
        if rest.get(..FORM.len()).is_some_and(fits) {
            hidden.extend_from_slice(b"[time]");
            rest = &rest[FORM.len()..];
        } else {
            hidden.push(*first);
            rest = &rest[1..];
        }
    }
    String::from_utf8(hidden).unwrap()
}

/// Replaces the digests in the names of a list's data directory and of a file to queue on, which come from paths.
fn hide_digests(text: &str) -> String {
    ["data/lists/", "data/inboxes/"].into_iter().fold(text.to_owned(), |text, folder| {
        let mut parts = text.split(folder);
        let mut hidden = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find('/').or_else(|| part.find('`')).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
            let _ = write!(hidden, "{folder}{name}-[digest]{rest}");
        }
        hidden
    })
}

/// Returns a command line as it can be shown in a file of text.
fn shown(line: &str) -> String {
    line.chars()
        .map(|one| if one.is_control() || one == '\u{202e}' { one.escape_default().to_string() } else { one.into() })
        .collect()
}

/// Splits a line into words; `'` and `"` keep spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, character) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}
