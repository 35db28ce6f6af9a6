//! Runs the hooks of an event and the checks that a task requires.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use taskyard_core::Task;
use taskyard_core::dialect::hook_input::Teammate;
use taskyard_core::dialect::native::Shape;
use taskyard_core::rules::hooks::{HookAnswer, HookEnd, HookEvent, HookRun, feedback, judge_hook};
use taskyard_core::rules::refusal::Refusal;

use super::{HookSetup, HookWarning};
use crate::Error;
use crate::config::{HookInput, Origin};
use crate::hooks::hook_catalogue::{Catalogue, CommonTexts};
use crate::hooks::hook_settings::{HOOK_TURN, Hook, HookTurn};
use crate::process::{Cancel, Captured, CommandLine, Ending, Program, Workplace, wait_aside};

/// The hooks and checks of one project, the cancellation that stops them, and the warnings collected while running
/// them.
///
/// The files are read again for every event, so a long-running server can keep one instance.
#[derive(Debug)]
pub struct Hooks {
    pub(super) setup: HookSetup,
    pub(super) cancel: Cancel,
    pub(super) workplace: Option<Arc<dyn Workplace>>,
    warnings: Mutex<Vec<HookWarning>>,
}

/// The hooks found for an event, which may run.
#[derive(Debug)]
pub(crate) struct Found(Catalogue);

/// The input of hooks, in each form they may ask for.
pub(crate) struct HookQuestion<'a> {
    pub(crate) event: Vec<u8>,
    pub(crate) task: Option<&'a Task>,
    /// Returns the whole list as a JSON array.
    pub(crate) list: &'a dyn Fn() -> Result<Vec<u8>, Error>,
    /// The turn in which the list is passed to hooks.
    pub(crate) turn: Option<&'a HookTurn>,
}

#[derive(Debug, Default)]
pub(crate) struct Answers {
    answers: Vec<HookAnswer>,
    /// How many hooks did not run because their directory is not trusted.
    pub(crate) skipped: usize,
}

impl Hooks {
    /// Returns the hooks of a project. `cancel` stops those that run.
    pub fn new(setup: HookSetup, cancel: Cancel) -> Self {
        Self { setup, cancel, workplace: None, warnings: Mutex::default() }
    }

    /// Returns the same hooks for another call, with their own cancellation and warnings.
    #[must_use]
    pub fn for_call(&self, cancel: Cancel) -> Self {
        Self::new(self.setup.clone(), cancel)
    }

    /// Sets a workplace that gives up its place among workers while it waits for hooks.
    #[must_use]
    pub fn at(mut self, workplace: Arc<dyn Workplace>) -> Self {
        self.workplace = Some(workplace);
        self
    }

    /// Returns the cancellation that stops the hooks.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Returns the collected warnings without duplicates, and clears them.
    pub fn take_warnings(&self) -> Vec<HookWarning> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the acting team member, or `None` if the actor is not in a team.
    pub fn teammate(&self) -> Option<&Teammate> {
        self.setup.teammate.as_ref()
    }

    /// Finds the hooks of an event.
    pub(crate) fn find(&self, event: HookEvent, agent_type: Option<&str>) -> Found {
        let mut catalogue = self.setup.catalogue(event, agent_type);
        self.warn(std::mem::take(&mut catalogue.warnings));
        Found(catalogue)
    }

    /// Runs the hooks that were found and returns their answers. The caller must not hold a lock.
    pub(crate) fn ask(&self, found: &Found, told: &HookQuestion<'_>) -> Result<Answers, Error> {
        let hooks = &found.0.hooks;
        let wants = |input| hooks.iter().any(|hook| hook.stdin == Some(input));
        let list = if wants(HookInput::Tasks) { (told.list)()? } else { Vec::new() };
        let task = told.task.map_or_else(|| told.event.clone(), |task| line(&Shape(task)));
        let input = |input| match input {
            None => told.event.as_slice(),
            Some(HookInput::Task) => task.as_slice(),
            Some(HookInput::Tasks) => list.as_slice(),
        };
        let hooks: Vec<_> = hooks.iter().map(|hook| (hook, input(hook.stdin))).collect();
        let workplace = self.workplace.as_ref().filter(|_| !hooks.is_empty());
        let run = || self.setup.run_all(&hooks, told.turn, &self.cancel);
        let (answers, warnings) = wait_aside(workplace, run).map_err(|_| Error::Cancelled)?;
        self.warn(warnings);
        Ok(Answers { answers, skipped: found.0.left_out })
    }

    /// Returns the fields that every event of the client starts with.
    pub(crate) fn common(&self) -> CommonTexts {
        self.setup.common()
    }

    pub(super) fn warn(&self, new: Vec<HookWarning>) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in new {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
}

impl Found {
    pub(super) fn hooks(&self) -> &[Hook] {
        &self.0.hooks
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.hooks.is_empty()
    }
}

impl Answers {
    /// Returns the feedback of the hooks that block, in the client's words; `None` if none blocks.
    pub(crate) fn blocked(&self, event: HookEvent) -> Option<String> {
        let feedbacks: Vec<String> = self.answers.iter().filter_map(|answer| answer.blocks.clone()).collect();
        (!feedbacks.is_empty()).then(|| feedback(event, &feedbacks))
    }

    /// Returns the first reason why the agent is to stop.
    pub(crate) fn stopped(&self) -> Option<String> {
        self.answers.iter().find_map(|answer| answer.stops.clone())
    }

