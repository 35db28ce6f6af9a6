//! `taskyard export`

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use taskyard::answers;
use taskyard::core::dialect::foreign::ExportFormat;
use taskyard::core::render::{Line, Tone, escaping};
use taskyard::core::rules::looking::query::FIELDS;
use taskyard::interchange::{Written, save};

use super::import::{tasks, warn_of_losses};
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Write the list down in another format
///
/// Without a path it prints the result. A file replaces the one that is there, entirely or not at all; a folder must be
/// new or empty. native, document, export, teaching, macf and jsonl carry everything; markdown, csv and mermaid are for
/// people, and the answer names what they leave out.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The file, or the folder for native, teaching and macf
    pub(crate) path: Option<PathBuf>,

    /// Only tasks that match (see `taskyard list --help`)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) query: Option<String>,

    /// Show how many tasks would be written and what would be left out, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// What to write
    #[arg(long, value_name = "DIALECT", value_parser = formats())]
    pub(crate) to: ExportFormat,
}

fn formats() -> impl TypedValueParser<Value = ExportFormat> {
    let words = PossibleValuesParser::new(ExportFormat::ALL.iter().map(|format| format.as_str()));
    words.try_map(|word| word.parse::<ExportFormat>().map_err(|()| format!("`{word}` is no format")))
}

/// Tells whether what was given for a path was meant for a query: it names a field, no directory, and nothing that is there.
fn is_query(path: &str, context: &Context) -> bool {
    let names_field = path.split_once(':').is_some_and(|(field, _)| FIELDS.contains(&field.trim_start_matches('-')));
    let is_there = || context.directory().is_ok_and(|directory| directory.join(path).exists());
    names_field && !path.contains('/') && !is_there()
}

impl Export {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if self.path.is_none() && self.to.is_folder() {
            return Err(Problem::usage("no_path", format!("{} is a folder, which cannot be printed", self.to))
                .hint(format!("say where: `taskyard export --to {} FOLDER`", self.to)));
        }
        if let Some(path) = self.path.as_deref().and_then(Path::to_str).filter(|path| is_query(path, context)) {
            return Err(Problem::usage(
                "no_path",
                format!("`{}` is a query, and here a path is meant", path.escape_debug()),
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
            // A terminal is not steered by what a title holds; for a program or a file not a byte is changed.
            (None, Some(text)) if output.is_terminal() => output.text(&escaping::many_lines(text))?,
            (None, Some(text)) => output.bytes(text.as_bytes())?,
            (None, None) => {}
        }
        warn_of_losses(&exported.losses, output)?;
        Ok(Exit::Done)
    }
}
