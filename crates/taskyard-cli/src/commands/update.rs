//! `taskyard update`

use std::mem;

use clap::Args;
use taskyard::core::dialect::macf::Kind;
use taskyard::core::forms::id_range::IdRange;
use taskyard::core::forms::inline::is_attribute;
use taskyard::core::{Status, TaskId};
use taskyard::operations::{self, Move, OwnerChange, Patch, TagChange};

use super::create::{description, given_twice};
use super::several::make_move;
use crate::arguments::{LeaseFlags, MetadataFlags, WhichTasks, parse_id, parse_status};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Change any field of tasks
///
/// All of them in one revision, or none. Fields you do not give stay as they are; the answer says what changed, from
/// what to what. Attributes may stand behind the ids: `update 3 due:fri pri:high +ops after:4`. `--tag` adds, `--untag`
/// takes away, `--tags` sets; `--meta KEY=null` takes a key away (`--meta
/// parent=null`).
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

    /// Show what would be done, and do nothing; hooks and checks are not asked
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

    /// Who has it
    #[arg(long, value_name = "AGENT", conflicts_with = "no_owner")]
    pub(crate) owner: Option<String>,

    /// Nobody has it any more
    #[arg(long)]
    pub(crate) no_owner: bool,

    /// Make these tasks wait for this one
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) add_blocks: Vec<TaskId>,

    /// Make this task wait for these
    #[arg(long, visible_alias = "depends-on", alias = "blocked-by", value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) add_blocked_by: Vec<TaskId>,

    /// Let these tasks no longer wait for this one
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) remove_blocks: Vec<TaskId>,

    /// Let this task no longer wait for these
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
    /// Returns the tasks to change and those that the change names, or `None` if they come from a query or are many.
    pub(crate) fn named(&self) -> Option<Vec<TaskId>> {
        let mut ids = self.which().ok()?.named()?;
        for others in [&self.add_blocks, &self.add_blocked_by, &self.remove_blocks, &self.remove_blocked_by] {
            ids.extend(others.iter().cloned());
        }
        ids.extend(self.metadata.parent.clone());
        Some(ids)
    }

    /// Returns the tasks that are meant: the words that are no attributes.
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
            (None, true) => Err(Problem::usage("usage", "no task was named")
                .hint("`taskyard update 3 due:fri`; `--where` chooses several")),
            (Some(_), false) => {
                Err(Problem::usage("usage", "tasks are named both by id and by `--where`").hint("leave one out"))
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
            return Err(Problem::usage("nothing_given", format!("nothing was given to change in {what}"))
                .hint("`taskyard update --help` shows what can be changed"));
        }
        let yard = self.lease.on(context.yard()?);
        make_move(("Updated", "Would update"), &Move::Update(Box::new(update)), &which, (context, &yard), output)
    }
}
