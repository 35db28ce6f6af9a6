//! `taskyard man`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory as _, ValueEnum};
use serde_json::json;
use taskyard::core::render::{Line, Tone};

use super::{Arguments, grouped};
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Print the manual
///
/// `taskyard man | man -l -` shows it; `--directory` writes one page for every command.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The form it is printed in
    #[arg(long, value_name = "FORMAT", default_value = "roff")]
    format: Format,

    /// Write a page for every command into this directory instead
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "format")]
    directory: Option<PathBuf>,
}

/// The forms of the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For `man`
    Roff,
    /// The reference of every command in one page
    Markdown,
}

impl Man {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, Problem> {
        if let Some(directory) = self.directory {
            write_pages(&directory)?;
            if output.is_json() {
                output.document(json!({"directory": directory.display().to_string()}))?;
            } else {
                let line = Line::plain("Wrote the manual to ").with(Tone::Strong, &directory.display().to_string());
                output.say(&line)?;
            }
            return Ok(Exit::Done);
        }
        let page = match self.format {
            Format::Markdown => reference(),
            Format::Roff => {
                let mut page = Vec::new();
                clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
                String::from_utf8_lossy(&page).into_owned()
            }
        };
        if output.is_json() {
            output.document(json!({ "page": page }))?;
        } else {
            output.text(&page)?;
        }
        Ok(Exit::Done)
    }
}

fn write_pages(directory: &Path) -> Result<(), Problem> {
    let failed = |error| Problem::io(&format!("cannot write the manual to `{}`", directory.display()), &error);
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command(), directory).map_err(failed)
}

/// Returns the reference of every command, as Markdown.
fn reference() -> String {
    let mut command = grouped(Arguments::command()).term_width(100);
    command.build();
    let mut page = String::from(
        "# The command line\n\nWritten by `taskyard man --format markdown`; a test keeps it true.\n\n## taskyard\n\n",
    );
    let _ = writeln!(page, "```text\n{}\n```", trimmed(&command.clone().render_long_help().to_string()));
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        // The flags every command takes are told once, at the top.
        let mut own = inner.clone().term_width(100).mut_args(|arg| {
            let everywhere = arg.is_global_set();
            arg.hide(everywhere)
        });
        let help = own.render_long_help().to_string();
        let _ = writeln!(page, "\n## taskyard {}\n\n```text\n{}\n```", inner.get_name(), trimmed(&help));
    }
    page
}

/// Returns the text without spaces at the ends of its lines.
fn trimmed(text: &str) -> String {
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
