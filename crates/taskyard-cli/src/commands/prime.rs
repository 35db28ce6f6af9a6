//! `taskyard prime`

use clap::Args;
use taskyard::core::answers;
use taskyard::core::answers::values::Shape;
use taskyard::core::render::{Line, brief_lines, run_line};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, with_commands};
use crate::problem::Problem;

/// Print what an agent needs to know to work here
///
/// Prints a short paragraph on how to take, finish, give back and create tasks, and the state of the list: for the
/// instructions of an agent, or to read before work.
#[derive(Debug, Args)]
pub(crate) struct Prime {}

/// How one works here, each sentence worth its tokens.
const HOW: [&str; 6] = [
    "Tasks here are kept with Taskyard; every agent and person shares this list.",
    "Take work with `taskyard claim --next` (or `taskyard claim ID`), so that nobody else does it too; read it with `taskyard show ID`.",
    "Finished: `taskyard done ID` at once; the answer names what can start now. Not going to finish it: `taskyard release ID`.",
    "New work that would be forgotten, or that somebody else could do: `taskyard create \"Subject\" -d \"how to tell it is done\" \
     --blocked-by ID`. One trivial step needs no task.",
    "Subagents share the name of their session: each passes `--as NAME`, a name of its own, with every command, or nobody can tell whose task is whose.",
    "The MCP tools TaskClaim, TaskUpdate, TaskRelease and TaskCreate do the same.",
];

impl Prime {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let brief = yard.brief()?;
        let run = yard.task_of_run()?;
        let mut lines: Vec<String> = run.iter().map(|(task, is_held)| run_line(task, *is_held)).collect();
        lines.extend(brief_lines(yard.list_id(), &brief));
        let own = context.list_of_directory().ok().filter(|own| own.list != *yard.list_id());
        lines.extend(own.map(|own| format!("The list of this directory is another: {}", own.list)));
        if output.is_json() {
            let text: Vec<&str> = HOW.into_iter().chain(lines.iter().map(String::as_str)).collect();
            let held = run.as_ref().filter(|(_, is_held)| *is_held);
            output.document(answers::lists::Prime {
                list: yard.list_id().as_str(),
                text: text.join("\n"),
                counts: brief.counts.into(),
                ready: brief.ready,
                blocked: brief.blocked,
                in_progress: brief.in_progress.iter().map(Shape).collect(),
                best: brief.best.iter().map(|ranked| Shape(&ranked.task)).collect(),
                run: held.map(|(task, _)| task.id.as_str()),
                gone: taskyard::answers::loss(brief.gone.as_ref()),
            })?;
            return Ok(Exit::Done);
        }
        for sentence in HOW {
            output.line(&with_commands(sentence, taskyard::core::render::Tone::Plain))?;
        }
        output.line(&Line::new())?;
        for line in &lines {
            output.line(&Line::plain(line))?;
        }
        Ok(Exit::Done)
    }
}
