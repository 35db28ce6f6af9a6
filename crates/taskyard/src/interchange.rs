//! Reads the files of other programs for an import, and writes them for an export.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use taskyard_core::dialect::foreign::{
    BadSource, ImportFormat, Imported, backlog, beads, checklists, csv_and_jsonl, taskmaster, taskwarrior,
    todo_write_files,
};
use taskyard_core::dialect::{document, export, foreign, macf, native, teaching};
use taskyard_core::json_text::has_lone_surrogates;
use taskyard_core::{Task, TaskId};

use crate::regular_file;
use crate::regular_file::create_replacement;
use crate::store::{StoreError, read_locked_document, replace_document};

/// Maximum size in bytes of a file that is read to guess its format.
const LARGEST_GUESSED: u64 = 16 * 1024 * 1024;

/// Reads the file or folder at a path. `progress` is called with the number of files read and the total.
pub fn read_source(
    path: &Path,
    format: ImportFormat,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, InterchangeError> {
    let failed = |source| InterchangeError::Io { doing: "read", path: path.to_owned(), source };
    let is_folder = fs::metadata(path).map_err(failed)?.is_dir();
    match (format.is_folder(), is_folder) {
        (true, false) => {
            return Err(InterchangeError::NotAFolder { path: path.to_owned(), format: format.as_str() });
        }
        (false, true) => return Err(InterchangeError::NotAFile { path: path.to_owned(), format: format.as_str() }),
        _ => {}
    }
    let folder = match format {
        ImportFormat::Native => native_folder(path, false, progress)?,
        ImportFormat::Macf => native_folder(path, true, progress)?,
        ImportFormat::Teaching => teaching_folder(path, progress)?,
        ImportFormat::Backlog => backlog_folder(path, progress)?,
        ImportFormat::Document => return read_bytes(&read_locked_document(path).map_err(failed)?, path, format),
        _ => return read_bytes(&fs::read(path).map_err(failed)?, path, format),
    };
    // A backlog folder may be any folder with Markdown files. Files of the other formats are named after tasks, so
    // their losses explain what is wrong. An empty folder is an empty list.
    let holds_others = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    let is_none = format == ImportFormat::Backlog || (folder.losses.is_empty() && holds_others());
    if folder.tasks.is_empty() && is_none {
        return Err(InterchangeError::NothingFound { path: path.to_owned(), format: format.as_str() });
    }
    Ok(folder)
}

/// Guesses the format of a file or folder from its contents; `None` if it has no distinctive marks.
pub fn guess(path: &Path) -> Option<ImportFormat> {
    if path.is_dir() {
        let is_project = ["backlog/tasks", ".backlog/tasks"].iter().any(|below| path.join(below).is_dir());
        return is_project.then_some(ImportFormat::Backlog);
    }
    let bytes = regular_file::read_following(path, LARGEST_GUESSED).ok()?;
    foreign::guess(std::str::from_utf8(&bytes).ok()?)
}

/// Returns another format that the contents of a file indicate. Our own task formats are accepted for each other.
fn other_format(bytes: &[u8], format: ImportFormat, has_tasks: bool) -> Option<ImportFormat> {
    let ours = [ImportFormat::Document, ImportFormat::Export, ImportFormat::Jsonl];
    let other = foreign::guess(std::str::from_utf8(bytes).ok()?).filter(|other| *other != format)?;
    let is_readable = format == ImportFormat::Markdown || (ours.contains(&format) && ours.contains(&other));
    (!(has_tasks && is_readable)).then_some(other)
}

/// Parses the contents of a file; `name` is used in messages.
pub fn read_bytes(bytes: &[u8], name: &Path, format: ImportFormat) -> Result<Imported, InterchangeError> {
    if format.is_folder() {
        return Err(InterchangeError::NotAFolder { path: name.to_owned(), format: format.as_str() });
    }
    let read = file(bytes, format);
    let has_tasks = read.as_ref().is_ok_and(|imported| !imported.tasks.is_empty());
    if let Some(other) = other_format(bytes, format, has_tasks) {
        let (format, looks_like) = (format.as_str(), other.as_str());
        return Err(InterchangeError::OtherFormat { path: name.to_owned(), format, looks_like });
    }
    let mut imported = read.map_err(|source| InterchangeError::Bad { path: name.to_owned(), source })?;
    if format == ImportFormat::Markdown && !has_tasks && !bytes.trim_ascii().is_empty() {
        return Err(InterchangeError::NothingFound { path: name.to_owned(), format: format.as_str() });
    }
    tell_of_halves(&mut imported, name.file_name().unwrap_or_default().to_string_lossy(), bytes, format);
    Ok(imported)
}

/// Reports lone surrogates in a file, which Rust strings cannot represent.
fn tell_of_halves(imported: &mut Imported, name: impl Into<String>, bytes: &[u8], format: ImportFormat) {
    if format != ImportFormat::Markdown && has_lone_surrogates(bytes) {
        imported.lose(name, "lone surrogates; U+FFFD is written in their place");
    }
}

fn file(bytes: &[u8], format: ImportFormat) -> Result<Imported, BadSource> {
    let name = format.as_str();
    let bad = |why: String| BadSource { format: name, why };
    let text = std::str::from_utf8(bytes).map_err(|error| bad(error.to_string()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        ImportFormat::Document => {
            let document = document::Document::parse(text.as_bytes()).map_err(|error| bad(error.to_string()))?;
            let found = document::read_tasks(&document);
            Ok(with_problems(found.tasks, found.problems))
        }
        ImportFormat::Export => {
            let found = export::read_tasks(&export::parse(text.as_bytes()).map_err(|error| bad(error.why))?);
            Ok(with_problems(found.tasks, found.problems))
        }
        ImportFormat::Beads => beads::read(text),
        ImportFormat::Taskmaster => taskmaster::read(text),
        ImportFormat::Taskwarrior => taskwarrior::read(text),
        ImportFormat::Todos => todo_write_files::read(text),
        ImportFormat::Markdown => Ok(checklists::read(text)),
        ImportFormat::Jsonl => csv_and_jsonl::read(text),
        ImportFormat::Native | ImportFormat::Teaching | ImportFormat::Macf | ImportFormat::Backlog => {
            Err(bad("it is a folder".to_owned()))
        }
    }
}

fn with_problems(tasks: Vec<Task>, problems: Vec<(usize, native::Unreadable)>) -> Imported {
    let mut imported = Imported::of(tasks);
    for (place, why) in problems {
        imported.lose(format!("task {}", place + 1), why.to_string());
    }
    imported
}

fn native_folder(
    path: &Path,
    by_conventions: bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, InterchangeError> {
    // A document may exist next to the tasks.
    let plain = |name: &str| teaching::task_of(name).filter(|_| name != "tasks.json");
    let task_of = |name: &str| plain(name).or_else(|| macf::hidden_task_of(name));
    let Found { mut files, unreadable } = read_folder(path, |name| task_of(name).is_some(), progress)?;
    // A visible file takes precedence over a hidden one, and that over one hidden twice.
    files.sort_by_key(|(name, _)| name.chars().take_while(|character| *character == '.').count());
    let mut imported = with_unreadable(unreadable);
    let mut seen: HashSet<TaskId> = HashSet::new();
    for (name, bytes) in files {
        let Some(id) = task_of(&name) else { continue };
        tell_of_halves(&mut imported, name.as_str(), &bytes, ImportFormat::Native);
        match native::read(&id, &bytes) {
            Ok(_) if !seen.insert(id.clone()) => {
                imported.lose(name, format!("another file holds task {id}"));
            }
            Ok(task) => {
                if let Some(stated) = &task.stated_id {
                    imported.lose(name, format!("it states the id {stated}; the file name is used"));
                }
                let task = Task { stated_id: None, ..task };
                imported.tasks.push(if by_conventions { macf::read_task(&task) } else { task });
            }
            Err(why) => imported.lose(name, why.to_string()),
        }
    }
    imported.tasks.sort_by(|one, two| one.id.cmp(&two.id));
    Ok(imported)
}

fn teaching_folder(path: &Path, progress: &mut dyn FnMut(usize, usize)) -> Result<Imported, InterchangeError> {
    const CARRIED: &str = ".taskyard.json";
    let is_wanted = |name: &str| name == CARRIED || teaching::task_of(name).is_some();
    let Found { files, unreadable } = read_folder(path, is_wanted, progress)?;
    let mut imported = with_unreadable(unreadable);
    let mut folder = teaching::Folder::default();
    for (name, bytes) in files {
        tell_of_halves(&mut imported, name.as_str(), &bytes, ImportFormat::Teaching);
        match teaching::task_of(&name) {
            Some(id) => drop(folder.files.insert(id, bytes)),
            None => match teaching::parse_carried(&bytes) {
                Ok(carried) => folder.carried = carried,
                Err(why) => imported.lose(name, why.to_string()),
            },
        }
    }
    let found = teaching::read_tasks(&folder);
    imported.tasks = found.tasks;
    for (id, why) in found.problems {
        imported.lose(format!("{}.json", TaskId::as_str(&id)), why.to_string());
    }
    Ok(imported)
}

/// Reads the folder of a project, or only that of its tasks.
fn backlog_folder(path: &Path, progress: &mut dyn FnMut(usize, usize)) -> Result<Imported, InterchangeError> {
    let project =
        ["backlog", ".backlog"].map(|name| path.join(name)).into_iter().find(|path| path.join("tasks").is_dir());
    let project = project.as_deref().unwrap_or(path);
    let (mut texts, mut all_unreadable) = (Vec::new(), Vec::new());
    let within = ["tasks", "completed"].map(|name| project.join(name)).into_iter().filter(|path| path.is_dir());
    let mut folders: Vec<_> = within.collect();
    if folders.is_empty() {
        folders.push(project.to_owned());
    }
    for folder in folders {
        let Found { files, unreadable } = read_folder(&folder, |name| name.ends_with(".md"), progress)?;
        texts.extend(files);
        all_unreadable.extend(unreadable);
    }
    let mut lost = with_unreadable(all_unreadable);
    let texts: Vec<(String, String)> = texts
        .into_iter()
        .filter_map(|(name, bytes)| match String::from_utf8(bytes) {
            Ok(text) => Some((name, text)),
            Err(_) => {
                lost.lose(name, "it is not UTF-8");
                None
            }
        })
        .collect();
    let mut imported = backlog::read(texts.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    imported.losses.extend(lost.losses);
    for (name, what) in [("drafts", "a draft"), ("archive/tasks", "an archived task")] {
        // A project without such a folder has none of these tasks.
        let entries = fs::read_dir(project.join(name)).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "md")) {
            imported.lose(entry.file_name().to_string_lossy(), format!("{what} is not on the board"));
        }
    }
    Ok(imported)
}

fn with_unreadable(unreadable: Vec<(String, io::Error)>) -> Imported {
    let mut imported = Imported::default();
    for (name, error) in unreadable {
        imported.lose(name, error.to_string());
    }
    imported
}

/// Maximum size in bytes of a file in a folder; larger files are not read.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The selected files of a folder, sorted by name.
#[derive(Debug, Default)]
struct Found {
    /// The contents of readable files.
    files: Vec<(String, Vec<u8>)>,
    /// The errors of the other files.
    unreadable: Vec<(String, io::Error)>,
}

/// Reads the files of a folder whose names are selected.
fn read_folder(
    path: &Path,
    is_wanted: impl Fn(&str) -> bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Found, InterchangeError> {
    let failed = |source| InterchangeError::Io { doing: "read", path: path.to_owned(), source };
    let mut wanted: Vec<(String, PathBuf)> = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_wanted(&name) {
            wanted.push((name, entry.path()));
        }
    }
    wanted.sort();
    let total = wanted.len();
    let mut found = Found::default();
    for (place, (name, path)) in wanted.into_iter().enumerate() {
        match read_file(&path) {
            Ok(bytes) => found.files.push((name, bytes)),
            Err(error) => found.unreadable.push((name, error)),
        }
        progress(place + 1, total);
    }
    Ok(found)
}

/// Reads a regular file; a pipe or device among the tasks would have no end.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    Ok(regular_file::read_following(path, LARGEST)?)
}

/// The output of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The contents of a single file.
    File(String),
    /// A task document, which must be written in place because its programs lock the file itself.
    Document(String),
    /// The contents of each file of a folder, keyed by name.
    Folder(BTreeMap<String, Vec<u8>>),
}

