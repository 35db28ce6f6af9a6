//! Plans that wait for the lead.

use taskyard_core::dialect::inbox::{read_protocol, write_protocol};
use taskyard_core::rules::teams::plan_approval::{PlanState, after_answer, may_start};
use taskyard_core::{Message, Protocol};

use super::contract::Mailbox;
use super::register::Teams;
use super::seat::Seat;
use super::seat_record::Plan;
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
        let plan = Plan { request: request.clone(), state: PlanState::AwaitingApproval, at: now };
        // Before it is sent: an answer may come at once.
        self.store.change_seat(&from.team, &from.name, &mut |seat| seat.plan = Some(plan.clone()))?;
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
        let known = self.store.seats_in(&seat.team)?.remove(&seat.name).and_then(|record| record.plan);
        if known.as_ref().is_some_and(|plan| plan.state == PlanState::Approved) {
            return Ok(PlanState::Approved);
        }
        Ok(plan_after(seat, known.as_ref(), &self.store.mailbox(&seat.team, &seat.name)?))
    }

    /// Tells whether a member may start a task: a member that has to show a plan first may when it is approved.
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
        let answers: Vec<&Message> =
            messages.filter(|message| after_answer(message, seat.team.lead()).is_some()).collect();
        if answers.is_empty() {
            return Ok(());
        }
        let now = self.now();
        self.store.change_seat(&seat.team, &seat.name, &mut |record| {
            for message in &answers {
                let Some(state) = answered(message, seat, record.plan.as_ref()) else { continue };
                let request = record.plan.take().map(|plan| plan.request).unwrap_or_default();
                record.plan = Some(Plan { request, state, at: now });
            }
        })
    }
}

/// Returns how far a plan came of which this is remembered, where this is in the mailbox of its author.
pub(super) fn plan_after(seat: &Seat, known: Option<&Plan>, mailbox: &Mailbox) -> PlanState {
    // What was acknowledged was received before, and noted then.
    let is_new = |message: &&Message| !mailbox.acknowledged.contains(&message.key());
    let state = known.map(|plan| plan.state);
    let answer = || mailbox.messages.iter().rev().filter(is_new).find_map(|message| answered(message, seat, known));
    match state {
        Some(PlanState::Approved) => PlanState::Approved,
        state => answer().or(state).unwrap_or_default(),
    }
}

/// Returns what a message says of the plan we know of; where we know of none, of whatever plan.
fn answered(message: &Message, seat: &Seat, known: Option<&Plan>) -> Option<PlanState> {
    let state = after_answer(message, seat.team.lead())?;
    let is_of_another = match (read_protocol(&message.text), known) {
        (Some(Protocol::PlanApprovalResponse { request, .. }), Some(plan)) => {
            !plan.request.is_empty() && plan.request != request
        }
        _ => false,
    };
    (!is_of_another).then_some(state)
}
