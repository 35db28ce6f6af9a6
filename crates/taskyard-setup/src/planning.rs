//! Plans the changes of an agent's files and the records that undo them. Writes nothing.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use taskyard::machine::Machine;

use super::{Agent, Scope, SetupError, Wish};
use crate::agent::{Ours, SetupOptions, Target};
use crate::config_edit::toml_entries::TableEntry;
use crate::config_edit::{
    Added, Additions, ChangedLine, Entry, Unfit, What, changed_lines, json_entries, toml_entries, yaml_entries,
};

/// The maximum number of symbolic links to follow.
const LINKS: usize = 40;

/// Plans the changes of an agent's files. `data` is our data directory, which records earlier additions.
pub fn plan(agent: Agent, scope: Scope, wish: Wish, options: &SetupOptions, data: &Path) -> Result<Plan, SetupError> {
    let machine = Machine::look(data)?;
    let mut changes = Vec::new();
    for target in agent.targets(options, scope, wish)? {
        let real = behind_links(&target.path)?;
        let before = read(&real)?;
        let kept = machine.as_ref().map(|machine| machine.setup_record(&real)).transpose()?.flatten();
        let record: Option<Record> = kept.and_then(|text| serde_json::from_str(&text).ok());
        let change = if wish == Wish::Remove {
            taken_out(&target, real, before, record)
        } else {
            put_in(&target, real, before, record)
        };
        changes.push(change.map_err(|unfit| SetupError::Unfit { path: target.path.clone(), unfit })?);
    }
    Ok(Plan { changes })
}

/// Returns the file that a path resolves to; it need not exist.
pub(super) fn behind_links(path: &Path) -> Result<PathBuf, SetupError> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(SetupError::io("cannot follow the links of", &path)(io::Error::other("too many of them")))
}

pub(super) fn read(path: &Path) -> Result<Option<String>, SetupError> {
    match fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
                let unfit = Unfit::Unreadable { line, why: "it is not UTF-8".to_owned() };
                Err(SetupError::Unfit { path: path.to_owned(), unfit })
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SetupError::io("cannot read", path)(error)),
    }
}

/// Plans to add all our entries to a file.
fn put_in(target: &Target, real: PathBuf, before: Option<String>, record: Option<Record>) -> Result<Change, Unfit> {
    if let Ours::Whole(ours) = target.ours {
        return Ok(put_whole(target, real, ours, before, record));
    }
    if let Some(change) = put_in_todays_form(target, &real, before.as_deref(), record.as_ref())? {
        return Ok(change);
    }
    let mut text = before.clone().unwrap_or_default();
    let mut all = Additions::default();
    let mut made = Vec::new();
    let mut otherwise = Vec::new();
    let mut take = |name: String, value: Option<Value>, added: Added| match added {
        Added::AlreadyThere => None,
        Added::ThereOtherwise => {
            otherwise.push(name);
            None
        }
        Added::Now { text, additions, existing } => {
            made.push(Made { name, existing, value });
            Some((text, additions))
        }
    };
    match &target.ours {
        Ours::Json(entries) => {
            for entry in entries {
                let value = match &entry.what {
                    What::Setting(value) => Some(value.clone()),
                    _ => None,
                };
                if let Some((longer, additions)) = take(entry.name(), value, json_entries::add(&text, entry)?) {
                    all = all.then(&additions);
                    text = longer;
                }
            }
        }
        Ours::Toml(table) => {
            if let Some((longer, additions)) = take(name_of(table), None, toml_entries::add(&text, table)?) {
                all = additions;
                text = longer;
            }
        }
        Ours::Yaml(entry) => {
            if let Some((longer, additions)) = take(name_of(entry), None, yaml_entries::add(&text, entry)?) {
                all = additions;
                text = longer;
            }
        }
        Ours::Whole(_) => {}
    }
    if made.is_empty() {
        let mut change = Change::new(&target.path, real, [before.clone(), before], Vec::new(), record);
        change.otherwise = otherwise;
        return Ok(change);
    }
    let lines = changed_lines(&text, &all);
    let mut record = begun(before.is_none(), record, &real);
    record.made.retain(|old| made.iter().all(|new| new.name != old.name));
    record.made.extend(made);
    record.steps.push(Step::new(&text, &all));
    let mut change = Change::new(&target.path, real, [before, Some(text)], lines, Some(record));
    change.otherwise = otherwise;
    Ok(change)
}

