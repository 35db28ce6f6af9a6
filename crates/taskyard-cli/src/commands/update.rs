//! `taskyard update`, `note` and `edit`

use std::collections::HashSet;
use std::mem;
use std::path::Path;

use clap::Args;
use taskyard::core::answers::task_answers::{Created, NotCreated, Noted};
use taskyard::core::dialect::macf::Kind;
use taskyard::core::forms::edit_form;
use taskyard::core::forms::edit_form::EditFormError;
use taskyard::core::forms::one_line::{IdRange, is_attribute};
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::changes::editing::MergedDraft;
use taskyard::core::timing::Clock;
use taskyard::core::{Metadata, Status, Task, TaskId};
use taskyard::operations::{Draft, Edited, Move, NewTask, OwnerChange, Patch, TagChange, TaskMessage, Updated};
use taskyard::{Yard, operations};
use taskyard_jobs::processes;

use super::create::{description, given_twice};
use super::several::{make_move, none_is_like_that, tell_rehearsal};
use crate::arguments::{LeaseFlags, MetadataFlags, WhichTasks, parse_id, parse_status};
use crate::context::Context;
use crate::displays::did;
use crate::edited_texts::{Desk, Sheet};
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::Output;
use crate::{displays, edited_texts, places};

/// Change any field of tasks
///
/// All of them in one revision, or none. Fields you do not give stay as they are; the answer says what changed, from
/// what to what. Attributes may follow the ids: `update 3 due:fri pri:high +ops after:4`. `--tag` adds, `--untag`
/// removes, `--tags` replaces; `--meta KEY=null` removes a key (`--meta parent=null`).
#[derive(Debug, Args)]
#[command(override_usage = "taskyard update [OPTIONS] <ID|--where <QUERY>>")]
pub(crate) struct Update {
    /// The tasks, numbers and ranges, and attributes: `3 4 7-9 due:fri +ops`
    #[arg(value_name = "ID", required_unless_present_any = ["query", "these"])]
    pub(crate) words: Vec<String>,

    /// The tasks, where the words are a title and attributes (`yd 3 mod new title`)
    #[arg(long, hide = true, value_delimiter = ',', conflicts_with = "query")]
    pub(crate) these: Vec<IdRange>,

    /// All tasks that match (see `taskyard list --help`)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) query: Option<String>,

    /// Change the tasks that can be changed and report the others; without it all of them or none
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Show what would be done, without doing it; hooks and checks do not run
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// The title
    #[arg(long, visible_alias = "title", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) subject: Option<String>,

    /// The description of the work; `-` reads it from stdin
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,

    /// The phrase shown while it is in progress
    #[arg(long, value_name = "TEXT")]
    pub(crate) active_form: Option<String>,

    /// The state: pending, in_progress or completed
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    pub(crate) status: Option<Status>,

    /// The owner
    #[arg(long, value_name = "AGENT", conflicts_with = "no_owner")]
    pub(crate) owner: Option<String>,

    /// Remove the owner
    #[arg(long)]
    pub(crate) no_owner: bool,

