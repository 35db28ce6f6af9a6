//! `taskyard create`

use std::io;
use std::io::Read as _;

use clap::{Args, Subcommand};
use serde_json::Value;
use taskyard::config::Marks;
use taskyard::core::answers::task_answers::Created;
use taskyard::core::dialect::macf::{Kind, UnknownKind, describe_making, stated_parent};
use taskyard::core::dialect::native::LARGEST;
use taskyard::core::forms::one_line::{InlineTask, without_taken_times};
use taskyard::core::render::{Line, Look, Tone};
use taskyard::core::rules::changes::recurring::{EVERY, add_first_due};
use taskyard::core::timing::work_in_words;
use taskyard::core::{Task, TaskId};
use taskyard::operations::NewTask;

use super::create_batch::create_batch;
use super::template;
use crate::arguments::{MetadataFlags, parse_id};
use crate::context::Context;
use crate::displays::did;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// The arguments for a single task. They conflict with `--batch`, and with `--template` except for words and `--every`.
const ALONE: [&str; 19] = [
    "subject",
    "every",
    "literal",
    "title",
    "description",
    "active_form",
    "blocked_by",
    "blocks",
    "owner",
    "priority",
    "tag",
    "parent",
    "kind",
    "due",
    "defer",
    "estimate",
    "meta",
    "repo",
    "version",
];

/// Create a task
///
/// With --quiet it prints the bare number, for scripts: `id=$(taskyard create "Write the parser" --quiet)`.
///
/// Several arguments are words of the title, except attributes: `+tag`, `due:fri`, `pri:high`, `defer:mon`, `est:2h`,
/// `parent:3`, `after:4,5`, `owner:ana`, `kind:bug`, `project:rocket` and `every:mon`. Words after `--` always belong
/// to the title, and so does a single argument.
///
/// --template creates the tasks of a template with the values of its variables: `create --template release version=2.1`.
///
/// --batch creates many tasks in one revision, from JSON lines with the keys of a task, `priority`, `tags`, `parent`,
/// `due`, `defer`, `estimate`, and `name`, which `blockedBy`, `blocks` and `parent` may use; or a Markdown list, in
/// which indentation means parts and `after: NAME` order.
#[derive(Debug, Default, Args)]
pub(crate) struct Create {
    /// The title, with or without quotes, and attributes
    #[arg(value_name = "WORD", required_unless_present_any = ["batch", "literal", "template", "title"])]
    pub(crate) subject: Vec<String>,

    /// Words of the title that are not attributes
    #[arg(value_name = "WORD", last = true)]
    pub(crate) literal: Vec<String>,

    /// The title as a flag; the other words are attributes
    #[arg(long, value_name = "TEXT", alias = "subject", allow_hyphen_values = true)]
    pub(crate) title: Option<String>,

    /// Many tasks from a file, or from stdin (`-`): JSON lines or Markdown
    #[arg(long, value_name = "FILE", group = "many", conflicts_with_all = ALONE, allow_hyphen_values = true)]
    pub(crate) batch: Option<String>,

    /// Create the tasks of a template (`taskyard template list`); the words are values of its variables, KEY=TEXT. With
    /// --every the task at its top recurs, and its parts with it
    #[arg(long, value_name = "TEMPLATE_NAME", group = "many", conflicts_with_all = &ALONE[2..])]
    pub(crate) template: Option<String>,

    /// Show what would be created, without creating it
    #[arg(long, requires = "many")]
    pub(crate) dry_run: bool,

    /// The description of the work; `-` reads it from stdin
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,

    /// The phrase shown while it is in progress ("Writing the parser")
    #[arg(long, value_name = "TEXT")]
    pub(crate) active_form: Option<String>,

    /// The tasks it depends on
    #[arg(long, visible_alias = "depends-on", value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) blocked_by: Vec<TaskId>,

    /// The tasks that depend on it
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) blocks: Vec<TaskId>,

    /// The owner
    #[arg(long, value_name = "AGENT")]
    pub(crate) owner: Option<String>,

    #[command(flatten)]
    pub(crate) metadata: MetadataFlags,

    /// The repository of a mission
    #[arg(long, value_name = "NAME")]
    pub(crate) repo: Option<String>,

    /// The version a mission is for
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
}

/// Create a task of a kind, under the names that MACF's tools use
#[derive(Debug, Args)]
pub(crate) struct TaskOfKind {
    #[command(subcommand)]
    action: TaskAction,
}

#[derive(Debug, Subcommand)]
enum TaskAction {
    /// Make a task of a kind: `task create phase --parent 67 "Phase 1"` is `create --kind phase --parent 67 "Phase 1"`
    Create(Box<CreateOfKind>),
}

#[derive(Debug, Args)]
struct CreateOfKind {
    /// mission, experiment, phase, bug, detour or task
    #[arg(value_name = "KIND", value_parser = parse_kind, conflicts_with_all = ["kind", "batch"])]
    of_kind: Kind,

    #[command(flatten)]
    create: Create,
}

fn parse_kind(word: &str) -> Result<Kind, String> {
    word.parse().map_err(|error: UnknownKind| error.to_string())
}

impl TaskOfKind {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let TaskAction::Create(made) = self.action;
        let CreateOfKind { of_kind, mut create } = *made;
        create.metadata.kind = Some(of_kind.as_str().to_owned());
        create.run(context, output)
    }
}

impl Create {
    /// Returns the tasks that the new one is tied to, or `None` if it makes several.
    pub(crate) fn named(&self) -> Option<Vec<TaskId>> {
        if self.batch.is_some() || self.template.is_some() {
            return None;
        }
        let ids = self.blocked_by.iter().chain(&self.blocks).cloned();
        Some(ids.chain(self.metadata.parent.clone()).collect())
    }

