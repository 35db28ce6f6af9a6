//! `taskyard edit`

use std::collections::HashSet;
use std::path::Path;

use clap::Args;
use taskyard::Yard;
use taskyard::core::answers::tasks::{Created, NotCreated};
use taskyard::core::forms::edit_form::{self, EditFormError};
use taskyard::core::forms::id_range::IdRange;
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::changes::editing::MergedDraft;
use taskyard::core::timing::Clock;
use taskyard::core::{Metadata, Task, TaskId};
use taskyard::operations::{Draft, Edited, NewTask, Possible, Updated};

use super::several::tell_rehearsal;
use crate::arguments::LeaseFlags;
use crate::context::Context;
use crate::displays::answers::{self, did};
use crate::edits::{Desk, Sheet};
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::{Problem, ProblemKind};
use crate::{editor, places};
use taskyard_jobs::signals;

/// Edit tasks in $VISUAL or $EDITOR, or write a new one
///
/// The fields stand on top and the description below. Changes that others make meanwhile are merged when you save;
/// where both changed the same, the editor opens again with both. Nothing you typed is lost: where it cannot be saved,
/// the answer says where it is kept, and --resume goes on with it. Without an ID it is a new task. Several tasks are
/// edited one after the other.
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The tasks: numbers and ranges, `3 4 7-9`
    #[arg(value_name = "ID", value_delimiter = ',')]
    ids: Vec<IdRange>,

    /// Go on with a text that could not be saved
    #[arg(long)]
    resume: bool,

    /// Show what the edit would change, and change nothing
    #[arg(long, requires = "ids")]
    dry_run: bool,

    #[command(flatten)]
    lease: LeaseFlags,
}

/// What came of one edit.
enum Ended {
    Saved(Box<Updated>),
    Unchanged(Box<Task>),
}

/// What an edit works with.
struct Editing<'a> {
    yard: &'a Yard,
    context: &'a Context,
    desk: Desk,
    /// Go on with what was left.
    resume: bool,
    /// The clock by which times are meant.
    clock: Clock,
}

impl Edit {
    /// Edits tasks one after the other, whichever agent holds them.
    pub(super) fn of(tasks: &[TaskId]) -> Self {
        let ids = tasks.iter().cloned().map(IdRange::One).collect();
        Self { ids, resume: false, dry_run: false, lease: LeaseFlags::default() }
    }

    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let yard = if self.dry_run { yard.rehearsing() } else { yard };
        let desk = Desk::in_data(&places::data(context.environment())?);
        let editing = Editing { yard: &yard, context, desk, resume: self.resume, clock: context.clock()? };
        if self.ids.is_empty() {
            return editing.write_new(output);
        }
        let mut saved = Vec::new();
        let mut named = HashSet::new();
        let ids: Vec<TaskId> = self.ids.iter().flat_map(IdRange::ids).filter(|id| named.insert(id.clone())).collect();
        if ids.len() > 1 {
            // One that is not there is told before anything is typed.
            for id in &ids {
                yard.show(id)?.done()?;
            }
        }
        for id in &ids {
            match editing.edit(id, output)? {
                Ended::Saved(updated) if output.is_json() || self.dry_run => saved.push(*updated),
                Ended::Saved(updated) => answers::updated("Updated", &updated, &yard, output)?,
                Ended::Unchanged(task) if output.is_json() => {
                    let unchanged = yard.update(&task.id, taskyard::operations::Update::default())?.done()?;
                    saved.push(unchanged);
                }
                Ended::Unchanged(task) => output.say(&did("Nothing was changed in", &task))?,
            }
        }
        if self.dry_run {
            let tasks: Vec<&Task> = saved.iter().map(|updated| &updated.task).collect();
            return tell_rehearsal("Would update", &tasks, &[], output);
        }
        match &saved[..] {
            _ if !output.is_json() => {}
            [one] if ids.len() == 1 => answers::updated("Updated", one, &yard, output)?,
            _ => answers::updated_together("Updated", &Possible { done: saved, refused: Vec::new() }, &yard, output)?,
        }
        Ok(Exit::Done)
    }
}