    /// Make these tasks depend on this one
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) add_blocks: Vec<TaskId>,

    /// Make this task depend on these
    #[arg(long, visible_alias = "depends-on", alias = "blocked-by", value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) add_blocked_by: Vec<TaskId>,

    /// Remove this task from the blockers of these
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) remove_blocks: Vec<TaskId>,

    /// Remove these from the blockers of this task
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) remove_blocked_by: Vec<TaskId>,

    /// A tag to remove; may be given several times
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub(crate) untag: Vec<String>,

    /// Replace all tags by these; an empty text removes all
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) tags: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) metadata: MetadataFlags,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Update {
    /// Returns the tasks to change and those the change refers to, or `None` if a query selects them or there are
    /// many.
    pub(crate) fn named(&self) -> Option<Vec<TaskId>> {
        let mut ids = self.which().ok()?.named()?;
        for others in [&self.add_blocks, &self.add_blocked_by, &self.remove_blocks, &self.remove_blocked_by] {
            ids.extend(others.iter().cloned());
        }
        ids.extend(self.metadata.parent.clone());
        Some(ids)
    }

    /// Returns the selected tasks: the words that are not attributes.
    fn which(&self) -> Result<WhichTasks, Problem> {
        let mut ids = self.these.clone();
        if ids.is_empty() {
            for word in self.words.iter().filter(|word| !is_attribute(word)).flat_map(|word| word.split(',')) {
                let bad = |why: String| {
                    Problem::usage("usage", format!("invalid value '{}' for '[ID]...': {why}", word.escape_debug()))
                };
                ids.push(word.parse().map_err(bad)?);
            }
        }
        let (keep_going, dry_run) = (self.keep_going, self.dry_run);
        match (&self.query, ids.is_empty()) {
            (None, true) => Err(Problem::usage("usage", "no task was given")
                .hint("`taskyard update 3 due:fri`; `--where` chooses several")),
            (Some(_), false) => {
                Err(Problem::usage("usage", "tasks are given both by id and by `--where`")
                    .hint("leave out one of them"))
            }
            (query, _) => Ok(WhichTasks { ids, query: query.clone(), keep_going, dry_run }),
        }
    }

    pub(crate) fn run(mut self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let which = self.which()?;
        let words_name_tasks = self.these.is_empty();
        let attributes = mem::take(&mut self.words);
        let attributes: Vec<String> =
            attributes.into_iter().filter(|word| !words_name_tasks || is_attribute(word)).collect();
        let inline = context.inline_task(&attributes)?;
        let title = Some(inline.title).filter(|title| !title.is_empty());
        let fields = [
            ("owner", inline.owner.is_some() && (self.owner.is_some() || self.no_owner)),
            ("title", title.is_some() && self.subject.is_some()),
            ("tags", !inline.extras.tags.is_empty() && self.tags.is_some()),
        ];
        if let Some((field, _)) = fields.into_iter().find(|(_, is_twice)| *is_twice) {
            return Err(given_twice(field));
        }
        let mut extras = self.metadata.extras().and(inline.extras).map_err(given_twice)?;
        let owner = self.owner.or(inline.owner);
        let owner = if self.no_owner { Some(OwnerChange::Clear) } else { owner.map(OwnerChange::Set) };
        let tags = TagChange {
            set: self.tags.map(|tags| tags.into_iter().filter(|tag| !tag.is_empty()).collect()),
            add: mem::take(&mut extras.tags),
            remove: self.untag,
        };
        let kind = extras.kind.as_deref().and_then(|word| word.parse::<Kind>().ok());
        let update = operations::Update {
            patch: Patch {
                subject: self.subject.or(title),
                description: self.description.map(description).transpose()?,
                active_form: self.active_form,
                status: self.status,
                owner,
                metadata: context.metadata_of(extras)?,
            },
            add_blocks: self.add_blocks,
            add_blocked_by: self.add_blocked_by.into_iter().chain(inline.after).collect(),
            remove_blocks: self.remove_blocks,
            remove_blocked_by: self.remove_blocked_by,
            kind,
            tags,
            lease_for_owner: None,
        };
        if update == operations::Update::default() {
            let what = which.only_one().map_or_else(|| "the tasks".to_owned(), |id| format!("task {id}"));
            return Err(Problem::usage("nothing_given", format!("no change was given for {what}"))
                .hint("`taskyard update --help` shows what can be changed"));
        }
        let yard = self.lease.on(context.yard()?);
        make_move(("Updated", "Would update"), &Move::Update(Box::new(update)), &which, (context, &yard), output)
    }
}

/// Add a dated, signed comment to a task
///
/// Notes are kept in the order in which they were made and never overwritten; `taskyard show` shows them. A note needs
/// no claim. Members of the list's team who own the task, made it or noted something on it get the note as a message.
#[derive(Debug, Args)]
pub(crate) struct Note {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: TaskId,

    /// What you note; `-` reads it from stdin
    #[arg(value_name = "TEXT", required = true, num_args = 1..)]
    pub(crate) text: Vec<String>,
}

impl Note {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let text = match &self.text[..] {
            [one] => description(one.clone())?,
            words => words.join(" "),
        };
        if text.trim().is_empty() {
            return Err(Problem::usage("nothing_given", format!("no text was given for the note on task {}", self.id)));
        }
        let yard = context.yard()?;
        let noted = yard.note(&self.id, &text)?.done()?;
        let told: Vec<&str> = noted.messages.iter().filter_map(TaskMessage::sent_to).collect();
        for message in &noted.messages {
            if let TaskMessage::Failed { to, why } = message {
                output.warn(&format!("{to} could not be notified: {why}"))?;
            }
        }
        if output.is_json() {
            output.document(Noted::from(&noted))?;
            return Ok(Exit::Done);
        }
        output.say(&did("Noted on", &noted.task))?;
        if !told.is_empty() {
            output.say(&Line::new().with(Tone::Dim, "  told ").with(Tone::Owner, &told.join(", ")))?;
        }
        Ok(Exit::Done)
    }
}

