//! `taskyard completions`

use clap::Args;
use clap_complete::Shell;
use taskyard::core::answers;

use crate::completion::script;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Print the script that completes words in a shell
///
/// It asks taskyard itself, which knows tasks with their titles, lists, agents, tags, jobs, teams and the values of every option.
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
            output.document(answers::access::Completions { script })?;
        } else {
            output.text(&script)?;
        }
        Ok(Exit::Done)
    }
}