impl Editing<'_> {
    /// Lets the user edit one task, and saves what comes of it.
    fn edit(&self, id: &TaskId, output: &mut Output) -> Result<Ended, Problem> {
        let task = self.yard.show(id)?.done()?.task;
        let name = format!("{}-{}", self.yard.list_id().directory(), id.file_stem());
        let heading = format!("Task #{id} in {}", self.yard.list_id());
        let mut base = Draft::of(&task);
        let (sheet, mut written) = self.sheet(&name, &edit_form::print(&base, &heading, &[], &self.clock), output)?;
        if self.resume {
            let began =
                sheet.base().map_err(|error| kept(Problem::io("cannot read what it began as", &error), id, &sheet))?;
            base = edit_form::read(&began, &base, &self.clock).unwrap_or(base);
        }
        let keeping = |problem: Problem| kept(problem, id, &sheet);
        let mut is_first = !self.resume;
        let mut has_seen_both = false;
        loop {
            let text = match self.typed(&sheet, output) {
                Ok(text) => text,
                Err(NotTyped { problem, text, was_killed })
                    if is_first && !was_killed && text.as_ref() == Some(&written) =>
                {
                    sheet.put_away();
                    return Err(problem);
                }
                Err(NotTyped { problem, .. }) => return Err(keeping(problem)),
            };
            if is_first && (text.trim().is_empty() || text == written) {
                sheet.put_away();
                return Ok(Ended::Unchanged(Box::new(task)));
            }
            let mine = read(&text, &base, &self.clock).map_err(keeping)?;
            // A user who closes the editor on two texts without a change has not chosen.
            if mine.is_undecided() || (text == written && has_seen_both) {
                return Err(keeping(undecided(id)));
            }
            let (now, merged) = match self.yard.save_draft(id, &base, &mine).map_err(Problem::from) {
                Ok(outcome) => match outcome.done().map_err(Problem::from).map_err(keeping)? {
                    Edited::Saved(updated) => {
                        sheet.put_away();
                        return Ok(Ended::Saved(updated));
                    }
                    Edited::AtOdds { now, merged } => (now, merged),
                },
                Err(problem) => return Err(keeping(problem)),
            };
            let MergedDraft { draft, conflicts } = *merged;
            written = edit_form::print(&draft, &heading, &conflicts, &self.clock);
            let began = edit_form::print(&now, &heading, &[], &self.clock);
            let failed = |error| Problem::io("cannot write down what others changed meanwhile", &error);
            sheet.replace(&written, &began).map_err(failed).map_err(keeping)?;
            base = *now;
            is_first = false;
            has_seen_both = true;
            output
                .warn(&format!("#{id} was changed meanwhile in the same places; both texts are in the editor now"))?;
        }
    }

    /// Lets the user write a new task.
    fn write_new(&self, output: &mut Output) -> Result<Exit, Problem> {
        let name = format!("{}-new", self.yard.list_id().directory());
        let template = edit_form::print_new(&format!("A new task in {}", self.yard.list_id()), &self.clock);
        let (sheet, written) = self.sheet(&name, &template, output)?;
        let keeping = |problem: Problem| kept_new(problem, sheet.path());
        let text = match self.typed(&sheet, output) {
            Ok(text) => text,
            Err(NotTyped { problem, text, was_killed })
                if !self.resume && !was_killed && text.as_ref() == Some(&written) =>
            {
                sheet.put_away();
                return Err(problem);
            }
            Err(NotTyped { problem, .. }) => return Err(keeping(problem)),
        };
        if text.trim().is_empty() || (text == written && !self.resume) {
            sheet.put_away();
            match output.is_json() {
                true => output.document(NotCreated { task: () })?,
                false => output.say(&Line::plain("Nothing was made"))?,
            }
            return Ok(Exit::Done);
        }
        let draft = read(&text, &Draft::default(), &self.clock).map_err(keeping)?;
        let no_subject = || Problem::usage("no_subject", "a task needs a subject");
        if draft.subject.trim().is_empty() {
            return Err(keeping(no_subject()));
        }
        let created = self.yard.create(new_task(draft)).map_err(Problem::from).map_err(keeping)?;
        let created = created.done().map_err(Problem::from).map_err(keeping)?;
        sheet.put_away();
        if output.is_json() {
            output.document(Created::from(&created))?;
        } else {
            let mut line = did("Created", &created.task);
            line.push(Tone::Dim, &format!(" in {}", self.yard.list_id()));
            output.say(&line)?;
            output.consider_list_named();
        }
        Ok(Exit::Done)
    }

    /// Lays out what is to be edited, or takes up what was left, and returns it with the text that counts as unchanged.
    fn sheet(&self, name: &str, text: &str, output: &mut Output) -> Result<(Sheet, String), Problem> {
        let failed = |error| Problem::io("cannot lay out the text to edit", &error);
        if self.resume {
            let sheet = self.desk.take_up(name).map_err(failed)?;
            let sheet = sheet.ok_or_else(|| {
                Problem::new(ProblemKind::NotFound, "nothing_kept", "no text was kept of an earlier edit of it")
            })?;
            let text = sheet.read().map_err(failed)?;
            return Ok((sheet, text));
        }
        if let Some(path) = self.desk.left(name) {
            output.warn(&format!(
                "the text of an earlier edit that was not saved is in `{}`; --resume goes on with it",
                path.display()
            ))?;
        }
        let sheet = self.desk.lay_out(name, text, text).map_err(failed)?;
        Ok((sheet, text.to_owned()))
    }

    /// Lets the user type, and returns what is there then.
    fn typed(&self, sheet: &Sheet, output: &mut Output) -> Result<String, NotTyped> {
        // Where it cannot be shown what was said before, the editor is opened all the same.
        let _ = output.flush();
        let edited = editor::edit(sheet.path(), self.context.environment(), output.is_json());
        // From here on we may hold locks, which a signal must give back.
        signals::end_in_order_when_stopped(self.context.cancel().clone());
        match (edited, sheet.read()) {
            (Ok(()), Ok(text)) => Ok(text),
            (Ok(()), Err(error)) => {
                let problem = Problem::io("cannot read what was typed", &error);
                Err(NotTyped { problem, text: None, was_killed: false })
            }
            (Err(failed), text) => {
                Err(NotTyped { problem: failed.problem, text: text.ok(), was_killed: failed.was_killed })
            }
        }
    }
}

