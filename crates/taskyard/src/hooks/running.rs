//! Running the hooks of an event, all at once.

use std::ffi::OsString;
use std::thread;

use taskyard_core::rules::hooks::hooking::{HookAnswer, HookEnd, HookRun, judge_hook};

use super::hook::Hook;
use super::hook_turn::{HOOK_TURN, HookTurn};
use super::{HookSetup, HookWarning};
use crate::process::{Cancel, Ending, Program};

/// How much of what a hook writes is kept, of stdout and of stderr each.
const KEPT: usize = 1024 * 1024;

/// The hooks were cancelled, and none of them is left.
#[derive(Debug)]
pub(super) struct Cancelled;

/// What a hook came to, where it came to anything.
type Ran = (Option<HookAnswer>, Option<HookWarning>);

impl HookSetup {
    /// Runs hooks at the same time, each with what it reads on stdin; what they said, in their order.
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

    /// Returns the variables that hooks and checks get beside ours, or in place of them.
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
    let finished = match program.run_captured(KEPT, cancel) {
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
