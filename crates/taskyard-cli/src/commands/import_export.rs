//! `taskyard import` and `export`

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use taskyard::answers;
use taskyard::core::TaskId;
use taskyard::core::dialect::foreign::{ExportFormat, ImportFormat, Imported, Loss};
use taskyard::core::render::{Line, Tone, escaping};
use taskyard::core::rules::looking::query::FIELDS;
use taskyard::interchange::{InterchangeError, Written, read_bytes, read_source, save};
use taskyard::operations::{ImportPlan, ImportReport, Source};

use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Maximum number of tasks and losses listed; `--json` lists all.
const MOST_LINES: usize = 20;

/// Import tasks from another program's files
///
/// It imports all tasks or none. Importing the same source again updates its tasks and duplicates nothing. Fields that
/// a list does not have are kept in the metadata; the end of the answer names what could not be kept.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file, or the folder for native, teaching, macf and backlog; `-` reads a file from stdin
    pub(crate) path: PathBuf,

    /// The format of the source
    #[arg(long, value_name = "DIALECT", value_parser = import_formats())]
    pub(crate) from: ImportFormat,

    /// Show what would be imported, without importing it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// The name to remember the source by, instead of its path
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,

    /// Override the leases of agents that work on tasks that change
    #[arg(long)]
    pub(crate) force: bool,
}

fn import_formats() -> impl TypedValueParser<Value = ImportFormat> {
    let words = PossibleValuesParser::new(ImportFormat::ALL.iter().map(|format| format.as_str()));
    words.try_map(|word| word.parse::<ImportFormat>().map_err(|()| format!("unknown format `{word}`")))
}

impl Import {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let is_stdin = self.path.as_os_str() == "-";
        let path = if is_stdin { self.path.clone() } else { context.directory()?.join(&self.path) };
        let name = match &self.source {
            Some(name) => name.clone(),
            None if is_stdin => "-".to_owned(),
            None => {
                let whole = fs::canonicalize(&path);
                let failed = |source| InterchangeError::Io { doing: "read", path: path.clone(), source };
                whole.map_err(failed)?.display().to_string()
            }
        };
        let bar = progress_bar(output, "reading");
        let imported = match is_stdin {
            true => self.read_stdin()?,
            false => read_source(&path, self.from, &mut |done, total| {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
            })?,
        };
        bar.set_length(imported.tasks.len() as u64);
        bar.set_position(imported.tasks.len() as u64);
        bar.set_message("writing");
        let yard = context.yard()?;
        let yard = if self.force { yard.overruling() } else { yard };
        let source = Source { format: self.from, name };
        let report = match self.dry_run {
            true => yard.preview_import(&imported, &source),
            false => yard.import(&imported, &source),
        };
        bar.finish_and_clear();
        let report = report?.done()?;
        if output.is_json() {
            output.document(taskyard::answers::imported(&report, &imported, &source, self.dry_run))?;
        } else {
            self.tell(&report, &imported, output)?;
        }
        Ok(Exit::Done)
    }

    fn read_stdin(&self) -> Result<Imported, Problem> {
        if self.from.is_folder() {
            return Err(Problem::usage(
                "no_path",
                format!("{} is a folder format and cannot be read from stdin", self.from),
            )
            .hint(format!("give the path: `taskyard import FOLDER --from {}`", self.from)));
        }
        let mut bytes = Vec::new();
        let failed = |error| Problem::io("cannot read stdin", &error);
        io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        Ok(read_bytes(&bytes, &self.path, self.from)?)
    }

    fn tell(&self, report: &ImportReport, imported: &Imported, output: &mut Output) -> Result<(), Problem> {
        let plan = &report.plan;
        let verb = if self.dry_run { "Would import" } else { "Imported" };
        let mut line = Line::plain(&format!("{verb} {} from ", tasks(plan.mapping.len())));
        line.push(Tone::Strong, &self.path.display().to_string());
        let counts =
            [(plan.created.len(), "new"), (plan.updated.len(), "updated"), (plan.unchanged.len(), "unchanged")];
        let counts: Vec<String> = counts.iter().map(|(count, word)| format!("{count} {word}")).collect();
        line.push(Tone::Dim, &format!(" ({})", counts.join(", ")));
        output.say(&line)?;
        tell_tasks(plan, output)?;
        for (one, count) in &imported.mapped {
            let arrow = output.look().arrow();
            output.say(
                &Line::new().with(Tone::Dim, &format!("  {} {} {arrow} {} ({count})", one.field, one.from, one.to)),
            )?;
        }
        warn_of_losses(&plan.losses, output)?;
        if let Some(revision) = report.revision {
            crate::displays::way_back(revision, output)?;
        }
        Ok(())
    }
}