/// Why what was typed does not count.
struct NotTyped {
    problem: Problem,
    /// What is there, as far as it can be read.
    text: Option<String>,
    /// Whether a signal ended the editor.
    was_killed: bool,
}

fn read(text: &str, base: &Draft, clock: &Clock) -> Result<Draft, Problem> {
    edit_form::read(text, base, clock).map_err(|error: EditFormError| Problem::usage("bad_form", error.to_string()))
}

fn undecided(id: &TaskId) -> Problem {
    let message =
        format!("nothing was saved: in the description of task {id} two texts stand of which one is to be chosen");
    Problem::new(ProblemKind::Refused, "undecided", message)
}

/// Says where what was typed is kept.
fn kept(problem: Problem, id: &TaskId, sheet: &Sheet) -> Problem {
    tell_kept(problem, sheet.path(), &format!("taskyard edit {id} --resume"))
}

fn kept_new(problem: Problem, path: &Path) -> Problem {
    tell_kept(problem, path, "taskyard edit --resume")
}

fn tell_kept(problem: Problem, path: &Path, way: &str) -> Problem {
    let said = problem.report().hint.as_ref().map(|hint| format!("{hint}\n")).unwrap_or_default();
    let hint = format!("{said}your text is kept in `{}`; go on with it by `{way}`", path.display());
    let path = path.display().to_string();
    problem.hint(hint).detail("kept", path)
}

fn new_task(draft: Draft) -> NewTask {
    let changes = draft.changes_from(&Draft::default());
    let metadata: Option<Metadata> = changes.patch.metadata;
    NewTask {
        subject: draft.subject,
        description: draft.description,
        active_form: draft.active_form,
        owner: draft.owner,
        blocks: draft.blocks,
        blocked_by: draft.blocked_by,
        metadata,
        ..NewTask::default()
    }
}
