//! Members who have said that they end. The client leaves it to the lead to take them out, and so do we; but a lead of ours need not
//! be there to read it.

use taskyard_core::rules::teams::membership::ended_members;
use taskyard_core::{LEAD, Team};

use super::TeamError;
use super::contract::LeadMail;
use super::register::Teams;
use super::seat_record::SeatRecord;

impl Teams {
    /// Tells at little cost whether something may have come for leads that no process has acted upon; none where nothing has, and in the
    /// client's rules, whose leads read by themselves.
    pub fn new_lead_mail(&self) -> Option<LeadMail> {
        if self.rules().is_client() { None } else { self.store.new_lead_mail() }
    }

    /// Remembers that what had come for leads has been acted upon.
    pub fn lead_mail_was_read(&self, mail: &LeadMail) {
        self.store.lead_mail_was_read(mail);
    }

    /// Returns the names of those in a team who have told its lead that they end. A lead that is a program of the client's takes them out
    /// itself.
    pub(crate) fn ended(&self, team: &Team) -> Result<Vec<String>, TeamError> {
        if team.members.len() < 2 || team.lead_process.is_some() {
            return Ok(Vec::new());
        }
        if !self.store.seats_in(team)?.get(team.lead()).is_some_and(made_the_team) {
            return Ok(Vec::new());
        }
        let mailbox = self.store.mailbox(team, team.lead())?;
        Ok(ended_members(team, &mailbox.messages).into_iter().map(|member| member.name.clone()).collect())
    }
}

/// Tells whether the lead has made the team with us. Of a lead of the client's we know at most what it calls over MCP,
/// under the name that every lead has.
fn made_the_team(lead: &SeatRecord) -> bool {
    lead.activity.is_some() && (lead.agent != LEAD || lead.tool_uses == 0)
}