/// Plans to replace the one entry of a file that we added in an older form. Returns `None` if the entry is not in that
/// form, or if another program has changed the file since.
fn put_in_todays_form(
    target: &Target,
    real: &Path,
    before: Option<&str>,
    record: Option<&Record>,
) -> Result<Option<Change>, Unfit> {
    let (Some(before), Some(record)) = (before, record) else { return Ok(None) };
    let add = |text: &str| match &target.ours {
        Ours::Json(entries) if entries.len() == 1 => json_entries::add(text, &entries[0]).map(Some),
        Ours::Toml(table) => toml_entries::add(text, table).map(Some),
        Ours::Yaml(entry) => yaml_entries::add(text, entry).map(Some),
        Ours::Json(_) | Ours::Whole(_) => Ok(None),
    };
    if !matches!(add(before)?, Some(Added::ThereOtherwise)) {
        return Ok(None);
    }
    let (without, gone, true) = without_steps(before, &record.steps) else { return Ok(None) };
    let Some(Added::Now { text, additions, existing }) = add(&without)? else { return Ok(None) };
    let is_removed = |line: &ChangedLine| matches!(line, ChangedLine::Removed(_));
    let mut lines = swapped(changed_lines(before, &gone));
    lines.retain(is_removed);
    lines.extend(changed_lines(&text, &additions));
    let made = record.made.iter().map(|made| Made { existing, ..made.clone() }).collect();
    let steps = vec![Step::new(&text, &additions)];
    let record = Record { made, steps, ..record.clone() };
    let texts = [Some(before.to_owned()), Some(text)];
    Ok(Some(Change::new(&target.path, real.to_owned(), texts, lines, Some(record))))
}

/// Returns a text without the parts added in these steps, those parts, and whether every step was found unchanged.
fn without_steps(text: &str, steps: &[Step]) -> (String, Additions, bool) {
    let mut shorter = text.to_owned();
    let mut gone = Additions::default();
    for step in steps.iter().rev() {
        let undone = step.additions_to(&shorter).and_then(|additions| Some((additions.take_out(&shorter)?, additions)));
        let Some((text, additions)) = undone else { return (shorter, gone, false) };
        gone = additions.then(&gone);
        shorter = text;
    }
    (shorter, gone, !steps.is_empty())
}

/// Plans to write a file that is entirely ours. A file that another program wrote is not changed.
fn put_whole(target: &Target, real: PathBuf, ours: &str, before: Option<String>, record: Option<Record>) -> Change {
    let is_theirs = |text: &String| {
        text != ours && !record.iter().flat_map(|record| &record.steps).any(|step| step.additions_to(text).is_some())
    };
    if before.as_deref() == Some(ours) || before.as_ref().is_some_and(is_theirs) {
        let otherwise = before.as_deref() != Some(ours);
        let mut change = Change::new(&target.path, real, [before.clone(), before], Vec::new(), record);
        change.otherwise = if otherwise { vec!["the whole file".to_owned()] } else { Vec::new() };
        return change;
    }
    let mut lines = swapped(before.as_deref().map(all_added).unwrap_or_default());
    lines.extend(all_added(ours));
    let mut record = begun(before.is_none(), record, &real);
    record.steps = vec![Step::new(ours, &whole(ours))];
    Change::new(&target.path, real, [before, Some(ours.to_owned())], lines, Some(record))
}

/// Returns the record to continue: the old one, or a new one for a new file.
fn begun(is_new: bool, record: Option<Record>, real: &Path) -> Record {
    if !is_new {
        return record.unwrap_or_default();
    }
    let missing = real.ancestors().skip(1).take_while(|directory| !directory.exists());
    let mut directories: Vec<String> = missing.filter_map(|path| path.to_str().map(str::to_owned)).collect();
    directories.reverse();
    Record { created: true, directories, ..Record::default() }
}

