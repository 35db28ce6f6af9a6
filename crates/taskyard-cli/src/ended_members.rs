//! What a command does before its own work: it takes those out of their teams who have told their lead that they end.

use crate::commands::taken_out;
use crate::context::Context;
use crate::output::Output;
use crate::problem::Problem;

/// Takes out those who have ended, and says so on stderr. What keeps us from it is for the log alone: the command has its own work.
pub(crate) fn take_out_ended_members(context: &Context, output: &mut Output) {
    let Ok(teams) = context.teams() else { return };
    if teams.new_lead_mail().is_none() {
        return;
    }
    let gone = context.yard().and_then(|yard| Ok(yard.take_out_ended()?));
    let told =
        gone.and_then(|gone| gone.iter().try_for_each(|gone| output.warn(&taken_out(gone))).map_err(Problem::from));
    if let Err(problem) = told {
        tracing::warn!(why = problem.report().message, "those who have ended stay in their teams");
    }
}
