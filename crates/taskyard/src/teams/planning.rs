//! Plans that wait for the lead.

use taskyard_core::dialect::inbox::{read_protocol, write_protocol};
use taskyard_core::rules::plan_approval::{PlanState, after_answer, may_start};
use taskyard_core::{Message, Protocol};

use super::memory::PlanRow;
use super::register::Teams;
use super::seat::Seat;
use super::sending::{Letter, Sent};
use super::{Judged, TeamError, TeamRefusal};

impl Teams {
    /// Shows the lead a plan. What was approved before no longer counts.
    pub fn show_plan(&self, from: &Seat, plan: &str) -> Judged<Sent> {
        let now = self.now();
        let request = format!("plan-{}@{}", now.0, from.name);
        let said = Protocol::PlanApprovalRequest {
            request: request.clone(),
            from: from.name.clone(),
            plan: plan.to_owned(),
            timestamp: now.to_string(),
        };
        let key = self.key(&from.team);
        let row = PlanRow { request: request.clone(), state: PlanState::AwaitingApproval };
        // Before it is sent: an answer may come at once.
        self.remember(|memory| memory.set_plan(&key, &from.name, &row, now))?;
        let sent = self.deliver_to(from, from.team.lead(), &Letter::new(write_protocol(&said)))?;
        Ok(sent.map(|sent| Sent { request: Some(request), ..sent }))
    }

    /// Approves a plan, or rejects it with what is to be changed. Only the lead can.
    pub fn answer_plan(&self, from: &Seat, to: &str, request: &str, rejection: Option<&str>) -> Judged<Sent> {
        if !from.is_lead() {
            let (lead, team) = (from.team.lead().to_owned(), from.team.name.to_string());
            return Ok(Err(TeamRefusal::NotTheLead { lead, team }));
        }
        let now = self.now();
        let said = Protocol::PlanApprovalResponse {
            request: request.to_owned(),
            approved: rejection.is_none(),
            feedback: rejection.map(str::to_owned),
            timestamp: now.to_string(),
            permission_mode: Some("default".to_owned()),
        };
        let sent = self.send(from, to, &Letter::new(write_protocol(&said)))?;
        if let Ok(sent) = &sent {
            let member = Seat { team: from.team.clone(), name: sent.to.clone() };
            self.note_answers(&member, std::iter::once(&sent.message))?;
        }
        Ok(sent)
    }

    /// Returns how far a member's plan came: as we remember it, or as an answer in its inbox says.
    pub fn plan(&self, seat: &Seat) -> Result<PlanState, TeamError> {
        let key = self.key(&seat.team);
        let known = self.remembered(|memory| memory.plan(&key, &seat.name))?.flatten();
        if known.as_ref().is_some_and(|plan| plan.state == PlanState::Approved) {
            return Ok(PlanState::Approved);
        }
        let (messages, _) = self.contents(seat)?;
        let answer = messages.iter().rev().find_map(|message| answers(message, seat, known.as_ref()));
        Ok(answer.or(known.map(|plan| plan.state)).unwrap_or_default())
    }

    /// Tells whether a member may start a task: whoever has to show a plan first may when it is approved.
    pub fn may_start(&self, seat: &Seat) -> Result<bool, TeamError> {
        let Some(member) = seat.member().filter(|member| member.plan_mode_required) else { return Ok(true) };
        Ok(may_start(member, self.plan(seat)?))
    }

    /// Remembers the answers to plans among messages: they are gone once they are acknowledged.
    pub(super) fn note_answers<'a>(
        &self,
        seat: &Seat,
        messages: impl Iterator<Item = &'a Message>,
    ) -> Result<(), TeamError> {
        let key = self.key(&seat.team);
        for message in messages.filter(|message| message.text.starts_with('{')) {
            let known = self.remembered(|memory| memory.plan(&key, &seat.name))?.flatten();
            let Some(state) = answers(message, seat, known.as_ref()) else { continue };
            let request = known.map(|plan| plan.request).unwrap_or_default();
            let now = self.now();
            self.remember(|memory| memory.set_plan(&key, &seat.name, &PlanRow { request, state }, now))?;
        }
        Ok(())
    }
}

/// Returns what a message says of the plan we know of; where we know of none, of whatever plan.
fn answers(message: &Message, seat: &Seat, known: Option<&PlanRow>) -> Option<PlanState> {
    let state = after_answer(message, seat.team.lead())?;
    let is_of_another = match (read_protocol(&message.text), known) {
        (Some(Protocol::PlanApprovalResponse { request, .. }), Some(plan)) => {
            !plan.request.is_empty() && plan.request != request
        }
        _ => false,
    };
    (!is_of_another).then_some(state)
}
