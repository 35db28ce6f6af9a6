//! Texts in the user's editor. Each is kept in a file until it is saved.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use rustix::fs::{FlockOperation, flock};
use taskyard::core::Timestamp;
use taskyard::private::{create_new, make_data_directory, make_directory, open_existing, open_to_read};
use taskyard_jobs::processes;

use crate::environment::Environment;
use crate::exit::{Problem, ProblemKind};

/// A text being edited, and its base: the text it started from. Dropping this keeps the files.
#[derive(Debug)]
pub(crate) struct Sheet {
    path: PathBuf,
    /// Locked while an editor has the text open.
    _lock: File,
}

impl Sheet {
    /// Creates the files of a text. Fails if they exist.
    pub(crate) fn make(path: &Path, text: &str, base: &str) -> io::Result<Self> {
        let lock = create_new(&base_of(path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let sheet = Self { path: path.to_owned(), _lock: lock };
        let written = (&sheet._lock).write_all(base.as_bytes()).and_then(|()| {
            let mut file = create_new(path)?;
            file.write_all(text.as_bytes())
        });
        if let Err(error) = written {
            // The user has typed nothing yet. An existing file of that name is not ours to remove.
            let is_others = error.kind() == io::ErrorKind::AlreadyExists;
            let _ = fs::remove_file(base_of(path));
            if !is_others {
                let _ = fs::remove_file(path);
            }
            return Err(error);
        }
        Ok(sheet)
    }

    /// Resumes a text that was left. Returns `None` if an editor has it open.
    pub(crate) fn take_up(path: &Path) -> io::Result<Option<Self>> {
        let lock = open_existing(&base_of(path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { path: path.to_owned(), _lock: lock })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current text. If it is not valid UTF-8, the error kind is `InvalidData`.
    pub(crate) fn read(&self) -> io::Result<String> {
        fs::read_to_string(&self.path)
    }

    /// Returns the base.
    pub(crate) fn base(&self) -> io::Result<String> {
        let mut text = String::new();
        open_to_read(&base_of(&self.path))?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Replaces the text atomically, and then its base.
    pub(crate) fn replace(&self, text: &str, base: &str) -> io::Result<()> {
        let new = behind(&self.path, ".new");
        let written = create_new(&new).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written?;
        // Resuming merges the text with its base. An outdated base causes more conflicts, never fewer.
        let base_path = base_of(&self.path);
        let mut file = open_existing(&base_path)?;
        file.set_len(0)?;
        file.write_all(base.as_bytes())
    }

    /// Removes the files, because the text was saved or discarded.
    pub(crate) fn put_away(self) {
        for path in [self.path.clone(), base_of(&self.path)] {
            if let Err(error) = fs::remove_file(&path) {
                tracing::debug!(path = %path.display(), %error, "the text of an edit stays");
            }
        }
    }
}

/// Returns the path of a text's base.
pub(crate) fn base_of(path: &Path) -> PathBuf {
    behind(path, ".base")
}

fn behind(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}

/// Maximum number of texts kept under one name.
const MOST: u32 = 1000;

/// The directory of edited texts.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    data: PathBuf,
}

impl Desk {
    /// Returns the one in a data directory.
    pub(crate) fn in_data(data: &Path) -> Self {
        Self { data: data.to_owned() }
    }

    /// Creates a text under a name. If the name is taken, a number is appended.
    pub(crate) fn lay_out(&self, name: &str, text: &str, base: &str) -> io::Result<Sheet> {
        make_data_directory(&self.data)?;
        let directory = self.directory();
        if !directory.is_dir() {
            make_directory(&directory)?;
        }
        for number in 1..=MOST {
            match Sheet::make(&self.path(name, number), text, base) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{MOST} unsaved texts are already there")))
    }

    /// Resumes the newest text of that name. Returns `None` if there is none or all are open in editors.
    pub(crate) fn take_up(&self, name: &str) -> io::Result<Option<Sheet>> {
        for path in self.left_under(name) {
            if let Some(sheet) = Sheet::take_up(&path)? {
                return Ok(Some(sheet));
            }
        }
        Ok(None)
    }

    /// Returns the newest text of that name that no editor has open.
    pub(crate) fn left(&self, name: &str) -> Option<PathBuf> {
        // A text open in an editor has not been left.
        self.take_up(name).ok().flatten().map(|sheet| sheet.path().to_owned())
    }

    /// Returns the texts of a name, newest first.
    fn left_under(&self, name: &str) -> Vec<PathBuf> {
        let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
        for number in 1..=MOST {
            let path = self.path(name, number);
            if !base_of(&path).exists() {
                // A gap: a lower number was removed while higher ones exist. This is rare, so only a few more are
                // tried.
                if number > 8 {
                    break;
                }
                continue;
            }
            if let Ok(modified) = fs::metadata(&path).and_then(|found| found.modified()) {
                found.push((modified, path));
            }
        }
        found.sort_by(|one, other| other.cmp(one));
        found.into_iter().map(|(_, path)| path).collect()
    }

    fn directory(&self) -> PathBuf {
        self.data.join("edits")
    }

    fn path(&self, name: &str, number: u32) -> PathBuf {
        let number = if number == 1 { String::new() } else { format!(".{number}") };
        self.directory().join(format!("{name}{number}.md"))
    }
}

/// A file of an abandoned edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OldText {
    pub(crate) path: PathBuf,
    /// Its size in bytes.
    pub(crate) bytes: u64,
}

impl OldText {
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Returns the files of edits, by name, that were not modified since a time and are not open in an editor.
pub(crate) fn old_texts(data: &Path, since: Timestamp) -> Vec<OldText> {
    let before = UNIX_EPOCH + Duration::from_millis(since.0.try_into().unwrap_or(0));
    let is_old = |path: &Path| {
        let found = fs::symlink_metadata(path).ok()?;
        (found.is_file() && found.modified().is_ok_and(|written| written < before)).then_some(found.len())
    };
    let mut old = Vec::new();
    for entry in fs::read_dir(data.join("edits")).into_iter().flatten().flatten() {
        let path = entry.path();
        if let Some(bytes) = is_old(&path)
            && of_one_edit(&path).iter().all(|other| !other.exists() || is_old(other).is_some())
            && !is_somebody_at(&path)
        {
            old.push(OldText { path, bytes });
        }
    }
    old.sort_by(|one, other| one.path.cmp(&other.path));
    old
}

/// Returns the paths of an edit's text and base, given any of its files.
fn of_one_edit(path: &Path) -> [PathBuf; 2] {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = name.trim_end_matches(".base").trim_end_matches(".new");
    [path.with_file_name(text), path.with_file_name(format!("{text}.base"))]
}

/// Returns whether an editor has the text open, as far as that can be determined.
fn is_somebody_at(path: &Path) -> bool {
    let [_, base] = of_one_edit(path);
    match open_existing(&base) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockExclusive).is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// The default editor.
const EDITOR: &str = "vi";

/// An editor that failed.
pub(crate) struct EditorFailed {
    pub(crate) problem: Problem,
    /// Whether a signal killed it, so that it may have left a recovery file.
    pub(crate) was_killed: bool,
}

/// Editors that take `+7` to open a file at a line.
const WITH_LINES: [&str; 13] =
    ["vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg", "gedit"];

/// Opens a file in the user's editor, at a line if the editor supports that, and waits until it exits successfully.
pub(crate) fn edit(
    path: &Path,
    line: Option<usize>,
    environment: &Environment,
    is_json: bool,
) -> Result<(), EditorFailed> {
    let editor = environment.editor.as_deref().unwrap_or(EDITOR);
    let program = editor.split_whitespace().next().and_then(|word| Path::new(word).file_name());
    let takes_lines = program.and_then(|name| name.to_str()).is_some_and(|name| WITH_LINES.contains(&name));
    processes::leave_interrupts_to_others();
    // Use a shell, as git does, because the setting may contain arguments. The trap makes an interrupt reach only the
    // editor.
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(format!("trap : INT QUIT; {editor} \"$@\""))
        .arg(editor)
        .args(line.filter(|_| takes_lines).map(|line| format!("+{line}")))
        .arg(path)
        .envs(environment.for_children());
    if is_json {
        // The editor's screen is not part of the answer.
        let shown = io::stderr().as_fd().try_clone_to_owned();
        command.stdout(shown.map_or_else(|_| Stdio::null(), Stdio::from));
    }
    let failed = |why: String, was_killed: bool| {
        let message = format!("the editor `{editor}` {why}; nothing was changed");
        EditorFailed { problem: Problem::new(ProblemKind::CouldNot, "editor_failed", message), was_killed }
    };
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(ended(status), signal_of(status).is_some())),
        Err(error) => Err(failed(format!("cannot be started: {error}"), false)),
    }
}

/// Returns the signal that killed a process, or the program that a shell ran for it.
fn signal_of(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;

    status.signal().or_else(|| status.code().filter(|code| *code > 128).map(|code| code - 128))
}

/// Describes how a process failed.
fn ended(status: ExitStatus) -> String {
    match (signal_of(status), status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(127)) => "was not found (set EDITOR)".to_owned(),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Desk;

    #[test]
    fn a_text_stays_until_it_is_put_away_and_can_be_taken_up() {
        let place = tempfile::tempdir().unwrap();
        let desk = Desk::in_data(place.path());
        assert!(desk.take_up("a").unwrap().is_none());
        let sheet = desk.lay_out("a", "text", "base").unwrap();
        let path = sheet.path().to_owned();
        // A text open in an editor has not been left.
        assert_eq!(desk.left("a"), None);
        let other = desk.lay_out("a", "other", "base").unwrap();
        assert_ne!(other.path(), path);
        other.put_away();
        fs::write(&path, "typed").unwrap();
        drop(sheet);
        assert_eq!(desk.left("a"), Some(path));
        let sheet = desk.take_up("a").unwrap().unwrap();
        assert_eq!((sheet.read().unwrap(), sheet.base().unwrap()), ("typed".into(), "base".into()));
        sheet.put_away();
        assert_eq!(desk.left("a"), None);
        assert_eq!(fs::read_dir(place.path().join("edits")).unwrap().count(), 0);
    }

    #[test]
    fn a_text_that_cannot_be_replaced_stays_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let sheet = Desk::in_data(place.path()).lay_out("a", "text", "base").unwrap();
        // A directory blocks the new file.
        fs::create_dir(place.path().join("edits/a.md.new")).unwrap();
        assert!(sheet.replace("new", "new base").is_err());
        assert_eq!((sheet.read().unwrap(), sheet.base().unwrap()), ("text".into(), "base".into()));
    }
}

#[cfg(test)]
mod old_texts_tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use taskyard::core::Timestamp;

    use super::Desk;
    use super::old_texts;

    #[test]
    fn only_untouched_and_unused_for_long_counts_as_old() {
        let place = tempfile::tempdir().unwrap();
        let desk = Desk::in_data(place.path());
        let [left, open, typed] = ["left", "open", "typed"].map(|name| desk.lay_out(name, "text", "base").unwrap());
        drop((left, typed));
        fs::write(place.path().join("edits/alone.md.new"), "x").unwrap();
        let yesterday = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
        let names = ["left.md", "left.md.base", "open.md", "open.md.base", "typed.md.base", "alone.md.new"];
        for name in names {
            let file = File::options().append(true).open(place.path().join("edits").join(name)).unwrap();
            file.set_modified(yesterday).unwrap();
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        let an_hour_ago = Timestamp(i64::try_from(now).unwrap() - 60 * 60 * 1000);
        let old = old_texts(place.path(), an_hour_ago);
        let found: Vec<_> = old.iter().map(|old| old.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(found, ["alone.md.new", "left.md", "left.md.base"]);
        assert_eq!(old_texts(place.path(), Timestamp(0)), []);
        drop(open);
    }
}
