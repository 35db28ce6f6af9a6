//! What a worker in a team attends to before it takes a task: a request to end first. What else was written to it goes with the
//! next task to the command, the lead's messages first; where there is no task, the command runs for the messages alone.

use serde_json::{Value, json};
use taskyard::core::dialect::inbox::read_protocol;
use taskyard::core::rules::agents::attention::{first, urgency};
use taskyard::core::rules::agents::departing::Departure;
use taskyard::core::{AgentName, MessageKey, Protocol};
use taskyard::teams::{Delivery, Seat};
use taskyard::{Error, Yard};

/// What was written to a worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Mail {
    seat: Option<Box<Seat>>,
    deliveries: Vec<Delivery>,
}

/// What a worker finds in its inbox.
pub(super) enum Attended {
    /// It was asked to end, and has left the team.
    Left,
    /// It goes on, with this.
    GoesOn(Mail),
}

/// Looks into the inbox of a worker, and lets it leave where it was asked to.
pub(super) fn attend(yard: &Yard, worker: &AgentName) -> Result<Attended, Error> {
    let Some(teams) = yard.teams() else { return Ok(Attended::GoesOn(Mail::default())) };
    let Some(seat) = teams.only_seat(worker)? else { return Ok(Attended::GoesOn(Mail::default())) };
    let mut deliveries = teams.receive(&seat)?.deliveries;
    let lead = seat.team.lead().to_owned();
    let urgent = first(deliveries.iter().map(|delivery| &delivery.message), &lead);
    let request = urgent.and_then(|message| Some((message.key(), read_protocol(&message.text)?)));
    if let Some((key, Protocol::ShutdownRequest { request, .. })) = request {
        // A refusal means that the team is gone, and with it all members to tell.
        let _ = teams.answer_shutdown(&seat, &request, None)?;
        teams.acknowledge(&seat, &[key])?;
        let _ = yard.leave_team(teams, &seat, Departure::Shutdown)?;
        return Ok(Attended::Left);
    }
    // Stable, so that each sender's own order stays.
    deliveries.sort_by_key(|delivery| urgency(&delivery.message, &lead));
    Ok(Attended::GoesOn(Mail { seat: Some(Box::new(seat)), deliveries }))
}

impl Mail {
    /// Returns the messages for a command.
    pub(super) fn as_json(&self) -> Value {
        let shape = |delivery: &Delivery| {
            let message = &delivery.message;
            json!({
                "id": message.msg_id, "from": message.from, "text": message.text, "summary": message.summary,
                "timestamp": message.timestamp,
            })
        };
        self.deliveries.iter().map(shape).collect()
    }

    /// Returns how many messages there are.
    pub(super) fn len(&self) -> usize {
        self.deliveries.len()
    }

    /// Returns what tells the messages from others.
    pub(super) fn keys(&self) -> impl Iterator<Item = &MessageKey> {
        self.deliveries.iter().flat_map(|delivery| &delivery.keys)
    }

    /// Returns the messages that are worth a command of their own: none unless a member of the team wrote words among them. What programs
    /// say to each other, and what is said of members that left, waits for the next task; so does what was tried too often.
    pub(super) fn worth_an_errand(mut self, is_given_up: impl Fn(&MessageKey) -> bool) -> Option<Self> {
        let seat = self.seat.as_ref()?;
        self.deliveries.retain(|delivery| !delivery.keys.iter().any(&is_given_up));
        let is_prompt = |delivery: &Delivery| {
            let message = &delivery.message;
            seat.team.member(&message.from).is_some() && read_protocol(&message.text).is_none()
        };
        self.deliveries.iter().any(is_prompt).then_some(self)
    }

    /// Says that the command had the messages.
    pub(super) fn acknowledge(&self, yard: &Yard) {
        let (Some(teams), Some(seat)) = (yard.teams(), &self.seat) else { return };
        let keys: Vec<MessageKey> = self.keys().cloned().collect();
        if !keys.is_empty()
            && let Err(error) = teams.acknowledge(seat, &keys)
        {
            tracing::warn!(%error, "messages will come again");
        }
    }
}
