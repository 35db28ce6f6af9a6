//! `taskyard inbox`

use std::collections::HashSet;
use std::sync::Arc;

use clap::Args;
use taskyard::Yard;
use taskyard::core::answers::values::Message;
use taskyard::core::render::{Line, Look, Tone, job_line, message_lines};
use taskyard::core::{JobId, MessageKey, Timestamp, answers};
use taskyard::notices::Notice;
use taskyard::stream::{Cursor, Happening, Interest};
use taskyard::teams::{Acknowledged, Delivery, DeliveryState, Seat, TeamRefusal, Teams};
use taskyard_jobs::JobNotices;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::{Output, when_reader_leaves};
use crate::problem::{Problem, exit_of};

/// Show what waits for you: messages, and your jobs
///
/// Jobs that have ended come first, then those that still run. Everything is shown again until it is acknowledged, so
/// nothing is lost when its reader dies. --ack acknowledges what was shown, once it has been written out. --follow
/// shows messages as they come, one JSON object per line in a pipe.
#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Acknowledge what is shown
    #[arg(long)]
    pub(crate) ack: bool,

    /// Go on showing messages as they come
    #[arg(long, conflicts_with = "sent")]
    pub(crate) follow: bool,

    /// Show how far your own messages got
    #[arg(long, conflicts_with = "ack")]
    pub(crate) sent: bool,

    /// Only messages from this member, and no jobs
    #[arg(long, value_name = "NAME", conflicts_with_all = ["follow", "sent"])]
    pub(crate) from: Option<String>,

    /// The team, where you are in several
    #[arg(long, value_name = "TEAM")]
    pub(crate) team: Option<String>,
}

/// So many sent messages are shown.
const SENT: usize = 50;