    /// Returns the title and the attributes among the words. A single argument is taken literally as the title.
    fn inline(&self, context: &Context) -> Result<InlineTask, Problem> {
        if let ([title], [], None) = (&self.subject[..], &self.literal[..], &self.title) {
            return Ok(InlineTask { title: title.clone(), ..InlineTask::default() });
        }
        let mut task = context.inline_task(&self.subject)?;
        if self.title.is_some() && !task.title.is_empty() {
            return Err(given_twice("title"));
        }
        let words = [task.title].into_iter().chain(self.title.clone()).chain(self.literal.iter().cloned());
        task.title = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        Ok(task)
    }

    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if let Some(batch) = &self.batch {
            return create_batch(batch, self.dry_run, context, output);
        }
        if let Some(name) = &self.template {
            return template::create(name, &self.subject, self.metadata.every.as_ref(), self.dry_run, context, output);
        }
        let InlineTask { title, extras, owner, after } = self.inline(context)?;
        if title.trim().is_empty() {
            return Err(
                Problem::usage("empty_subject", "a task needs a title").hint("`taskyard create \"Write the parser\"`")
            );
        }
        if owner.is_some() && self.owner.is_some() {
            return Err(given_twice("owner"));
        }
        let extras = self.metadata.extras().and(extras).map_err(given_twice)?;
        let claimed = context.claim_list(output)?;
        let context = claimed.as_ref().unwrap_or(context);
        let kind = extras.kind.as_deref().and_then(|word| word.parse::<Kind>().ok());
        let mut description = self.description.map(description).transpose()?.unwrap_or_default();
        let has_parent = extras.parent.is_some() || stated_parent(&description).is_some();
        if let Some(kind) = kind.filter(|kind| kind.needs_parent() && !has_parent) {
            return Err(Problem::usage("no_parent", format!("a {kind} is always a part of another task"))
                .hint("give it with `--parent ID`"));
        }
        let facts = [("repo", self.repo), ("target_version", self.version)];
        let facts = facts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), Value::String(value?))));
        let facts: Vec<(String, Value)> = facts.collect();
        if !facts.is_empty() && kind != Some(Kind::Mission) {
            return Err(Problem::usage("not_a_mission", "--repo and --version are facts of a mission")
                .hint("add `--kind mission`, or keep them with `--meta repo='\"NAME\"'`"));
        }
        let mut metadata = context.metadata_of(extras)?;
        metadata.iter_mut().for_each(without_taken_times);
        let recurs = metadata.as_ref().is_some_and(|metadata| metadata.contains_key(EVERY));
        if let Some(metadata) = metadata.as_mut().filter(|_| recurs) {
            add_first_due(metadata, &context.clock()?);
        }
        let mut block_left = None;
        if kind.is_some() {
            (description, block_left) = describe_making(description, &mut metadata, &context.actor()?, facts);
        }
        let new = NewTask {
            kind,
            has_compact_marks: context.config()?.marks() == Some(Marks::Compact),
            subject: title,
            description,
            active_form: self.active_form,
            owner: self.owner.or(owner),
            blocks: self.blocks,
            blocked_by: self.blocked_by.into_iter().chain(after).collect(),
            metadata: metadata.filter(|metadata| !metadata.is_empty()),
            ..NewTask::default()
        };
        let yard = context.yard()?;
        let created = yard.create(new)?.done()?;
        if output.is_json() {
            let block_left = block_left.as_ref().map(ToString::to_string);
            output.document(Created { block_left, ..(&created).into() })?;
        } else if output.is_quiet() {
            output.line(&Line::plain(created.task.id.as_str()))?;
        } else {
            let mut line = did("Created", &created.task);
            line.push(Tone::Dim, &format!(" in {}", yard.list_id()));
            understood(&created.task, &output.look()).iter().for_each(|words| line.push(Tone::Dim, words));
            output.say(&line)?;
            output.consider_list_named();
            if let Some(why) = block_left {
                output.warn(&format!("the block in the description of #{} was not changed: {why}", created.task.id))?;
            }
        }
        Ok(Exit::Done)
    }
}

/// Returns the problem that both a flag and an attribute set a field.
pub(super) fn given_twice(field: &'static str) -> Problem {
    Problem::usage("given_twice", format!("{field} is given both as a flag and as an attribute"))
        .hint("leave one out; words after `--` belong to the title")
}

/// Describes how dates and durations were interpreted.
fn understood(task: &Task, look: &Look) -> Vec<String> {
    let due = task.due().map(|due| format!(", due {}", look.planned(due)));
    let defer = task.defer().map(|defer| format!(", deferred to {}", look.planned(defer)));
    let estimate = task.estimate().map(|estimate| format!(", estimate {}", work_in_words(estimate)));
    [due, defer, estimate].into_iter().flatten().collect()
}

/// Returns the description, read from stdin if it is `-`.
pub(super) fn description(text: String) -> Result<String, Problem> {
    if text != "-" {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    let failed = |error| Problem::io("cannot read the description from stdin", &error);
    io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Problem::usage(
            "too_large",
            format!("the description on stdin is too large (the limit is {LARGEST} bytes)"),
        )
        .hint("keep long texts in a file, and refer to the file in the task"));
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        Problem::usage("not_utf8", format!("the description on stdin is not UTF-8: {}", error.utf8_error()))
    })?;
    // Ignore the newline at the end of a shell's output.
    if text.ends_with('\n') {
        text.truncate(text.trim_end_matches(['\n', '\r']).len());
    }
    Ok(text)
}
