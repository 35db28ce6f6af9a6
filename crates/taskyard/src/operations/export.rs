//! Exports a list in another format.

use std::collections::BTreeMap;

use taskyard_core::dialect::foreign::{
    ExportFormat, Loss, backlog, beads, checklists, csv_and_jsonl, taskmaster, taskwarrior,
};
use taskyard_core::dialect::native::{Shape, TooLarge};
use taskyard_core::dialect::{document, export, macf, native, teaching};
use taskyard_core::forms::template::{WrittenTemplate, write_template};
use taskyard_core::json_text::has_lone_surrogates;
use taskyard_core::render::graph;
use taskyard_core::rules::looking::query::Query;
use taskyard_core::rules::moving::list_moves::{sent_back, with_file_names};
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::timing::Clock;
use taskyard_core::{Image, Rules, Task, TaskId};

use crate::interchange::Written;
use crate::operations::reading::whole_seconds;
use crate::store::{Lookup, StoreError};
use crate::{Error, Outcome, Yard, system};

/// An exported list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The files or text.
    pub written: Written,
    /// The number of tasks in it.
    pub count: usize,
    /// What could not be exported.
    pub losses: Vec<Loss>,
}

impl Yard {
    /// Exports the tasks of the list that match a query. Nothing is written to disk.
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
        if format.is_folder() && !is_foreign(format) {
            let (named, renamed) = with_file_names(tasks);
            tasks = named;
            losses.extend(renamed.into_iter().map(|(from, to)| Loss {
                of: from.as_str().to_owned(),
                what: format!("its id, which cannot be a file name; its new id is {to}"),
            }));
        }
        if is_for_people(format) || is_foreign(format) {
            let before = tasks.len();
            tasks.retain(|task| !task.is_internal());
            lose(&mut losses, before - tasks.len(), "internal tasks of the client");
            tell_unsaid(format, &tasks, &mut losses);
        }
        let mut written = match format {
            _ if is_foreign(format) => self.written_for_others(format, &tasks)?,
            format => written(format, &tasks, self.rules())?,
        };
        match (&mut written, format) {
            (Written::Folder(files), ExportFormat::Native | ExportFormat::Macf) => put_halves_back(files, &halved),
            _ => lose(&mut losses, halved.len(), "lone surrogates; U+FFFD is written in their place"),
        }
        Ok(Exported { written, count: tasks.len(), losses })
    }

    /// Makes a template of tasks, in this order, with these texts as variables. Its dates count from the day on which the
    /// first of the tasks was created, or from today if that is not known.
    pub fn template_of(
        &self,
        name: &str,
        ids: &[TaskId],
        variables: &BTreeMap<String, String>,
        clock: &Clock,
    ) -> Result<Outcome<WrittenTemplate>, Error> {
        let reading = self.look()?;
        let mut tasks = Vec::new();
        for id in ids {
            match reading.tasks.iter().find(|task| task.id == *id) {
                Some(task) => tasks.push(task.clone()),
                None => return Ok(Outcome::Refused(Refusal::NoSuchTask { task: id.clone() })),
            }
        }
        let times = self.known_times()?;
        let created = ids.iter().filter_map(|id| times.get(id)).map(|times| times.created);
        let start = created.min().unwrap_or(clock.now);
        Ok(Outcome::Done(write_template(name, &tasks, variables, start, clock)))
    }

    /// Exports tasks in the format of another program that needs creation times.
    fn written_for_others(&self, format: ExportFormat, tasks: &[Task]) -> Result<Written, Error> {
        let (times, now) = (self.known_times()?, system::now());
        Ok(match format {
            ExportFormat::Taskwarrior => Written::File(taskwarrior::write(tasks, self.list_id().as_str())),
            ExportFormat::Beads => Written::File(beads::write(tasks, &times, now)),
            ExportFormat::Taskmaster => Written::File(taskmaster::write(tasks, now)),
            _ => {
                let files = backlog::write(tasks, &times, now).into_iter();
                Written::Folder(files.map(|(name, text)| (name, text.into_bytes())).collect())
            }
        })
    }

    /// Returns the contents of the tasks whose texts contain lone surrogates.
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
            // A document uses whole seconds.
            Written::Document(document::write_tasks(tasks, &whole_seconds(&system::now().to_string())).print())
        }
        ExportFormat::Export => Written::File(export::print(&export::write_tasks(tasks)) + "\n"),
        ExportFormat::Markdown => Written::File(checklists::write(tasks)),
        ExportFormat::Csv => Written::File(csv_and_jsonl::write(tasks)),
        ExportFormat::Mermaid => Written::File(graph::mermaid(tasks, rules)),
        // The formats of other programs are handled above.
        _ => Written::File(tasks.iter().map(line).collect()),
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

/// Returns whether the format is a view of the list rather than the list itself.
fn is_for_people(format: ExportFormat) -> bool {
    matches!(format, ExportFormat::Markdown | ExportFormat::Csv | ExportFormat::Mermaid)
}

/// Returns whether the format is that of another task program.
fn is_foreign(format: ExportFormat) -> bool {
    use ExportFormat::{Backlog, Beads, Taskmaster, Taskwarrior};
    matches!(format, Backlog | Beads | Taskmaster | Taskwarrior)
}

/// Records which fields, of how many tasks, the format cannot represent.
fn tell_unsaid(format: ExportFormat, tasks: &[Task], losses: &mut Vec<Loss>) {
    let count = |has: &dyn Fn(&Task) -> bool| tasks.iter().filter(|task| has(task)).count();
    lose(losses, count(&|task| !task.extra.is_empty()), "unknown keys");
    let shown: &[&str] = match format {
        ExportFormat::Csv | ExportFormat::Markdown => return,
        ExportFormat::Taskwarrior => &["cancelled", "notes", "priority", "tags", "project", "due", "defer", "estimate"],
        ExportFormat::Beads => &["parent", "notes", "priority", "tags", "kind", "due", "defer", "estimate"],
        ExportFormat::Backlog => &["parent", "notes", "priority", "tags", "due"],
        ExportFormat::Taskmaster => &["parent", "cancelled", "priority"],
        _ => &[],
    };
    if matches!(format, ExportFormat::Mermaid | ExportFormat::Taskwarrior) {
        lose(losses, count(&|task| task.owner().is_some()), "the owner");
    }
    lose(losses, count(&|task| task.active_form.is_some()), "the active form");
    if format == ExportFormat::Taskwarrior {
        lose(losses, count(&|task| task.parent().is_some()), "the parent");
    }
    let is_said = |key: &str| shown.contains(&key) || key == format.as_str() || (key == "parent" && !shown.is_empty());
    let has_more = |task: &Task| task.metadata.iter().flatten().any(|(key, _)| !is_said(key));
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
