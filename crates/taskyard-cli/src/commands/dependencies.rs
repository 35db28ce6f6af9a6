//! `taskyard depend`, `undepend` and `graph`

use clap::{Args, ValueEnum};
use taskyard::core::TaskId;
use taskyard::core::render::{Line, Tone, graph as render};

use super::several::tell_rehearsal;
use crate::arguments::{LeaseFlags, parse_id, parse_other};
use crate::context::Context;
use crate::displays;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Make a task depend on others
///
/// A dependency that would create a cycle is rejected, and the cycle is shown.
#[derive(Debug, Args)]
pub(crate) struct Depend {
    /// The dependent task
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: TaskId,

    /// The tasks it depends on, optionally after `on`: `depend 3 on 4,5`
    #[arg(value_name = "IDS", value_parser = parse_other, value_delimiter = ',', required_unless_present = "on")]
    pub(crate) others: Vec<Option<TaskId>>,

    /// The same as a flag
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) on: Vec<TaskId>,

    /// Show what would be done, without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Depend {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let on: Vec<TaskId> = self.others.into_iter().flatten().chain(self.on).collect();
        if on.is_empty() {
            return Err(Problem::usage("usage", "no task was given after `on`").hint("`taskyard depend 3 on 4`"));
        }
        if self.dry_run {
            let updated = yard.rehearsing().depend(&self.id, &on)?.done()?;
            return tell_rehearsal("Would update", &[&updated.task], &[], output);
        }
        let updated = yard.depend(&self.id, &on)?.done()?;
        displays::updated("Updated", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}

/// Remove dependencies of a task
#[derive(Debug, Args)]
pub(crate) struct Undepend {
    /// The dependent task
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: TaskId,

    /// The tasks it no longer depends on, optionally after `on`: `undepend 3 on 4,5`
    #[arg(value_name = "IDS", value_parser = parse_other, value_delimiter = ',', required_unless_present = "on")]
    pub(crate) others: Vec<Option<TaskId>>,

    /// The same as a flag
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',')]
    pub(crate) on: Vec<TaskId>,

    /// Show what would be done, without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

impl Undepend {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        let on: Vec<TaskId> = self.others.into_iter().flatten().chain(self.on).collect();
        if on.is_empty() {
            return Err(Problem::usage("usage", "no task was given after `on`").hint("`taskyard undepend 3 on 4`"));
        }
        if self.dry_run {
            let updated = yard.rehearsing().undepend(&self.id, &on)?.done()?;
            return tell_rehearsal("Would update", &[&updated.task], &[], output);
        }
        let updated = yard.undepend(&self.id, &on)?.done()?;
        displays::updated("Updated", &updated, &yard, output)?;
        Ok(Exit::Done)
    }
}

/// Draw the dependency graph
#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// The output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// The kinds of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text, with the parts of each task below it and an arrow to each task that waits for it
    Text,
    /// For Mermaid, which many pages draw by themselves
    Mermaid,
    /// For Graphviz
    Dot,
    /// A picture for browsers and documents
    Svg,
}

impl Graph {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let (graph, rules) = (yard.graph()?, yard.rules());
        let tasks = &graph.tasks;
        let picture = match self.format {
            Format::Text => None,
            Format::Mermaid => Some(render::mermaid(tasks, rules)),
            Format::Dot => Some(render::dot(tasks, rules)),
            Format::Svg => Some(render::svg(tasks, rules)),
        };
        if output.is_json() {
            output.document(taskyard::answers::graph(&graph, picture))?;
            return Ok(Exit::Done);
        }
        match picture {
            Some(picture) => output.text(&picture)?,
            None if tasks.is_empty() => output.say(&Line::new().with(Tone::Plain, "No tasks found"))?,
            None => output.lines(&render::text(tasks, &output.look(), rules))?,
        }
        Ok(Exit::Done)
    }
}
