//! `taskyard man` and `completions`

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use taskyard::core::answers;
use taskyard::core::answers::maintenance_answers::{ManualPage, ManualWritten};
use taskyard::core::render::{Line, Tone};
use taskyard_jobs::processes;

use super::grouped;
use crate::commands::help;
use crate::commands::help::{manual_page, manual_pages};
use crate::completion::script;
use crate::context::Context;
use crate::environment::Environment;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Show the manual
///
/// On a terminal it is a page of `man`, of the whole program or of one command; a pipe gets the page's source. `--out` writes the pages of all
/// commands.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command or topic; default: the whole program
    #[arg(value_name = "COMMAND")]
    command: Option<String>,

    /// The output format
    #[arg(long, value_name = "FORMAT", default_value = "roff")]
    format: Format,

    /// Write a page for every command into this directory instead
    #[arg(long, value_name = "DIR", alias = "directory", conflicts_with_all = ["format", "command"])]
    out: Option<PathBuf>,
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
    /// Shows or writes pages about a program.
    pub(crate) fn run(self, program: clap::Command, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if let Some(directory) = self.out {
            write_pages(program, &directory)?;
            if output.is_json() {
                output.document(ManualWritten { directory: directory.display().to_string() })?;
            } else {
                let line = Line::plain("Wrote the manual to ").with(Tone::Strong, &directory.display().to_string());
                output.say(&line)?;
            }
            return Ok(Exit::Done);
        }
        let page = match self.format {
            Format::Markdown => reference(program.clone()),
            Format::Roff => match self.command.as_deref().and_then(|name| topic_page(name, &program)) {
                Some(page) => page,
                None => roff(&page_of(program.clone(), self.command.as_deref())?)?,
            },
        };
        if self.format == Format::Roff && output.is_terminal() && shown_by_man(&page, context.environment()) {
            return Ok(Exit::Done);
        }
        if self.format == Format::Roff && output.is_terminal() {
            if let Some(text) = self
                .command
                .as_deref()
                .filter(|name| topic_page(name, &program).is_some())
                .and_then(|name| help::page(name, &program))
            {
                output.text(&text)?;
                return Ok(Exit::Done);
            }
            // Without `man`, show the help instead.
            let mut command = page_of(program, self.command.as_deref())?;
            output.text(&format!("{}\n", trimmed(&command.render_long_help().to_string())))?;
            return Ok(Exit::Done);
        }
        if output.is_json() {
            output.document(ManualPage { page })?;
        } else {
            output.text(&page)?;
        }
        Ok(Exit::Done)
    }
}

/// Returns the page of a topic without a command of that name.
fn topic_page(name: &str, program: &clap::Command) -> Option<String> {
    manual_page(name).filter(|_| program.find_subcommand(name).is_none())
}

/// Returns the command that a page describes.
fn page_of(program: clap::Command, name: Option<&str>) -> Result<clap::Command, Problem> {
    let mut all = grouped(program);
    all.build();
    let Some(name) = name else { return Ok(all) };
    let unknown =
        || Problem::usage("usage", format!("unknown command `{}`", name.escape_debug())).hint("see `taskyard help`");
    all.get_subcommands().find(|inner| inner.get_name() == name).cloned().ok_or_else(unknown)
}

fn roff(command: &clap::Command) -> Result<String, Problem> {
    let mut page = Vec::new();
    let title = match command.get_name() {
        "taskyard" => "taskyard".to_owned(),
        name => format!("taskyard-{name}"),
    };
    clap_mangen::Man::new(command.clone()).title(title).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Shows a page with `man` and returns whether that succeeded.
fn shown_by_man(page: &str, environment: &Environment) -> bool {
    processes::leave_interrupts_to_others();
    let mut command = Command::new("man");
    command.args(["-l", "-"]).stdin(Stdio::piped()).stderr(Stdio::null()).envs(environment.for_children());
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // The user may quit before all is written.
        let _ = stdin.write_all(page.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}

fn write_pages(program: clap::Command, directory: &Path) -> Result<(), Problem> {
    let failed = |error| Problem::io(&format!("cannot write the manual to `{}`", directory.display()), &error);
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(program, directory).map_err(failed)?;
    std::fs::write(directory.join("yd.1"), ".so man1/taskyard.1\n").map_err(failed)?;
    manual_pages().into_iter().try_for_each(|(name, page)| std::fs::write(directory.join(name), page).map_err(failed))
}

/// Appends the subcommands of a command, recursively.
fn refer_to_parts(page: &mut String, name: &str, command: &clap::Command) {
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set()) {
        let mut own = inner.clone().term_width(100);
        let (name, help) = (format!("{name} {}", inner.get_name()), own.render_long_help().to_string());
        let _ = writeln!(page, "\n## {name}\n\n```text\n{}\n```", trimmed(&help));
        refer_to_parts(page, &name, inner);
    }
}

/// Returns the reference of all commands as Markdown.
fn reference(program: clap::Command) -> String {
    let options = program.clone();
    let mut command = grouped(program).term_width(100);
    command.build();
    let mut page = String::from(
        "# The command line\n\nWritten by `taskyard man --format markdown`; a test keeps it true.\n\n## taskyard\n\n",
    );
    let _ = writeln!(page, "```text\n{}\n```", trimmed(&command.clone().render_long_help().to_string()));
    let _ =
        writeln!(page, "\nWhat `taskyard help options` says:\n\n```text\n{}\n```", trimmed(&help::options(options)));
    refer_to_parts(&mut page, "taskyard", &command);
    page
}

/// Removes trailing spaces.
fn trimmed(text: &str) -> String {
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Print the completion script for a shell
///
/// It completes tasks with their titles, lists, agents, tags, jobs, teams and the values of every option.
///
/// bash: eval "$(taskyard completions bash)" in ~/.bashrc
///
/// zsh: eval "$(taskyard completions zsh)" in ~/.zshrc, after compinit
///
/// fish: taskyard completions fish > ~/.config/fish/completions/taskyard.fish
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, Problem> {
        let script = script(self.shell);
        if output.is_json() {
            output.document(answers::maintenance_answers::Completions { script })?;
        } else {
            output.text(&script)?;
        }
        Ok(Exit::Done)
    }
}
