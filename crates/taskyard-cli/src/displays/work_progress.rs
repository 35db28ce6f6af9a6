//! What `taskyard work` shows while it works.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use taskyard::core::render::{Line, Tone, numbered};
use taskyard::core::{AgentName, Task, TaskId};
use taskyard_jobs::work::{Ended, WorkEvent, WorkReport};

use crate::output::{Output, QuietControlKeys};

/// How often the sign of life of a busy worker moves.
const TICK: Duration = Duration::from_millis(120);

/// Shows what happens: on a terminal with a line for each busy worker below, in a pipe line by line.
pub(crate) struct WorkDisplay<'a> {
    output: &'a mut Output,
    live: Option<Live>,
}

/// The lines of busy workers.
struct Live {
    _quiet: QuietControlKeys,
    all: MultiProgress,
    busy: HashMap<AgentName, ProgressBar>,
    style: ProgressStyle,
}

impl<'a> WorkDisplay<'a> {
    /// Begins to show.
    pub(crate) fn on(output: &'a mut Output) -> Self {
        let is_watched = output.is_terminal() && !output.is_quiet();
        // A terminal that cannot redraw its lines gets one after the other.
        let live = is_watched.then(|| Live::new(output.look().unicode)).filter(|live| !live.all.is_hidden());
        Self { output, live }
    }

    /// Shows what happened.
    pub(crate) fn show(&mut self, event: &WorkEvent) -> io::Result<()> {
        if let Some(live) = &mut self.live {
            live.follow(event);
        }
        if self.output.is_quiet() {
            return Ok(());
        }
        match event {
            WorkEvent::Warning(warning) => return self.warn(&warning.to_string()),
            WorkEvent::NotUpdated(refusal) => return self.warn(&format!("not done as a hook wanted: {refusal}")),
            _ => {}
        }
        let Some(line) = self.line(event) else { return Ok(()) };
        if self.output.is_json() {
            // The answer is one object; what the commands write is for people.
            return if matches!(event, WorkEvent::OutputLine { .. }) { self.output.aside(&line) } else { Ok(()) };
        }
        match &self.live {
            Some(live) => live.all.println(self.output.painted(&line)),
            None => {
                self.output.line(&line)?;
                self.output.flush()
            }
        }
    }

    /// Takes the lines of busy workers away.
    pub(crate) fn finish(self) {
        if let Some(live) = self.live {
            // A terminal that is gone needs no tidying.
            let _ = live.all.clear();
        }
    }

    fn warn(&mut self, text: &str) -> io::Result<()> {
        match &self.live {
            // On stderr it would come between the lines of busy workers.
            Some(live) => {
                let line = Line::new().with(Tone::Warning, "warning: ").with(Tone::Plain, text);
                live.all.println(self.output.painted(&line))
            }
            None => self.output.warn(text),
        }
    }

    fn line(&self, event: &WorkEvent) -> Option<Line> {
        let look = self.output.look();
        let is_terminal = self.output.is_terminal();
        let verb = |mark: (Tone, &'static str, &'static str), word: &str| match is_terminal {
            true => Line::new().with(mark.0, look.either(mark.1, mark.2)).with(Tone::Plain, " "),
            false => Line::plain(&format!("{word} ")),
        };
        let (good, bad, back) = ((Tone::Done, "✔", "[x]"), (Tone::Error, "✘", "[!]"), (Tone::Warning, "↩", "[<]"));
        Some(match event {
            WorkEvent::Started { .. } if self.live.is_some() => return None,
            WorkEvent::Started { task, attempt, is_resumed, .. } => {
                let mut line = naming(Line::plain("started "), task);
                if *attempt > 1 {
                    line.push(Tone::Dim, &format!(" (attempt {attempt})"));
                }
                if *is_resumed {
                    line.push(Tone::Dim, " (resumed)");
                }
                line
            }
            WorkEvent::OutputLine { about, line } => {
                let bar = if is_terminal { look.either(" │ ", " | ") } else { " | " };
                Line::new().with(Tone::Dim, &format!("{about}{bar}")).with(Tone::Plain, line)
            }
            WorkEvent::Attending { .. } if self.live.is_some() => return None,
            WorkEvent::Attending { worker, messages } => {
                Line::plain("started ").with(Tone::Owner, worker.as_str()).with(Tone::Plain, &on(*messages))
            }
            WorkEvent::Attended { worker, messages, failure: None } => {
                verb(good, "done").with(Tone::Owner, worker.as_str()).with(Tone::Plain, &on(*messages))
            }
            WorkEvent::Attended { worker, messages, failure: Some(failure) } => verb(back, "returned")
                .with(Tone::Owner, worker.as_str())
                .with(Tone::Plain, &format!("{}: {failure}", on(*messages))),
            WorkEvent::Completed(ended) => {
                naming(verb(good, "done"), &ended.task).with(Tone::Dim, &format!(" ({})", span(ended.took)))
            }
            WorkEvent::Returned(ended, failure) => failed(verb(back, "returned"), ended, &failure.to_string()),
            WorkEvent::GaveUp(ended, failure) => failed(verb(bad, "gave up"), ended, &failure.to_string()),
            WorkEvent::Interrupted(ended) => {
                naming(verb(back, "returned"), &ended.task).with(Tone::Plain, ": interrupted")
            }
            WorkEvent::Lost(ended, loss) => {
                naming(verb(bad, "lost"), &ended.task).with(Tone::Plain, &format!(": {loss}"))
            }
            WorkEvent::LeftBehind { run, task, .. } => naming(verb(back, "released"), task)
                .with(Tone::Plain, &format!(": left in progress by the run for #{run}")),
            WorkEvent::Left { worker } => {
                Line::plain("left the team, as it was asked to: ").with(Tone::Owner, worker.as_str())
            }
            _ => return None,
        })
    }
}