/// Edit tasks, or write a new one, in $VISUAL or $EDITOR
///
/// One task has its fields on top and the description below. Several tasks, or those of --where, are one plan in Markdown: boxes are
/// states, indentation means parts, and items without a number are new tasks; all of it is saved as one revision. If a value is wrong, the
/// editor opens again at its line.
///
/// Changes that others make in the meantime are merged when you save. If both changed the same place, the editor opens
/// again and says so. Nothing you typed is lost: if it cannot be saved, the answer says where it is kept, and --resume
/// continues with it. Without an ID it creates a task.
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The tasks: numbers and ranges, `3 4 7-9`
    #[arg(value_name = "ID", value_delimiter = ',')]
    ids: Vec<IdRange>,

    /// Edit all tasks that match (see `taskyard help query`) in one text
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true, conflicts_with = "ids")]
    query: Option<String>,

    /// Continue with a text that could not be saved
    #[arg(long)]
    resume: bool,

    /// Show what the edit would change, without changing it
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    lease: LeaseFlags,
}

/// The result of one edit.
enum Ended {
    Saved(Box<Updated>),
    Unchanged(Box<Task>),
}

pub(super) struct Editing<'a> {
    pub(super) yard: &'a Yard,
    context: &'a Context,
    desk: Desk,
    /// Whether to resume an earlier edit.
    pub(super) resume: bool,
    /// The clock for times the user types.
    pub(super) clock: Clock,
}

