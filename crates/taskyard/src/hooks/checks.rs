//! The checks a task demands before it may be completed.

use std::time::Duration;

use taskyard_core::Task;
use taskyard_core::rules::refusal::Refusal;

use super::Hooks;
use crate::Error;
use crate::config::Origin;
use crate::process::{Captured, CommandLine, Ending, Program, wait_aside};

/// How long a check may take.
const TIMEOUT: Duration = Duration::from_secs(600);
/// How much of the end of its output a refusal carries.
const KEPT: usize = 16 * 1024;

impl Hooks {
    /// Runs the checks of these names, one after the other, and returns the refusal of the first that does not pass.
    pub(crate) fn verify(&self, task: &Task, names: &[String]) -> Result<Option<Refusal>, Error> {
        for name in names {
            if let Some(refusal) = self.check(task, name)? {
                return Ok(Some(refusal));
            }
        }
        Ok(None)
    }

    fn check(&self, task: &Task, name: &str) -> Result<Option<Refusal>, Error> {
        let command = match self.command_of(name) {
            Defined::Trusted(command) => command,
            Defined::Untrusted => {
                let directory = self.setup.project.clone();
                return Ok(Some(Refusal::UntrustedCheck { task: task.id.clone(), check: name.to_owned(), directory }));
            }
            Defined::Nowhere => {
                return Ok(Some(Refusal::NoSuchCheck { task: task.id.clone(), check: name.to_owned() }));
            }
        };
        let program = Program {
            command: CommandLine::Shell(command.to_owned()),
            directory: self.setup.project.clone(),
            environment: self.setup.environment(),
            stdin: Vec::new(),
            timeout: Some(TIMEOUT),
        };
        let output = Captured::end(KEPT);
        let run = || program.run(output.sink(), output.sink(), &self.cancel);
        let ended = match wait_aside(self.workplace.as_ref(), run) {
            Ok(Ending::Exited(0)) => return Ok(None),
            Ok(Ending::Cancelled) => return Err(Error::Cancelled),
            Ok(Ending::Exited(code)) => format!("ended with exit code {code}"),
            Ok(Ending::Signalled(signal)) => format!("was ended by signal {signal}"),
            Ok(Ending::TimedOut) => format!("did not end within {} s and was stopped", TIMEOUT.as_secs()),
            Err(error) => format!("could not be started: {error}"),
        };
        let output = output.text();
        Ok(Some(Refusal::CheckFailed { task: task.id.clone(), check: name.to_owned(), ended, output }))
    }

    /// Finds the command behind a name: the project's where it is trusted, else the user's.
    fn command_of(&self, name: &str) -> Defined<'_> {
        let mut defined = Defined::Nowhere;
        for (origin, command) in self.setup.config.checks(name) {
            // A trust that cannot be read is none.
            if origin == Origin::User || self.setup.is_trusted().unwrap_or(false) {
                return Defined::Trusted(command);
            }
            defined = Defined::Untrusted;
        }
        defined
    }
}

/// Where the command behind a name stands.
enum Defined<'a> {
    Trusted(&'a str),
    Untrusted,
    Nowhere,
}