/// Saves an export. An existing file is replaced, and a document is rewritten under its lock; a folder must be new or
/// empty.
pub fn save(written: &Written, path: &Path) -> Result<(), InterchangeError> {
    let failed = |source| InterchangeError::Io { doing: "write", path: path.to_owned(), source };
    match written {
        Written::File(_) | Written::Document(_) if path.is_dir() => {
            Err(InterchangeError::NotAFile { path: path.to_owned(), format: "this" })
        }
        Written::File(text) => {
            let temporary = beside(path);
            let saved = write_file(&temporary, path, text.as_bytes()).and_then(|()| fs::rename(&temporary, path));
            saved.map_err(|error| {
                // A half-written file is of no use; failing to remove it matters less than the original error.
                let _ = fs::remove_file(&temporary);
                failed(error)
            })
        }
        Written::Document(text) => replace_document(path, text).map_err(|error| match error {
            StoreError::Io { source, .. } => failed(source),
            other => failed(io::Error::other(other)),
        }),
        Written::Folder(files) => {
            if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(InterchangeError::NotEmpty { path: path.to_owned() });
            }
            let temporary = beside(path);
            // A rename replaces an empty folder, but fails if files were written to it in the meantime.
            write_folder(&temporary, files).and_then(|()| fs::rename(&temporary, path)).map_err(|error| {
                let _ = fs::remove_dir_all(&temporary);
                failed(error)
            })
        }
    }
}

