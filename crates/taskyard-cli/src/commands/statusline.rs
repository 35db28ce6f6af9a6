//! `taskyard statusline`

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use taskyard::Yard;
use taskyard::core::answers;
use taskyard::core::render::{Line, Tone, cut_text};
use taskyard::operations::Summary;

use super::overview::unread;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Print Claude Code's status line
///
/// Reads the client's JSON on stdin and prints one line: what is in progress, how many are done, blocked, and what runs or waits to be read.
/// `taskyard setup claude --statusline` has the client show it.
#[derive(Debug, Args)]
pub(crate) struct StatusLine {}

/// So many columns of what is in progress are shown.
const TITLE: usize = 40;

/// What a status line says.
#[derive(Debug, Default)]
struct StatusFigures {
    /// What is being done, and how many more are.
    doing: Option<(String, usize)>,
    done: usize,
    all: usize,
    blocked: usize,
    jobs: usize,
    unread: usize,
}

impl StatusLine {
    #[expect(clippy::unused_self, reason = "every command is run in this way")]
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let told = told_by_client();
        let directory = told["workspace"]["current_dir"].as_str().or(told["cwd"].as_str()).map(PathBuf::from);
        let context = context.in_session(told["session_id"].as_str()).at(directory.as_deref());
        let figures = look(&context)?;
        if output.is_json() {
            output.document(answers::lists::StatusLine {
                in_progress: figures.doing.as_ref().map(|(text, _)| text.as_str()),
                done: figures.done,
                all: figures.all,
                blocked: figures.blocked,
                jobs: figures.jobs,
                unread: figures.unread,
            })?;
        } else {
            output.client_line(&line(&figures, output))?;
        }
        Ok(Exit::Done)
    }
}

/// Reads what the client says of itself; nothing where it says nothing that can be understood.
fn told_by_client() -> Value {
    let mut text = Vec::new();
    let mut stdin = std::io::stdin().lock();
    if !stdin.is_terminal() && stdin.read_to_end(&mut text).is_ok() {
        return serde_json::from_slice(&text).unwrap_or_default();
    }
    Value::Null
}

/// Glances at the list: a client shows its status line several times a second.
fn look(context: &Context) -> Result<StatusFigures, Problem> {
    let yard = context.yard()?;
    let Summary { doing, counts: [pending, in_progress, done], blocked } = yard.summary()?;
    Ok(StatusFigures {
        doing: doing.map(|text| (text, in_progress.saturating_sub(1))),
        done,
        all: pending + in_progress + done,
        blocked,
        jobs: running_jobs(context, &yard),
        unread: unread(context, &yard),
    })
}

fn running_jobs(context: &Context, yard: &Yard) -> usize {
    let jobs = context.jobs().and_then(|jobs| Ok(if jobs.may_be_any() { jobs.list()? } else { Vec::new() }));
    let is_ours = |job: &&taskyard::core::Job| job.list == *yard.list_id() && !job.state().is_over();
    jobs.unwrap_or_default().iter().filter(is_ours).count()
}

fn line(figures: &StatusFigures, output: &Output) -> Line {
    let look = output.look();
    let mut parts: Vec<(Tone, String)> = Vec::new();
    if let Some((text, more)) = &figures.doing {
        let more = if *more > 0 { format!(" +{more}") } else { String::new() };
        parts.push((
            Tone::Active,
            format!("{} {}{more}", look.either("◼", "[>]"), cut_text(text, TITLE, look.ellipsis())),
        ));
    }
    if figures.all > 0 {
        parts.push((Tone::Done, format!("{}/{} done", figures.done, figures.all)));
    }
    let counted = [(figures.blocked, Tone::Dim, "blocked"), (figures.unread, Tone::Error, "unread")];
    parts.extend(
        counted
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, tone, word)| (tone, format!("{count} {word}"))),
    );
    if figures.jobs > 0 {
        parts.push((Tone::Hint, format!("{} job{}", figures.jobs, if figures.jobs == 1 { "" } else { "s" })));
    }
    let mut line = Line::new();
    for (place, (tone, text)) in parts.into_iter().enumerate() {
        if place > 0 {
            line.push(Tone::Dim, look.dot());
        }
        line.push(tone, &text);
    }
    line
}
