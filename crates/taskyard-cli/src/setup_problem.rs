//! What is said when an agent could not be set up.

use taskyard_setup::config_edit::Unfit;
use taskyard_setup::{Agent, SetupError, Wish};

use crate::environment::HOME;
use crate::problem::{Problem, ProblemKind};
use taskyard::problems::advice;

/// Returns the problem of an agent that could not be set up.
pub(crate) fn setup_problem(error: SetupError, agent: Agent, wish: Wish) -> Problem {
    let message = error.to_string();
    let by_hand = match wish {
        Wish::Remove => "take `taskyard` out by hand".to_owned(),
        Wish::Register | Wish::RegisterAndAllowTools => format!("do it by hand: {}", agent.by_hand()),
    };
    match error {
        SetupError::Io { path, source, .. } => {
            let problem = Problem::new(ProblemKind::CouldNot, "io", message).detail("path", path.display().to_string());
            match advice(&source) {
                Some(advice) => problem.hint(advice),
                None => problem,
            }
        }
        SetupError::Unfit { path, unfit } => {
            let (Unfit::Unreadable { line, .. } | Unfit::Shape { line, .. } | Unfit::Odd { line, .. }) = unfit;
            Problem::new(ProblemKind::CouldNot, "agent_config", message)
                .hint(format!("nothing was changed; mend the file and try again, or {by_hand}"))
                .detail("path", path.display().to_string())
                .detail("line", line)
        }
        SetupError::ChangedMeanwhile { path } => Problem::new(ProblemKind::GaveUp, "conflict", message)
            .hint("run the same command again")
            .detail("path", path.display().to_string()),
        SetupError::Machine(error) => Problem::from(error)
            .hint("Taskyard keeps there what `--remove` needs; set TASKYARD_HOME to a directory that can be written"),
        SetupError::OnlyForUser { .. } => Problem::usage("usage", message).hint("leave --scope project out"),
        SetupError::NoHome => Problem::new(ProblemKind::CouldNot, "no_home", message)
            .hint(format!("set {HOME} to your home directory, or use --scope project")),
    }
}
