//! What a command does before its own work: it takes those out of their teams who have told their lead that they end.

use crate::context::Context;
use crate::displays::departures::taken_out;
use crate::output::Output;

/// Takes out members that have ended, and says so on stderr. What keeps us from it does not keep the command from its own work.
pub(crate) fn take_out_ended_members(context: &Context, output: &mut Output) {
    let Ok(teams) = context.teams() else { return };
    if teams.new_lead_mail().is_none() {
        return;
    }
    // What is wrong with how the command was given it says itself.
    let Ok(yard) = context.yard() else { return };
    let said = match yard.take_out_ended() {
        Ok(gone) => gone.iter().map(taken_out).collect(),
        Err(error) => vec![format!("a member that has ended stays in its team: {error}")],
    };
    for said in said {
        if let Err(error) = output.warn(&said) {
            tracing::debug!(%error, said, "cannot be told");
        }
    }
}