impl Live {
    fn new(unicode: bool) -> Self {
        let ticks = if unicode { "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ " } else { "|/-\\ " };
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner()).tick_chars(ticks);
        Self {
            _quiet: QuietControlKeys::on_stdin(),
            all: MultiProgress::with_draw_target(ProgressDrawTarget::stdout()),
            busy: HashMap::new(),
            style,
        }
    }

    fn rest(&mut self, worker: &AgentName) {
        if let Some(bar) = self.busy.remove(worker) {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }

    fn follow(&mut self, event: &WorkEvent) {
        match event {
            WorkEvent::Started { worker, task, .. } => {
                let bar = self.all.add(ProgressBar::new_spinner().with_style(self.style.clone()));
                let form = task.active_form.as_deref().filter(|form| !form.trim().is_empty());
                let what = form.map_or_else(|| task.shown_subject(), Cow::Borrowed);
                bar.set_message(Line::plain(&format!("#{} {what}", task.shown_id())).to_string());
                bar.enable_steady_tick(TICK);
                self.busy.insert(worker.clone(), bar);
            }
            WorkEvent::Attending { worker, messages } => {
                let bar = self.all.add(ProgressBar::new_spinner().with_style(self.style.clone()));
                bar.set_message(Line::plain(&format!("{worker}{}", on(*messages))).to_string());
                bar.enable_steady_tick(TICK);
                self.busy.insert(worker.clone(), bar);
            }
            WorkEvent::Completed(ended)
            | WorkEvent::Returned(ended, _)
            | WorkEvent::GaveUp(ended, _)
            | WorkEvent::Interrupted(ended)
            | WorkEvent::Lost(ended, _) => self.rest(&ended.worker),
            WorkEvent::Attended { worker, .. } => self.rest(worker),
            _ => {}
        }
    }
}

fn on(messages: usize) -> String {
    if messages == 1 { " on a message".to_owned() } else { format!(" on {messages} messages") }
}

/// Returns what came of everything, in one line, and what was passed over in another.
pub(crate) fn summary(report: &WorkReport) -> Vec<Line> {
    let mut parts = Vec::new();
    if !report.completed.is_empty() {
        parts.push(format!("{} completed", report.completed.len()));
    }
    let mut name = |tasks: &[TaskId], what: &str| {
        if !tasks.is_empty() {
            parts.push(format!("{} {what} ({})", tasks.len(), numbered(tasks)));
        }
    };
    name(&report.returned, "returned");
    name(&report.gave_up, "given up");
    name(&report.lost, "lost");
    name(&report.interrupted, "interrupted");
    name(&report.left_behind, "released");
    let mut lines = vec![match parts.is_empty() {
        true => Line::plain("nothing was ready"),
        false => Line::plain(&parts.join(", ")),
    }];
    if !report.passed_over.is_empty() {
        let tasks = numbered(&report.passed_over);
        lines.push(Line::plain(&format!("passed over {tasks}: failed too often before")));
    }
    lines
}

fn failed(verb: Line, ended: &Ended, reason: &str) -> Line {
    let attempts = format!(" (attempt {} of {})", ended.attempt, ended.most_attempts);
    naming(verb, &ended.task).with(Tone::Plain, &format!(": {reason}")).with(Tone::Dim, &attempts)
}

fn naming(line: Line, task: &Task) -> Line {
    line.with(Tone::Id, &format!("#{}", task.shown_id())).with(Tone::Plain, &format!(" {}", task.shown_subject()))
}

/// Returns a span of time as people say it.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::span;

    #[test]
    fn a_span_is_told_in_fitting_units() {
        for (milliseconds, told) in [(40, "0.0 s"), (3_240, "3.2 s"), (61_000, "1 min 1 s"), (7_260_000, "2 h 1 min")] {
            assert_eq!(span(Duration::from_millis(milliseconds)), told);
        }
    }
}