impl Inbox {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let teams = context.teams()?;
        let seat = teams.seat(&context.actor()?, self.team.as_deref())?;
        if self.sent {
            return sent(&teams, &seat?, output);
        }
        if let Ok(seat) = &seat {
            let list = teams.list_of(&seat.team.name)?;
            // The reader hears of agents whose leases have ended, though no process has looked at the list since.
            context.yard()?.on(list).return_ended_leases()?;
        }
        let version = context.rules()?.client_version();
        let list = context.choice()?.list;
        let jobs = JobNotices::of(context.jobs()?, context.notices()?, context.actor()?, list, version);
        if self.follow {
            let yard = context.yard()?.with_teams(Arc::new(teams.lasting())).on(jobs.list().clone());
            return self.follow(&yard, &teams.lasting(), &jobs, output);
        }
        let (ended, unfinished) = match self.from {
            Some(_) => (Vec::new(), Vec::new()),
            None => (jobs.take(&HashSet::new())?, jobs.unfinished()?),
        };
        let seat = match seat {
            // An agent in no team has jobs all the same.
            Err(TeamRefusal::NotInATeam { .. }) if self.team.is_none() => None,
            seat => Some(seat?),
        };
        let mut received = seat.as_ref().map(|seat| teams.receive(seat)).transpose()?.unwrap_or_default();
        received.deliveries.retain(|delivery| self.from.as_ref().is_none_or(|from| delivery.message.from == *from));
        if output.is_json() {
            let (team, agent) = seat.as_ref().map(|seat| (seat.team.name.as_str(), seat.name.as_str())).unzip();
            output.document(answers::teams::Inbox {
                team,
                agent,
                notifications: ended.iter().map(|notice| jobs.notification(notice)).collect(),
                jobs: unfinished.iter().map(Into::into).collect(),
                messages: received.deliveries.iter().map(Into::into).collect(),
                malformed: received.malformed,
            })?;
        } else if received.deliveries.is_empty() && ended.is_empty() && unfinished.is_empty() {
            output.say(&Line::plain("No messages"))?;
        } else {
            for notice in &ended {
                show_notice(&jobs, notice, output)?;
            }
            for job in &unfinished {
                output.line(&job_line("", job, &output.look()))?;
            }
            for delivery in &received.deliveries {
                output.lines(&message_lines(delivery, &output.look()))?;
            }
        }
        if received.malformed > 0 && !self.ack {
            let entries = if received.malformed == 1 { "entry is" } else { "entries are" };
            output.warn(&format!("{} {entries} no message; --ack sets such aside", received.malformed))?;
        }
        if self.ack {
            output.flush()?;
            jobs.acknowledge(&ended)?;
            let acknowledged =
                seat.as_ref().map_or(Ok(()), |seat| acknowledge(&teams, seat, &received.deliveries, output));
            match acknowledged {
                // There is one object on stdout already.
                Err(problem) if output.is_json() && !problem.is_broken_pipe() => {
                    output.warn(&problem.report().message)?;
                    return Ok(exit_of(problem.report().kind));
                }
                acknowledged => acknowledged?,
            }
        } else if !received.deliveries.is_empty() || !ended.is_empty() {
            output.advise("say that you have them with `taskyard inbox --ack`")?;
        }
        Ok(Exit::Done)
    }

    fn follow(&self, yard: &Yard, teams: &Teams, jobs: &JobNotices, output: &mut Output) -> Result<Exit, Problem> {
        let actor = yard.actor();
        // Also for an agent that is in no team yet.
        let interest = Interest { agents: false, ..Interest::in_all_of(yard.list_id(), [actor.clone()]) };
        let mut stream = yard.follow_only(interest, Cursor::now())?;
        let control = stream.control();
        when_reader_leaves(move || control.stop());
        let mut shown: HashSet<MessageKey> = HashSet::new();
        let mut told: HashSet<JobId> = HashSet::new();
        loop {
            let ended = jobs.take(&told)?;
            for notice in &ended {
                if output.is_terminal() && !output.is_json() {
                    show_notice(jobs, notice, output)?;
                } else {
                    output.document(jobs.notification(notice))?;
                }
            }
            output.flush()?;
            if self.ack {
                jobs.acknowledge(&ended)?;
            }
            told.extend(ended.into_iter().map(|notice| notice.job.id));
            if let Ok(seat) = teams.seat(actor, self.team.as_deref())? {
                self.show_new(teams, &seat, &mut shown, output)?;
            }
            // What happens on the list is no message.
            let is_news = |happening: &Happening| !matches!(happening, Happening::Commit(_));
            let next = stream.find(|happening| happening.as_ref().map_or(true, is_news));
            if next.transpose()?.is_none() {
                return Ok(Exit::Done);
            }
        }
    }

    fn show_new(
        &self,
        teams: &Teams,
        seat: &Seat,
        shown: &mut HashSet<MessageKey>,
        output: &mut Output,
    ) -> Result<(), Problem> {
        let received = teams.receive(seat)?;
        let is_new = |delivery: &&Delivery| !delivery.keys.iter().all(|key| shown.contains(key));
        let new: Vec<Delivery> = received.deliveries.iter().filter(is_new).cloned().collect();
        for delivery in &new {
            if output.is_terminal() && !output.is_json() {
                output.lines(&message_lines(delivery, &output.look()))?;
            } else {
                output.document(Message::from(delivery))?;
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
        Ok(())
    }
}

/// Writes a notice for people, or for models in the client's words.
fn show_notice(jobs: &JobNotices, notice: &Notice, output: &mut Output) -> Result<(), Problem> {
    if output.is_terminal() {
        let now = Some(Timestamp(jiff::Timestamp::now().as_millisecond()));
        let look = Look { now, ..output.look() };
        return Ok(output.line(&job_line("", &notice.job, &look))?);
    }
    Ok(output.text(&format!("{}\n", jobs.block(notice)))?)
}

/// Says that messages were read, after they were written out.
fn acknowledge(teams: &Teams, seat: &Seat, deliveries: &[Delivery], output: &mut Output) -> Result<(), Problem> {
    output.flush()?;
    let keys: Vec<MessageKey> = deliveries.iter().flat_map(|delivery| delivery.keys.clone()).collect();
    let Acknowledged { set_aside, .. } = teams.acknowledge(seat, &keys)?;
    for aside in set_aside {
        let entries = if aside.count == 1 { "entry was" } else { "entries were" };
        output.warn(&format!("{} {entries} no message, kept in `{}`", aside.count, aside.kept_in))?;
    }
    Ok(())
}

fn sent(teams: &Teams, seat: &Seat, output: &mut Output) -> Result<Exit, Problem> {
    let outbox = teams.sent(seat, SENT)?;
    for (name, error) in &outbox.unreadable {
        output.warn(&format!("how far messages to {name} came cannot be told: {error}"))?;
    }
    if output.is_json() {
        output.document(taskyard::answers::outbox(seat, &outbox))?;
        return Ok(Exit::Done);
    }
    let sent = outbox.messages;
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
        output.line(&look.fitted(line))?;
    }
    Ok(Exit::Done)
}