/// Plans to remove all our entries from a file. If nothing else changed since, the file becomes what it was before,
/// byte for byte.
fn taken_out(target: &Target, real: PathBuf, before: Option<String>, record: Option<Record>) -> Result<Change, Unfit> {
    let Some(current) = before.clone() else {
        return Ok(Change::new(&target.path, real, [None, None], Vec::new(), None));
    };
    let steps = record.as_ref().map(|record| &record.steps[..]).unwrap_or_default();
    let (mut text, mut gone, is_exact) = without_steps(&current, steps);
    let mut otherwise = Vec::new();
    match &target.ours {
        Ours::Whole(ours) if is_exact || current == *ours => text.clear(),
        Ours::Whole(_) => otherwise.push("the whole file".to_owned()),
        Ours::Json(entries) if !is_exact => {
            // The first of several in one object knows whether the object was made for them.
            for entry in entries.iter().rev() {
                let Some(keep) = kept_names(record.as_ref(), entry) else { continue };
                let entry = &as_it_was_made(record.as_ref(), entry);
                if matches!(entry.what, What::Setting(_)) && json_entries::remove(&text, entry, keep)?.is_none() {
                    otherwise.push(entry.name());
                }
                while let Some((shorter, additions)) = json_entries::remove(&text, entry, keep)? {
                    gone = additions.then(&gone);
                    text = shorter;
                }
            }
        }
        Ours::Toml(table) if !is_exact => {
            if let Some((shorter, additions)) = toml_entries::remove(&text, table)? {
                gone = additions.then(&gone);
                text = shorter;
            }
        }
        Ours::Yaml(entry) if !is_exact => {
            if let Some((shorter, additions)) = yaml_entries::remove(&text, entry)? {
                gone = additions.then(&gone);
                text = shorter;
            }
        }
        Ours::Json(_) | Ours::Toml(_) | Ours::Yaml(_) => {}
    }
    let created = record.as_ref().is_some_and(|record| record.created);
    let is_over = match &target.ours {
        Ours::Whole(_) => text.is_empty(),
        Ours::Json(_) => created && json_entries::read(&text).is_ok_and(|value| is_nothing(&value)) && is_bare(&text),
        Ours::Toml(_) | Ours::Yaml(_) => created && text.trim_start_matches('\u{feff}').trim().is_empty(),
    };
    let after = (!is_over).then_some(text);
    let lines = match &after {
        None => swapped(all_added(&current)),
        Some(after) if *after == current => Vec::new(),
        Some(_) => swapped(changed_lines(&current, &gone)),
    };
    // The directories that were made for a file go with it.
    let left = record.filter(|record| is_over && !record.directories.is_empty());
    let left = left.map(|record| Record { directories: record.directories, ..Record::default() });
    let mut change = Change::new(&target.path, real, [before, after], lines, left);
    change.otherwise = otherwise;
    Ok(change)
}

/// Returns how many elements of an entry's path stay when it is removed, or `None` if the entry is not ours.
fn kept_names(record: Option<&Record>, entry: &Entry) -> Option<usize> {
    match record {
        Some(record) => made(record, entry).map(|made| made.existing),
        // Another program may have set it.
        None if matches!(entry.what, What::Setting(_)) => None,
        None if matches!(entry.what, What::Member(_)) => Some(entry.path.len() - 1),
        None => Some(entry.path.len()),
    }
}

/// Returns an entry with the value that it was created with.
fn as_it_was_made(record: Option<&Record>, entry: &Entry) -> Entry {
    let value = record.and_then(|record| made(record, entry)?.value.clone());
    match (&entry.what, value) {
        (What::Setting(_), Some(value)) => Entry { path: entry.path.clone(), what: What::Setting(value) },
        _ => entry.clone(),
    }
}

fn made<'a>(record: &'a Record, entry: &Entry) -> Option<&'a Made> {
    record.made.iter().find(|made| made.name == entry.name())
}

fn is_nothing(value: &serde_json::Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Returns whether a text without content has no comments either.
fn is_bare(text: &str) -> bool {
    !text.contains('/')
}

fn name_of(table: &TableEntry) -> String {
    format!("{}.{}", table.around, table.name)
}

fn whole(text: &str) -> Additions {
    Additions::new(std::iter::once(0..text.len()).collect())
}

fn all_added(text: &str) -> Vec<ChangedLine> {
    changed_lines(text, &whole(text))
}

/// Returns the lines of the reverse change.
fn swapped(lines: Vec<ChangedLine>) -> Vec<ChangedLine> {
    let swap = |line| match line {
        ChangedLine::Added(text) => ChangedLine::Removed(text),
        ChangedLine::Removed(text) => ChangedLine::Added(text),
        line => line,
    };
    lines.into_iter().map(swap).collect()
}

/// The planned changes of an agent's files, in order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Every file, including unchanged ones.
    pub changes: Vec<Change>,
}

/// The planned change of one file.
#[derive(Clone, Debug)]
pub struct Change {
    /// The file, as the agent knows it.
    pub path: PathBuf,
    /// The action.
    pub outcome: Outcome,
    /// The changed lines, with context.
    pub lines: Vec<ChangedLine>,
    /// The entries that already exist in a different form and are not changed.
    pub otherwise: Vec<String>,
    /// The file itself, behind all symbolic links.
    pub(super) real: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// The record for undoing it; `None` if there is nothing left to undo.
    pub(super) record: Option<Record>,
}

