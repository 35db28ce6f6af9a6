//! `taskyard completions`

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use serde_json::json;

use super::Arguments;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Print the completions of a shell
///
/// For bash: `taskyard completions bash > ~/.local/share/bash-completion/completions/taskyard`
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, Problem> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "taskyard", &mut script);
        let script = String::from_utf8_lossy(&script);
        if output.is_json() {
            output.document(json!({ "script": script }))?;
        } else {
            output.text(&script)?;
        }
        Ok(Exit::Done)
    }
}