impl Edit {
    /// Edits tasks one after the other, regardless of leases.
    pub(super) fn of(tasks: &[TaskId]) -> Self {
        let ids = tasks.iter().cloned().map(IdRange::One).collect();
        Self { ids, query: None, resume: false, dry_run: false, lease: LeaseFlags::default() }
    }

    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let yard = if self.dry_run { yard.rehearsing() } else { yard };
        let desk = Desk::in_data(&places::data(context.environment())?);
        let editing = Editing { yard: &yard, context, desk, resume: self.resume, clock: context.clock()? };
        let mut named = HashSet::new();
        let mut ids: Vec<TaskId> =
            self.ids.iter().flat_map(IdRange::ids).filter(|id| named.insert(id.clone())).collect();
        if let Some(query) = &self.query {
            let query = context.query_of(std::slice::from_ref(query))?;
            ids = editing.yard.chosen(&query)?.into_iter().map(|task| task.id).collect();
            if ids.is_empty() {
                return none_is_like_that(output);
            }
        }
        let id = match &ids[..] {
            [] if self.dry_run => {
                return Err(
                    Problem::usage("no_tasks", "--dry-run needs the ids of tasks").hint("`taskyard edit 3 --dry-run`")
                );
            }
            [] => return editing.write_new(output),
            [id] if self.query.is_none() => id,
            ids => return editing.edit_plan(ids, self.dry_run, output),
        };
        let updated = match editing.edit(id, output)? {
            Ended::Saved(updated) => *updated,
            Ended::Unchanged(task) if output.is_json() => {
                yard.update(&task.id, taskyard::operations::Update::default())?.done()?
            }
            Ended::Unchanged(task) => {
                output.say(&did("Nothing was changed in", &task))?;
                return Ok(Exit::Done);
            }
        };
        if self.dry_run {
            return tell_rehearsal("Would update", &[&updated.task], &[], output);
        }
        displays::updated("Updated", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}

impl Editing<'_> {
    /// Lets the user edit one task, and saves the result.
    fn edit(&self, id: &TaskId, output: &mut Output) -> Result<Ended, Problem> {
        let task = self.yard.show(id)?.done()?.task;
        let name = format!("{}-{}", self.yard.list_id().directory(), id.file_stem());
        let heading = format!("Task #{id} in {}", self.yard.list_id());
        let mut base = Draft::of(&task);
        let (sheet, mut written) = self.sheet(&name, &edit_form::print(&base, &heading, &[], &self.clock), output)?;
        if self.resume {
            let began =
                sheet.base().map_err(|error| kept(Problem::io("cannot read the original text", &error), id, &sheet))?;
            base = edit_form::read(&began, &base, &self.clock).unwrap_or(base);
        }
        let keeping = |problem: Problem| kept(problem, id, &sheet);
        let mut is_first = !self.resume;
        let mut has_seen_both = false;
        loop {
            let text = match self.typed(&sheet, None, output) {
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
            // Closing the editor on two versions without a change is not a decision.
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
            let failed = |error| Problem::io("cannot write the changes made in the meantime", &error);
            sheet.replace(&written, &began).map_err(failed).map_err(keeping)?;
            base = *now;
            is_first = false;
            has_seen_both = true;
            output.warn(&format!(
                "#{id} was changed in the meantime in the same places; the editor now shows both texts"
            ))?;
        }
    }

    /// Lets the user write a new task.
    fn write_new(&self, output: &mut Output) -> Result<Exit, Problem> {
        let name = format!("{}-new", self.yard.list_id().directory());
        let template = edit_form::print_new(&format!("A new task in {}", self.yard.list_id()), &self.clock);
        let (sheet, written) = self.sheet(&name, &template, output)?;
        let keeping = |problem: Problem| kept_new(problem, sheet.path());
        let text = match self.typed(&sheet, None, output) {
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
                false => output.say(&Line::plain("Nothing was created"))?,
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

    /// Creates the text to edit, or resumes one, and returns it with the text that counts as unchanged.
    pub(super) fn sheet(&self, name: &str, text: &str, output: &mut Output) -> Result<(Sheet, String), Problem> {
        let failed = |error| Problem::io("cannot write the text to edit", &error);
        if self.resume {
            let sheet = self.desk.take_up(name).map_err(failed)?;
            let sheet = sheet.ok_or_else(|| {
                Problem::new(ProblemKind::NotFound, "nothing_kept", "there is no saved text of an earlier edit")
            })?;
            let text = sheet.read().map_err(failed)?;
            return Ok((sheet, text));
        }
        if let Some(path) = self.desk.left(name) {
            output.warn(&format!(
                "the unsaved text of an earlier edit is in `{}`; continue with --resume",
                path.display()
            ))?;
        }
        let sheet = self.desk.lay_out(name, text, text).map_err(failed)?;
        Ok((sheet, text.to_owned()))
    }

    /// Opens the editor and returns the resulting text.
    pub(super) fn typed(&self, sheet: &Sheet, line: Option<usize>, output: &mut Output) -> Result<String, NotTyped> {
        // Open the editor even if earlier output cannot be shown.
        let _ = output.flush();
        let edited = edited_texts::edit(sheet.path(), line, self.context.environment(), output.is_json());
        // From here on locks may be held, which must be released on a signal.
        processes::end_in_order_when_stopped(self.context.cancel().clone());
        match (edited, sheet.read()) {
            (Ok(()), Ok(text)) => Ok(text),
            (Ok(()), Err(error)) => {
                let problem = Problem::io("cannot read the edited text", &error);
                Err(NotTyped { problem, text: None, was_killed: false })
            }
            (Err(failed), text) => {
                Err(NotTyped { problem: failed.problem, text: text.ok(), was_killed: failed.was_killed })
            }
        }
    }
}

/// Why an edited text is not used.
pub(super) struct NotTyped {
    pub(super) problem: Problem,
    /// What is there, as far as it can be read.
    pub(super) text: Option<String>,
    /// Whether a signal ended the editor.
    pub(super) was_killed: bool,
}

fn read(text: &str, base: &Draft, clock: &Clock) -> Result<Draft, Problem> {
    edit_form::read(text, base, clock).map_err(|error: EditFormError| Problem::usage("bad_form", error.to_string()))
}

fn undecided(id: &TaskId) -> Problem {
    let message = format!("nothing was saved: the description of task {id} still has both versions; choose one");
    Problem::new(ProblemKind::Refused, "undecided", message)
}

/// Adds to a problem where the edited text is kept.
fn kept(problem: Problem, id: &TaskId, sheet: &Sheet) -> Problem {
    tell_kept(problem, sheet.path(), &format!("taskyard edit {id} --resume"))
}

fn kept_new(problem: Problem, path: &Path) -> Problem {
    tell_kept(problem, path, "taskyard edit --resume")
}

pub(super) fn tell_kept(problem: Problem, path: &Path, way: &str) -> Problem {
    let said = problem.report().hint.as_ref().map(|hint| format!("{hint}\n")).unwrap_or_default();
    let hint = format!("{said}your text is kept in `{}`; continue with `{way}`", path.display());
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
