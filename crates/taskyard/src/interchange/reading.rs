//! From a path to the tasks that are there.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use taskyard_core::dialect::foreign::{
    self, BadSource, ImportFormat, Imported, backlog, beads, jsonl, markdown, taskmaster, taskwarrior, todos,
};
use taskyard_core::dialect::{document, export, macf, native, teaching};
use taskyard_core::json_text::has_lone_surrogates;
use taskyard_core::{Task, TaskId};

use super::InterchangeError;
use super::folders::{Found, read_folder};
use crate::regular_file;
use crate::store::read_locked_document;

/// A file larger than this is not looked into only to guess its format.
const LARGEST_GUESSED: u64 = 16 * 1024 * 1024;

/// Reads what is at a path. The listener is told how many files of how many have been read.
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
    // Any folder may hold Markdown; the files of the others are named for tasks, and their losses say what is wrong with them. An empty
    // folder is an empty list.
    let holds_others = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    let is_none = format == ImportFormat::Backlog || (folder.losses.is_empty() && holds_others());
    if folder.tasks.is_empty() && is_none {
        return Err(InterchangeError::NothingFound { path: path.to_owned(), format: format.as_str() });
    }
    Ok(folder)
}

/// Returns the format that a file or folder has the marks of.
pub fn guess(path: &Path) -> Option<ImportFormat> {
    if path.is_dir() {
        let is_project = ["backlog/tasks", ".backlog/tasks"].iter().any(|below| path.join(below).is_dir());
        return is_project.then_some(ImportFormat::Backlog);
    }
    let bytes = regular_file::read_following(path, LARGEST_GUESSED).ok()?;
    foreign::guess(std::str::from_utf8(&bytes).ok()?)
}

/// Returns the other format that a file has the marks of. Our own forms of a task are read for each other.
fn other_format(bytes: &[u8], format: ImportFormat, has_tasks: bool) -> Option<ImportFormat> {
    let ours = [ImportFormat::Document, ImportFormat::Export, ImportFormat::Jsonl];
    let other = foreign::guess(std::str::from_utf8(bytes).ok()?).filter(|other| *other != format)?;
    let is_readable = format == ImportFormat::Markdown || (ours.contains(&format) && ours.contains(&other));
    (!(has_tasks && is_readable)).then_some(other)
}

/// Reads the contents of a file that is called by a name.
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

/// Tells of halves of surrogate pairs in a file: our strings do not hold them.
fn tell_of_halves(imported: &mut Imported, name: impl Into<String>, bytes: &[u8], format: ImportFormat) {
    if format != ImportFormat::Markdown && has_lone_surrogates(bytes) {
        imported.lose(name, "halves of characters; U+FFFD stands in their places");
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
        ImportFormat::Todos => todos::read(text),
        ImportFormat::Markdown => Ok(markdown::read(text)),
        ImportFormat::Jsonl => jsonl::read(text),
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
    // A document may lie beside the tasks.
    let plain = |name: &str| teaching::task_of(name).filter(|_| name != "tasks.json");
    let task_of = |name: &str| plain(name).or_else(|| macf::hidden_task_of(name));
    let Found { mut files, unreadable } = read_folder(path, |name| task_of(name).is_some(), progress)?;
    // Beside a file of the plain name a hidden one does not count, and beside that not one that was hidden twice.
    files.sort_by_key(|(name, _)| name.chars().take_while(|character| *character == '.').count());
    let mut imported = with_unreadable(unreadable);
    let mut seen: HashSet<TaskId> = HashSet::new();
    for (name, bytes) in files {
        let Some(id) = task_of(&name) else { continue };
        tell_of_halves(&mut imported, name.as_str(), &bytes, ImportFormat::Native);
        match native::read(&id, &bytes) {
            Ok(_) if !seen.insert(id.clone()) => {
                imported.lose(name, format!("there is another file of task {id}"));
            }
            Ok(task) => {
                if let Some(stated) = &task.stated_id {
                    imported.lose(name, format!("it says that its id is {stated}; the name of the file counts"));
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

/// Reads the folder of a project, or that of its tasks alone.
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
        // A project without such a folder has none of them.
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