fn tell_tasks(plan: &ImportPlan, output: &mut Output) -> Result<(), Problem> {
    let look = output.look();
    let changing = plan.created.iter().chain(&plan.updated);
    let changing: HashMap<&TaskId, Cow<'_, str>> = changing.map(|task| (&task.id, task.shown_subject())).collect();
    let shown = plan.mapping.iter().filter_map(|(from, to)| Some((from, to, changing.get(to)?)));
    for (from, to, subject) in shown.take(MOST_LINES) {
        let mut line = Line::new().with(Tone::Dim, &format!("  {from} {} ", look.arrow()));
        line.push(Tone::Id, &format!("#{to}"));
        line.push(Tone::Plain, &format!(" {subject}"));
        output.say(&look.fitted(line))?;
    }
    if changing.len() > MOST_LINES {
        output.say(&Line::new().with(Tone::Dim, &format!("  and {} more", changing.len() - MOST_LINES)))?;
    }
    Ok(())
}

/// Warns about data that could not be converted.
pub(super) fn warn_of_losses(losses: &[Loss], output: &mut Output) -> Result<(), Problem> {
    for loss in losses.iter().take(MOST_LINES) {
        output.warn(&format!("not carried: {}: {}", loss.of, loss.what))?;
    }
    if losses.len() > MOST_LINES {
        output.warn(&format!("and {} more were not carried; --json lists all", losses.len() - MOST_LINES))?;
    }
    Ok(())
}

pub(super) fn tasks(count: usize) -> String {
    if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") }
}

/// Returns a progress bar, hidden unless on a terminal.
pub(super) fn progress_bar(output: &Output, doing: &'static str) -> ProgressBar {
    if !output.is_terminal() || output.is_quiet() || output.is_json() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("  {bar:30} {pos}/{len} {msg}") {
        Ok(style) => bar.with_style(style).with_message(doing),
        Err(_) => bar,
    }
}

/// Export the list in another format
///
/// Without a path it prints the result. A file replaces the one that is there, entirely or not at all; a folder must be
/// new or empty. native, document, export, teaching, macf, markdown and jsonl carry everything; csv and mermaid are for
/// people, and taskwarrior, beads, backlog and taskmaster for those programs; the answer names what they leave out.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The file, or the folder for native, teaching, macf and backlog
    pub(crate) path: Option<PathBuf>,

    /// Only tasks that match (see `taskyard list --help`)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) query: Option<String>,

    /// Show how many tasks would be written and what would be left out, without writing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// The format to write
    #[arg(long, value_name = "DIALECT", value_parser = export_formats())]
    pub(crate) to: ExportFormat,
}

fn export_formats() -> impl TypedValueParser<Value = ExportFormat> {
    let words = PossibleValuesParser::new(ExportFormat::ALL.iter().map(|format| format.as_str()));
    words.try_map(|word| word.parse::<ExportFormat>().map_err(|()| format!("unknown format `{word}`")))
}

/// Returns whether an argument for a path is probably a query: it names a field, contains no slash and does not
/// exist.
fn is_query(path: &str, context: &Context) -> bool {
    let names_field = path.split_once(':').is_some_and(|(field, _)| FIELDS.contains(&field.trim_start_matches('-')));
    let is_there = || context.directory().is_ok_and(|directory| directory.join(path).exists());
    names_field && !path.contains('/') && !is_there()
}

impl Export {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if self.path.is_none() && self.to.is_folder() {
            return Err(Problem::usage("no_path", format!("{} is a folder format and cannot be printed", self.to))
                .hint(format!("give the path: `taskyard export --to {} FOLDER`", self.to)));
        }
        if let Some(path) = self.path.as_deref().and_then(Path::to_str).filter(|path| is_query(path, context)) {
            return Err(Problem::usage(
                "no_path",
                format!("`{}` is a query, but a path is expected here", path.escape_debug()),
            )
            .hint(format!("choose tasks with `--where {path}`; write ./{path} for a file of that name")));
        }
        let query = context.query_of(self.query.as_slice())?;
        let exported = context.yard()?.export(self.to, &query)?;
        let path = match &self.path {
            Some(path) => Some(context.directory()?.join(path)),
            None => None,
        };
        if let Some(path) = path.as_ref().filter(|_| !self.dry_run) {
            save(&exported.written, path)?;
        }
        let text = match &exported.written {
            Written::File(text) | Written::Document(text) if path.is_none() && !self.dry_run => Some(text),
            _ => None,
        };
        if output.is_json() {
            output.document(answers::exported(&exported, self.to, path.as_deref(), self.dry_run))?;
            return Ok(Exit::Done);
        }
        match (&self.path, text) {
            _ if self.dry_run => output.say(&Line::plain(&format!("Would write {}", tasks(exported.count))))?,
            (Some(path), _) => {
                let mut line = Line::plain(&format!("Wrote {} to ", tasks(exported.count)));
                line.push(Tone::Strong, &path.display().to_string());
                output.say(&line)?;
            }
            // On a terminal, escape control characters in titles; for a program or a file, write the exact bytes.
            (None, Some(text)) if output.is_terminal() => output.text(&escaping::many_lines(text))?,
            (None, Some(text)) => output.bytes(text.as_bytes())?,
            (None, None) => {}
        }
        warn_of_losses(&exported.losses, output)?;
        Ok(Exit::Done)
    }
}
