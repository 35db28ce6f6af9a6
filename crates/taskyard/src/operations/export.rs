//! Writing a list down in another format.

use std::collections::BTreeMap;

use taskyard_core::dialect::foreign::{ExportFormat, Loss, csv, markdown};
use taskyard_core::dialect::native::{Shape, TooLarge};
use taskyard_core::dialect::{document, export, macf, native, teaching};
use taskyard_core::json_text::has_lone_surrogates;
use taskyard_core::render::graph;
use taskyard_core::rules::looking::query::Query;
use taskyard_core::rules::moving::returning::{sent_back, with_file_names};
use taskyard_core::{Image, Rules, Task, TaskId};

use super::known_times::whole_seconds;
use crate::clock;
use crate::interchange::Written;
use crate::store::{Lookup, StoreError};
use crate::{Error, Yard};

/// A list, written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// What was written.
    pub written: Written,
    /// How many tasks are in it.
    pub count: usize,
    /// What could not be carried.
    pub losses: Vec<Loss>,
}

impl Yard {
    /// Writes the tasks of the list down of which a query is true, in a format. Nothing is saved yet.
    pub fn export(&self, format: ExportFormat, query: &Query) -> Result<Exported, Error> {
        let mut reading = self.look()?;
        if !query.is_empty() {
            let missing = std::mem::take(&mut reading.missing);
            let around = self.surroundings(&reading.tasks, query)?.with_missing(missing);
            reading.tasks.retain(|task| query.is_true_of(task, &around));
        }
        let mut losses: Vec<Loss> = Vec::new();
        for problem in &reading.problems {
            let of = problem.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            losses.push(Loss { of, what: problem.why.to_string() });
        }
        let mut tasks = reading.tasks;
        if matches!(format, ExportFormat::Document | ExportFormat::Export) {
            tasks = self.with_known_times(tasks, format.as_str())?;
        }
        let halved = self.with_halves(&tasks)?;
        if !is_for_people(format) {
            tasks = sent_back(tasks, format.as_str());
        }
        if format.is_folder() {
            let (named, renamed) = with_file_names(tasks);
            tasks = named;
            losses.extend(renamed.into_iter().map(|(from, to)| Loss {
                of: from.as_str().to_owned(),
                what: format!("its id, which cannot name a file; it is called {to}"),
            }));
        }
        if is_for_people(format) {
            let before = tasks.len();
            tasks.retain(|task| !task.is_internal());
            lose(&mut losses, before - tasks.len(), "the client's own bookkeeping");
            tell_unsaid(format, &tasks, &mut losses);
        }
        let mut written = written(format, &tasks, self.rules())?;
        match (&mut written, format) {
            (Written::Folder(files), ExportFormat::Native | ExportFormat::Macf) => put_halves_back(files, &halved),
            _ => lose(&mut losses, halved.len(), "halves of characters; U+FFFD stands in their places"),
        }
        Ok(Exported { written, count: tasks.len(), losses })
    }

    /// Returns the contents of the tasks in whose texts there are halves of surrogate pairs.
    fn with_halves(&self, tasks: &[Task]) -> Result<BTreeMap<TaskId, Image>, Error> {
        let mut halved = BTreeMap::new();
        let suspects: Vec<&Task> = tasks.iter().filter(|task| line(task).contains('\u{fffd}')).collect();
        if suspects.is_empty() {
            return Ok(halved);
        }
        let list = self.store().read(self.list_id())?;
        for task in suspects {
            if let Lookup::Found(_, image) = list.find(&task.id)?
                && has_lone_surrogates(image.bytes())
            {
                halved.insert(task.id.clone(), image);
            }
        }
        Ok(halved)
    }
}

fn put_halves_back(files: &mut BTreeMap<String, Vec<u8>>, halved: &BTreeMap<TaskId, Image>) {
    for (id, origin) in halved {
        if let Some(bytes) = files.get_mut(&format!("{}.json", id.file_stem())) {
            *bytes = native::as_written_in(origin, Image::new(bytes.as_slice())).bytes().to_vec();
        }
    }
}

fn written(format: ExportFormat, tasks: &[Task], rules: Rules) -> Result<Written, Error> {
    Ok(match format {
        ExportFormat::Native => Written::Folder(task_files(tasks.iter().cloned())?),
        ExportFormat::Macf => Written::Folder(task_files(tasks.iter().map(macf::write_task))?),
        ExportFormat::Teaching => {
            let folder = teaching::write_tasks(tasks);
            let files = folder.files.into_iter().map(|(id, bytes)| (format!("{}.json", id.file_stem()), bytes));
            let mut files: BTreeMap<String, Vec<u8>> = files.collect();
            if let Some(carried) = teaching::print_carried(&folder.carried) {
                files.insert(".taskyard.json".to_owned(), carried.into_bytes());
            }
            Written::Folder(files)
        }
        ExportFormat::Document => {
            // A document states whole seconds.
            Written::Document(document::write_tasks(tasks, &whole_seconds(&clock::now().to_string())).print())
        }
        ExportFormat::Export => Written::File(export::print(&export::write_tasks(tasks)) + "\n"),
        ExportFormat::Markdown => Written::File(markdown::write(tasks)),
        ExportFormat::Csv => Written::File(csv::write(tasks)),
        ExportFormat::Mermaid => Written::File(graph::mermaid(tasks, rules)),
        ExportFormat::Jsonl => Written::File(tasks.iter().map(line).collect()),
    })
}

fn task_files(tasks: impl Iterator<Item = Task>) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let file = |task: Task| {
        let image = native::write(None, &task, Rules::Strict);
        let image = image.map_err(|source: TooLarge| StoreError::TooLarge { task: task.id.clone(), source })?;
        Ok((format!("{}.json", task.id.file_stem()), image.bytes().to_vec()))
    };
    tasks.map(file).collect()
}

fn line(task: &Task) -> String {
    let text = serde_json::to_string(&Shape(task)).expect("a task always has a text form");
    text + "\n"
}

/// Tells whether the format is a view of the list rather than the list itself.
fn is_for_people(format: ExportFormat) -> bool {
    matches!(format, ExportFormat::Markdown | ExportFormat::Csv | ExportFormat::Mermaid)
}

/// Tells which parts of how many tasks such a view has no place for.
fn tell_unsaid(format: ExportFormat, tasks: &[Task], losses: &mut Vec<Loss>) {
    let count = |has: &dyn Fn(&Task) -> bool| tasks.iter().filter(|task| has(task)).count();
    lose(losses, count(&|task| !task.extra.is_empty()), "keys that no client knows");
    if format == ExportFormat::Csv {
        return;
    }
    lose(losses, count(&|task| task.owner().is_some()), "the owner");
    lose(losses, count(&|task| task.active_form.is_some()), "the active form");
    let shown: &[&str] = if format == ExportFormat::Markdown { &["parent", "cancelled", "notes"] } else { &[] };
    let has_more = |task: &Task| task.metadata.iter().flatten().any(|(key, _)| !shown.contains(&key.as_str()));
    lose(losses, count(&has_more), "metadata");
    if format == ExportFormat::Mermaid {
        lose(losses, count(&|task| !task.description.is_empty()), "the description");
    }
}

fn lose(losses: &mut Vec<Loss>, count: usize, what: &str) {
    if count > 0 {
        let of = if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") };
        losses.push(Loss { of, what: what.to_owned() });
    }
}
