//! `taskyard graph`

use clap::{Args, ValueEnum};
use taskyard::core::render::graph as render;
use taskyard::core::render::{Line, Tone};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Draw what waits for what, with the parts of each task below it
#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// The kind of picture
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
