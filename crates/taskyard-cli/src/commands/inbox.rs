//! `taskyard inbox`

use std::collections::HashSet;
use std::sync::mpsc;

use clap::Args;
use serde_json::{Value, json};
use taskyard::core::MessageKey;
use taskyard::core::render::{Line, Tone, message_lines};
use taskyard::core::tools::inbox_read;
use taskyard::teams::{Acknowledged, Delivery, DeliveryState, Seat, Teams};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, when_reader_leaves};
use crate::problem::Problem;

/// Show the messages for you
///
/// A message is shown again until it is acknowledged, so none is lost when its reader dies. With --ack what was shown counts as
/// read, once it has been written out. With --follow messages are shown as they come, one JSON object per line in a pipe.
#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Say that you have what is shown
    #[arg(long)]
    ack: bool,

    /// Go on showing messages as they come
    #[arg(long, conflicts_with = "sent")]
    follow: bool,

    /// Show how far the messages came that you sent
    #[arg(long, conflicts_with = "ack")]
    sent: bool,

    /// The team, where you are in several
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,
}

/// So many sent messages are shown.
const SENT: usize = 50;

/// What there is to wait for.
enum Word {
    LookAgain,
    ReaderLeft,
}

impl Inbox {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let teams = context.teams()?;
        let seat = teams.seat(&context.actor()?, self.team.as_deref())??;
        if self.sent {
            return sent(&teams, &seat, output);
        }
        if self.follow {
            return self.follow(&teams, &seat, output);
        }
        let received = teams.receive(&seat)?;
        if output.is_json() {
            let messages: Vec<Value> = received.deliveries.iter().map(shape).collect();
            output.document(json!({
                "team": seat.team.name.as_str(), "agent": seat.name, "messages": messages, "malformed": received.malformed,
            }))?;
        } else if received.deliveries.is_empty() {
            output.say(&Line::plain("No messages"))?;
        } else {
            for delivery in &received.deliveries {
                output.lines(&message_lines(delivery, &output.look()))?;
            }
        }
        if received.malformed > 0 && !self.ack {
            let entries = if received.malformed == 1 { "entry is" } else { "entries are" };
            output.warn(&format!("{} {entries} no message; --ack sets such aside", received.malformed))?;
        }
        if self.ack {
            acknowledge(&teams, &seat, &received.deliveries, output)?;
        } else if !received.deliveries.is_empty() {
            output.advise("say that you have them with `taskyard inbox --ack`")?;
        }
        Ok(Exit::Done)
    }

    fn follow(&self, teams: &Teams, seat: &Seat, output: &mut Output) -> Result<Exit, Problem> {
        let (sender, receiver) = mpsc::channel();
        let left = sender.clone();
        // The receiver lives as long as the subscription; past it nobody wants to know.
        let _subscription = teams.follow(seat, Box::new(move || drop(sender.send(Word::LookAgain))))?;
        when_reader_leaves(move || drop(left.send(Word::ReaderLeft)));
        let mut shown: HashSet<MessageKey> = HashSet::new();
        while let Ok(Word::LookAgain) = receiver.recv() {
            let received = teams.receive(seat)?;
            let is_new = |delivery: &&Delivery| !delivery.keys.iter().all(|key| shown.contains(key));
            let new: Vec<Delivery> = received.deliveries.iter().filter(is_new).cloned().collect();
            for delivery in &new {
                if output.is_terminal() && !output.is_json() {
                    output.lines(&message_lines(delivery, &output.look()))?;
                } else {
                    output.document(shape(delivery))?;
                }
            }
            if self.ack && !new.is_empty() {
                acknowledge(teams, seat, &new, output)?;
            }
            output.flush()?;
            shown.extend(new.into_iter().flat_map(|delivery| delivery.keys));
            if self.ack {
                // What is acknowledged does not come again, so it need not be remembered for ever.
                shown.clear();
            }
        }
        Ok(Exit::Done)
    }
}

/// Says that messages were read, after they were written out.
fn acknowledge(teams: &Teams, seat: &Seat, deliveries: &[Delivery], output: &mut Output) -> Result<(), Problem> {
    output.flush()?;
    let keys: Vec<MessageKey> = deliveries.iter().flat_map(|delivery| delivery.keys.clone()).collect();
    let Acknowledged { set_aside, .. } = teams.acknowledge(seat, &keys)?;
    for aside in set_aside {
        let entries = if aside.count == 1 { "entry was" } else { "entries were" };
        output.warn(&format!("{} {entries} no message, kept in `{}`", aside.count, aside.path.display()))?;
    }
    Ok(())
}

fn sent(teams: &Teams, seat: &Seat, output: &mut Output) -> Result<Exit, Problem> {
    let sent = teams.sent(seat, SENT)?;
    if output.is_json() {
        let messages: Vec<Value> = sent
            .iter()
            .map(|sent| {
                json!({
                    "id": sent.key, "to": sent.to, "timestamp": sent.at.to_string(), "summary": sent.summary,
                    "state": sent.state.as_str(),
                })
            })
            .collect();
        output.document(json!({ "team": seat.team.name.as_str(), "agent": seat.name, "messages": messages }))?;
        return Ok(Exit::Done);
    }
    if sent.is_empty() {
        output.say(&Line::plain("No messages"))?;
    }
    let look = output.look();
    for message in &sent {
        let tone = match message.state {
            DeliveryState::Sent | DeliveryState::Delivered => Tone::Active,
            DeliveryState::Read => Tone::Done,
            DeliveryState::Expired => Tone::Error,
        };
        let colour = seat.team.member(&message.to).and_then(|member| member.colour());
        let mut line = Line::new().with(tone, &format!("{:9}", message.state.as_str()));
        line.push(Tone::Plain, " ");
        line.push(Tone::member(colour), &message.to);
        line.push(Tone::Dim, &format!("{}{}{}", look.dot(), look.time(message.at), look.dot()));
        line.push(Tone::Plain, &message.summary);
        output.line(&match look.width {
            Some(width) => line.cut(width, look.ellipsis()),
            None => line,
        })?;
    }
    Ok(Exit::Done)
}

fn shape(delivery: &Delivery) -> Value {
    let message = &delivery.message;
    json!({
        "id": inbox_read::id(delivery),
        "from": message.from,
        "text": message.text,
        "summary": message.summary,
        "timestamp": message.timestamp,
        "color": message.color,
        "repeats": delivery.keys.len().saturating_sub(1),
    })
}