fn write_folder(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir(path)?;
    files.iter().try_for_each(|(name, bytes)| {
        let path = path.join(name);
        write_file(&path, &path, bytes)
    })
}

/// Writes a file that replaces another, with the same mode.
fn write_file(path: &Path, place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_replacement(path, place)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Why another program's files could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterchangeError {
    /// An operating system call failed.
    #[error("cannot {doing} `{}`: {source}", .path.display())]
    Io {
        /// The attempted operation: "read" or "write".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The path is a file, but the format is a folder.
    #[error("`{}` is a file, and {format} is a folder", .path.display())]
    NotAFolder {
        /// The given path.
        path: PathBuf,
        /// The expected format.
        format: &'static str,
    },
    /// The path is a folder, but the format is a file.
    #[error("`{}` is a folder, and {format} is a file", .path.display())]
    NotAFile {
        /// The given path.
        path: PathBuf,
        /// The expected format.
        format: &'static str,
    },
    /// The contents are not in the expected format.
    #[error("cannot read `{}`: {source}", .path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The parse error.
        source: BadSource,
    },
    /// The file is in another format.
    #[error("`{}` is not in the format {format}: it looks like {looks_like}", .path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The expected format.
        format: &'static str,
        /// The format it appears to be in.
        looks_like: &'static str,
    },
    /// No tasks in this format were found.
    #[error("no tasks in the format {format} found in `{}`", .path.display())]
    NothingFound {
        /// The given path.
        path: PathBuf,
        /// The expected format.
        format: &'static str,
    },
    /// The output folder is not empty.
    #[error("`{}` is not empty", .path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::{Written, save};
    use crate::interchange::InterchangeError;

    #[test]
    fn a_folder_with_something_in_it_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        let written = Written::Folder(BTreeMap::from([("1.json".to_owned(), b"{}".to_vec())]));
        save(&written, &path).unwrap();
        assert_eq!(fs::read(path.join("1.json")).unwrap(), b"{}");
        assert!(matches!(save(&written, &path), Err(InterchangeError::NotEmpty { .. })));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_takes_the_place_of_the_one_before() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("tasks.csv");
        for text in ["one", "two"] {
            save(&Written::File(text.to_owned()), &path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