    pub(crate) fn into_answers(self) -> Vec<HookAnswer> {
        self.answers
    }
}

/// Returns a value as one line of JSON.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("text, lists and maps with text for keys can be written as JSON");
    line.push(b'\n');
    line
}

/// The limit for the output kept of a hook, for stdout and stderr each.
const HOOK_OUTPUT_LIMIT: usize = 1024 * 1024;

/// The hooks were cancelled, and none of them is running any more.
#[derive(Debug)]
pub(super) struct Cancelled;

/// The answer of a hook that finished, and a warning if it did not run as configured.
type Ran = (Option<HookAnswer>, Option<HookWarning>);

impl HookSetup {
    /// Runs hooks concurrently, each with its stdin, and returns their answers in the order of `hooks`.
    pub(super) fn run_all(
        &self,
        hooks: &[(&Hook, &[u8])],
        turn: Option<&HookTurn>,
        cancel: &Cancel,
    ) -> Result<(Vec<HookAnswer>, Vec<HookWarning>), Cancelled> {
        let ran: Vec<Result<Ran, Cancelled>> = match hooks {
            [(hook, stdin)] => vec![run(hook, &self.program(hook, stdin, turn), cancel)],
            hooks => thread::scope(|scope| {
                let start = |(hook, stdin): &(&Hook, &[u8])| {
                    let (program, hook) = (self.program(hook, stdin, turn), (*hook).clone());
                    scope.spawn(move || run(&hook, &program, cancel))
                };
                let started: Vec<_> = hooks.iter().map(start).collect();
                started.into_iter().map(|hook| hook.join().unwrap_or(Ok((None, None)))).collect()
            }),
        };
        let (mut answers, mut warnings) = (Vec::new(), Vec::new());
        for ran in ran {
            let (answer, warning) = ran?;
            answers.extend(answer);
            warnings.extend(warning);
        }
        if cancel.is_cancelled() { Err(Cancelled) } else { Ok((answers, warnings)) }
    }

    fn program(&self, hook: &Hook, stdin: &[u8], turn: Option<&HookTurn>) -> Program {
        let mut environment = self.environment();
        environment.extend(turn.map(|turn| (HOOK_TURN.into(), turn.name().into())));
        Program {
            command: hook.command_line(),
            directory: self.directory.clone(),
            environment,
            stdin: stdin.to_vec(),
            timeout: Some(hook.timeout),
        }
    }

    /// Returns the variables that are set or overridden for hooks and checks.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment = self.environment.clone();
        environment.push(("CLAUDE_PROJECT_DIR".into(), self.project.clone().into_os_string()));
        environment
    }
}

fn run(hook: &Hook, program: &Program, cancel: &Cancel) -> Result<Ran, Cancelled> {
    let not_started =
        |error: std::io::Error| (None, Some(HookWarning::NotStarted { command: hook.name(), why: error.to_string() }));
    if hook.is_async {
        return Ok(program.start_detached().map_or_else(not_started, |()| (None, None)));
    }
    let finished = match program.run_captured(HOOK_OUTPUT_LIMIT, cancel) {
        Ok(finished) => finished,
        Err(error) => return Ok(not_started(error)),
    };
    let (end, warning) = match finished.ending {
        Ending::Exited(code) => (HookEnd::Exited(code), None),
        Ending::Signalled(signal) => (HookEnd::Signalled(signal), None),
        Ending::TimedOut => {
            (HookEnd::TimedOut, Some(HookWarning::TimedOut { command: hook.name(), after: hook.timeout }))
        }
        Ending::Cancelled => return Err(Cancelled),
    };
    let command = hook.name();
    let run = HookRun { command: &command, end, stdout: &finished.stdout, stderr: &finished.stderr };
    Ok((Some(judge_hook(run)), warning))
}

/// The timeout of a check.
const TIMEOUT: Duration = Duration::from_secs(600);
/// How many bytes from the end of a check's output a refusal contains.
const CHECK_OUTPUT_LIMIT: usize = 16 * 1024;

impl Hooks {
    /// Runs the named checks one after the other, and returns the refusal of the first that fails.
    pub(crate) fn verify(&self, task: &Task, names: &[String]) -> Result<Option<Refusal>, Error> {
        self.verify_in(&self.setup.project, task, names)
    }

    /// Like [`Hooks::verify`], in another directory than the project's.
    pub(crate) fn verify_in(&self, place: &Path, task: &Task, names: &[String]) -> Result<Option<Refusal>, Error> {
        for name in names {
            if let Some(refusal) = self.check(place, task, name)? {
                return Ok(Some(refusal));
            }
        }
        Ok(None)
    }

    fn check(&self, place: &Path, task: &Task, name: &str) -> Result<Option<Refusal>, Error> {
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
            directory: place.to_owned(),
            environment: self.setup.environment(),
            stdin: Vec::new(),
            timeout: Some(TIMEOUT),
        };
        let output = Captured::end(CHECK_OUTPUT_LIMIT);
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

    /// Finds the command of a check: the project's if it is trusted, otherwise the user's.
    fn command_of(&self, name: &str) -> Defined<'_> {
        let mut defined = Defined::Nowhere;
        for (origin, command) in self.setup.config.checks(name) {
            // If the trust cannot be read, the project counts as untrusted.
            if origin == Origin::User || self.setup.is_trusted().unwrap_or(false) {
                return Defined::Trusted(command);
            }
            defined = Defined::Untrusted;
        }
        defined
    }
}

/// Where the command of a check is defined.
enum Defined<'a> {
    Trusted(&'a str),
    Untrusted,
    Nowhere,
}