/// The action planned for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is created.
    Created,
    /// It is edited.
    Changed,
    /// It is removed.
    Removed,
    /// It is unchanged.
    Unchanged,
}

impl Outcome {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Unchanged => "unchanged",
        }
    }
}

impl Plan {
    /// Returns whether any file will change.
    pub fn changes_anything(&self) -> bool {
        self.changes.iter().any(|change| change.outcome != Outcome::Unchanged)
    }
}

impl Change {
    /// Returns the planned change between two texts, either of which may be missing.
    pub(super) fn new(
        path: &Path,
        real: PathBuf,
        [before, after]: [Option<String>; 2],
        lines: Vec<ChangedLine>,
        record: Option<Record>,
    ) -> Self {
        let outcome = match (&before, &after) {
            (before, after) if before == after => Outcome::Unchanged,
            (None, _) => Outcome::Created,
            (_, None) => Outcome::Removed,
            _ => Outcome::Changed,
        };
        Self { path: path.to_owned(), outcome, lines, otherwise: Vec::new(), real, before, after, record }
    }
}

/// What was added to one file, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Whether the file is new.
    pub(super) created: bool,
    /// The directories that were created for it, outermost first.
    pub(super) directories: Vec<String>,
    /// Our entries, and how much of the path to each existed before.
    pub(super) made: Vec<Made>,
    /// The additions, oldest first.
    pub(super) steps: Vec<Step>,
}

/// An entry that we added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Made {
    pub(super) name: String,
    pub(super) existing: usize,
    /// The value of a setting that other programs also use; it is ours while it has this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<Value>,
}

/// The parts added at one time, and a checksum of the resulting text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Step {
    length: usize,
    digest: String,
    ranges: Vec<(usize, usize)>,
}

impl Step {
    /// Describes the parts added to a text, given the text with the additions.
    pub(super) fn new(longer: &str, additions: &Additions) -> Self {
        let ranges = additions.ranges().iter().map(|range| (range.start, range.end)).collect();
        Self { length: longer.len(), digest: digest(longer), ranges }
    }

    /// Returns the parts of a text that were added in this step, or `None` if the step did not produce this text.
    pub(super) fn additions_to(&self, text: &str) -> Option<Additions> {
        let is_the_one = self.length == text.len() && self.digest == digest(text);
        is_the_one.then(|| Additions::new(self.ranges.iter().map(|(start, end)| *start..*end).collect()))
    }
}

/// The 64-bit FNV-1a hash: stable across releases, which the standard library's hashes are not.
fn digest(text: &str) -> String {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
}

#[cfg(test)]
mod tests {
    use crate::config_edit::ChangedLine;
    use crate::config_edit::toml_entries::TableEntry;
    use serde_json::json;

    use super::super::Outcome;
    use super::Change;
    use super::Record;
    use super::{put_in, taken_out};
    use crate::agent::{Ours, Target};

    const MINE: &str = "model = \"o\"\n";

    fn table(members: &[(&str, serde_json::Value)]) -> Target {
        let members = members.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let table = TableEntry { around: "mcp_servers".to_owned(), name: "taskyard".to_owned(), members };
        Target { path: "/c.toml".into(), ours: Ours::Toml(table) }
    }

    fn put(target: &Target, before: &str, record: Option<Record>) -> Change {
        put_in(target, target.path.clone(), Some(before.to_owned()), record).unwrap()
    }

    #[test]
    fn entry_in_older_form_is_replaced_and_removed_cleanly() {
        let (older, todays) =
            (table(&[("command", json!("a"))]), table(&[("command", json!("a")), ("args", json!(["b"]))]));
        let first = put(&older, MINE, None);
        let second = put(&todays, first.after.as_deref().unwrap(), first.record);
        assert_eq!(second.after, put(&todays, MINE, None).after);
        assert!(second.otherwise.is_empty());
        assert!(second.lines.iter().any(|line| matches!(line, ChangedLine::Removed(_))), "{:?}", second.lines);
        let gone = taken_out(&todays, second.real, second.after, second.record).unwrap();
        assert_eq!(gone.after.as_deref(), Some(MINE));
    }

    #[test]
    fn entry_changed_by_others_since_setup_is_left_alone() {
        let (older, todays) = (table(&[("command", json!("a"))]), table(&[("command", json!("b"))]));
        let first = put(&older, MINE, None);
        let edited = first.after.unwrap().replace("\"a\"", "\"mine\"");
        let second = put(&todays, &edited, first.record);
        assert_eq!((second.outcome, second.otherwise), (Outcome::Unchanged, vec!["mcp_servers.taskyard".to_owned()]));
    }
}
