//! `taskyard inbox`, `send` and `todo`

use std::collections::HashSet;
use std::io;
use std::io::Read as _;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use taskyard::core::answers::answer_values::Message;
use taskyard::core::answers::team_answers::Todos;
use taskyard::core::dialect::native::LARGEST;
use taskyard::core::render::{Board, Line, Look, Tone, escaping, job_line, message_lines, todo_line};
use taskyard::core::rules::refusal::{Refusal, TeamRefusal};
use taskyard::core::tools::todo_write;
use taskyard::core::{JobId, MessageKey, Rules, Status, TaskId, Timestamp, Todo as Item, answers, json_text};
use taskyard::notices::Notice;
use taskyard::operations::Departure;
use taskyard::stream::{Cursor, Happening, Interest};
use taskyard::teams::{Acknowledged, Delivery, DeliveryState, Letter, Seat, Sent, Teams};
use taskyard::todos::Replaced;
use taskyard::{Error, Outcome, Yard};
use taskyard_jobs::JobNotices;
use taskyard_jobs::notify::Notifier;

use crate::arguments::{NotifyFlag, parse_id};
use crate::context::Context;
use crate::displays::notices::{notify_of_end, notify_of_message};
use crate::exit::{Exit, Problem, exit_of};
use crate::output::{Output, when_reader_leaves};

/// Show your messages and your jobs
///
/// Jobs that have ended come first, then those that still run. Everything is shown again until it is acknowledged, so
/// nothing is lost if the reader dies. --ack acknowledges what was shown, once it has been written out. --follow shows
/// messages as they come, one JSON object per line in a pipe.
#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Acknowledge what is shown
    #[arg(long)]
    pub(crate) ack: bool,

    /// Keep showing messages as they arrive
    #[arg(long, conflicts_with = "sent")]
    pub(crate) follow: bool,

    /// Show the delivery state of your own messages
    #[arg(long, conflicts_with = "ack")]
    pub(crate) sent: bool,

    /// Only messages from this member, and no jobs
    #[arg(long, value_name = "NAME", conflicts_with_all = ["follow", "sent"])]
    pub(crate) from: Option<String>,

    /// The team, if you are in several
    #[arg(long, value_name = "TEAM")]
    pub(crate) team: Option<String>,

    #[command(flatten)]
    pub(crate) notify: NotifyFlag,
}

/// Maximum number of sent messages shown.
const SENT: usize = 50;

impl Inbox {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let teams = context.teams()?;
        let seat = teams.seat(&context.actor()?, self.team.as_deref())?;
        if self.sent {
            return sent(&teams, &seat.done()?, output);
        }
        if let Outcome::Done(seat) = &seat {
            let list = teams.list_of(&seat.team.name)?;
            // Release expired leases first, so that the reader is notified even if no process has looked at the list
            // since.
            context.yard()?.on(list).return_ended_leases()?;
        }
        let version = context.rules()?.client_version();
        let list = context.choice()?.list;
        let jobs = JobNotices::of(context.jobs()?, context.notices()?, context.actor()?, list, version);
        if self.follow {
            let yard = context.yard()?.with_teams(Arc::new(teams.lasting())).on(jobs.list().clone());
            let notifier = context.notifier(self.notify)?;
            return self.follow(&yard, &teams.lasting(), (&jobs, notifier.as_ref()), output);
        }
        let (ended, unfinished) = match self.from {
            Some(_) => (Vec::new(), Vec::new()),
            None => (jobs.take(&HashSet::new())?, jobs.unfinished()?),
        };
        let seat = match seat {
            // An agent without a team can still have jobs.
            Outcome::Refused(Refusal::Team(TeamRefusal::NotInATeam { .. })) if self.team.is_none() => None,
            seat => Some(seat.done()?),
        };
        let mut received = seat.as_ref().map(|seat| teams.receive(seat)).transpose()?.unwrap_or_default();
        received.deliveries.retain(|delivery| self.from.as_ref().is_none_or(|from| delivery.message.from == *from));
        if output.is_json() {
            let (team, agent) = seat.as_ref().map(|seat| (seat.team.name.as_str(), seat.name.as_str())).unzip();
            output.document(answers::team_answers::Inbox {
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
            output.warn(&format!("{} inbox {entries} not a message; --ack sets them aside", received.malformed))?;
        }
        if self.ack {
            output.flush()?;
            jobs.acknowledge(&ended)?;
            let acknowledged =
                seat.as_ref().map_or(Ok(()), |seat| acknowledge(&teams, seat, &received.deliveries, output));
            match acknowledged {
                // Stdout already has its single object.
                Err(problem) if output.is_json() && !problem.is_broken_pipe() => {
                    output.warn(&problem.report().message)?;
                    return Ok(exit_of(problem.report().kind));
                }
                acknowledged => acknowledged?,
            }
        } else if !received.deliveries.is_empty() || !ended.is_empty() {
            output.advise("acknowledge them with `taskyard inbox --ack`")?;
        }
        Ok(Exit::Done)
    }

    fn follow(
        &self,
        yard: &Yard,
        teams: &Teams,
        (jobs, notifier): (&JobNotices, Option<&Notifier>),
        output: &mut Output,
    ) -> Result<Exit, Problem> {
        let actor = yard.actor();
        // Also for an agent that is not in a team yet.
        let interest = Interest { agents: false, ..Interest::in_all_of(yard.list_id(), [actor.clone()]) };
        let mut stream = yard.follow_only(interest, Cursor::now())?;
        let control = stream.control();
        when_reader_leaves(move || control.stop());
        let mut shown: HashSet<MessageKey> = HashSet::new();
        let mut told: HashSet<JobId> = HashSet::new();
        loop {
            let ended = jobs.take(&told)?;
            for notice in &ended {
                notify_of_end(notifier, &notice.job);
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
            if let Outcome::Done(seat) = teams.seat(actor, self.team.as_deref())? {
                self.show_new(teams, &seat, (&mut shown, notifier), output)?;
            }
            // Commits to the list are not messages.
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
        (shown, notifier): (&mut HashSet<MessageKey>, Option<&Notifier>),
        output: &mut Output,
    ) -> Result<(), Problem> {
        let received = teams.receive(seat)?;
        let is_new = |delivery: &&Delivery| !delivery.keys.iter().all(|key| shown.contains(key));
        let new: Vec<Delivery> = received.deliveries.iter().filter(is_new).cloned().collect();
        for delivery in &new {
            if let Some(notifier) = notifier {
                notify_of_message(notifier, &delivery.message);
            }
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
            // Acknowledged messages are not delivered again, so they need not be remembered.
            shown.clear();
        }
        Ok(())
    }
}

/// Prints a notice: for people, or for models in the client's format.
fn show_notice(jobs: &JobNotices, notice: &Notice, output: &mut Output) -> Result<(), Problem> {
    if output.is_terminal() {
        let now = Some(Timestamp(jiff::Timestamp::now().as_millisecond()));
        let look = Look { now, ..output.look() };
        return Ok(output.line(&job_line("", &notice.job, &look))?);
    }
    Ok(output.text(&format!("{}\n", jobs.block(notice)))?)
}

/// Acknowledges messages after flushing the output.
fn acknowledge(teams: &Teams, seat: &Seat, deliveries: &[Delivery], output: &mut Output) -> Result<(), Problem> {
    output.flush()?;
    let keys: Vec<MessageKey> = deliveries.iter().flat_map(|delivery| delivery.keys.clone()).collect();
    let Acknowledged { set_aside, .. } = teams.acknowledge(seat, &keys)?;
    for aside in set_aside {
        let entries = if aside.count == 1 { "entry was" } else { "entries were" };
        output.warn(&format!("{} inbox {entries} not a message; kept in `{}`", aside.count, aside.kept_in))?;
    }
    Ok(())
}

fn sent(teams: &Teams, seat: &Seat, output: &mut Output) -> Result<Exit, Problem> {
    let outbox = teams.sent(seat, SENT)?;
    for (name, error) in &outbox.unreadable {
        output.warn(&format!("the delivery state of messages to {name} is unknown: {error}"))?;
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

/// Send a message to a member of your team
///
/// The message stays in the recipient's inbox until the recipient acknowledges it; `taskyard inbox --sent` shows its
/// delivery state. With --to '*' it goes to all other members. With `-` as TEXT it is read from stdin.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The recipient; '*' for all
    #[arg(long, value_name = "AGENT", required_unless_present_any = ["approve", "reject"])]
    pub(crate) to: Option<String>,

    /// The text of the message
    #[arg(value_name = "TEXT", num_args = 0.., allow_hyphen_values = false)]
    pub(crate) text: Vec<String>,

    /// A short summary
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,

    /// The team, if you are in several
    #[arg(long, value_name = "TEAM")]
    pub(crate) team: Option<String>,

    /// Mark the text as the result of this task
    #[arg(long, value_name = "ID", value_parser = parse_id, conflicts_with_all = ["request", "approve", "reject"])]
    pub(crate) task: Option<TaskId>,

    /// Ask the member to shut down, or to approve your plan, which is the text
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["approve", "reject"])]
    pub(crate) request: Option<Request>,

    /// Agree to a request, by its id
    #[arg(long, value_name = "REQUEST", conflicts_with = "reject")]
    pub(crate) approve: Option<String>,

    /// Decline a request, by its id; the text says why
    #[arg(long, value_name = "REQUEST")]
    pub(crate) reject: Option<String>,
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Request {
    /// Ask it to shut down
    Shutdown,
    /// Ask for approval of a plan
    Plan,
}

/// Prefix of the ids of shutdown requests.
const SHUTDOWN: &str = "shutdown-";

impl Send {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let teams = context.teams()?;
        let seat = teams.seat(&context.actor()?, self.team.as_deref())?.done()?;
        let text = self.words()?;
        let to = self.to.as_deref().unwrap_or_default();
        let needs = |what: &str| match text.is_empty() {
            true => Err(Problem::usage("usage", format!("{what} is missing"))),
            false => Ok(text.as_str()),
        };
        if let Some(request) = self.approve.as_ref().or(self.reject.as_ref()) {
            let rejection = self.reject.as_ref().map(|_| needs("the reason")).transpose()?;
            if !request.starts_with(SHUTDOWN) {
                if to.is_empty() {
                    return Err(Problem::usage("usage", "name the author of the plan with --to"));
                }
                return told(teams.answer_plan(&seat, to, request, rejection)?.done()?, output);
            }
            let sent = teams.answer_shutdown(&seat, request, rejection)?.done()?;
            if rejection.is_none() && !seat.is_lead() {
                context.yard()?.leave_team(&teams, &seat, Departure::Shutdown)?.done()?;
            }
            return told(sent, output);
        }
        let letter = || Ok::<_, Problem>(Letter { text: needs("the text")?.to_owned(), summary: self.summary.clone() });
        match (self.request, &self.task) {
            (Some(Request::Shutdown), _) => {
                let reason = Some(text.as_str()).filter(|text| !text.is_empty());
                told(teams.ask_to_end(&seat, to, reason)?.done()?, output)
            }
            (Some(Request::Plan), _) => told(teams.show_plan(&seat, needs("the plan")?)?.done()?, output),
            (None, Some(id)) => {
                let list = teams.list_of(&seat.team.name)?;
                let task = context.yard()?.on(list).show(id)?.done()?.task;
                told(teams.report(&seat, to, &task, needs("the text")?)?.done()?, output)
            }
            (None, None) if to == "*" => {
                let (sent, failed) = teams.broadcast(&seat, &letter()?)?.done()?;
                let missed: Vec<String> = failed.iter().map(|(name, error)| format!("{name} ({error})")).collect();
                broadcast(&sent, &missed, output)
            }
            (None, None) => {
                let sent = teams.send(&seat, to, &letter()?)?.done()?;
                if let Some(ghost) = teams.ghosts(&seat.team)?.into_iter().find(|ghost| ghost.name == sent.to) {
                    let process = ghost.process.map(|pid| format!(" {pid}")).unwrap_or_default();
                    output.warn(&format!(
                        "process{process} of {} has ended: it gets the message only if it comes back",
                        sent.to
                    ))?;
                } else if teams.reads_no_messages_yet(&seat.team, &sent.to)? {
                    output.warn(&format!(
                        "the program of {} reads no messages until it has a teammate: it gets the message then",
                        sent.to
                    ))?;
                }
                told(sent, output)
            }
        }
    }

    fn words(&self) -> Result<String, Problem> {
        if self.text.len() == 1 && self.text[0] == "-" {
            let mut text = String::new();
            let read = io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| Problem::io("cannot read standard input", &error))?;
            return Ok(text.trim_end_matches('\n').to_owned());
        }
        Ok(self.text.join(" "))
    }
}

fn told(sent: Sent, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        output.document(answers::team_answers::Sent::from(&sent))?;
        return Ok(Exit::Done);
    }
    let mut line = Line::plain("Sent to ").with(Tone::Owner, &sent.to);
    if let Some(request) = &sent.request {
        line.push(Tone::Dim, &format!(" (request {request})"));
    }
    output.say(&line)?;
    Ok(Exit::Done)
}

fn broadcast(sent: &[Sent], missed: &[String], output: &mut Output) -> Result<Exit, Problem> {
    let exit = if missed.is_empty() { Exit::Done } else { Exit::CouldNot };
    if output.is_json() {
        output.document(taskyard::answers::broadcast(sent, missed))?;
        return Ok(exit);
    }
    let names: Vec<&str> = sent.iter().map(|sent| sent.to.as_str()).collect();
    let line = match names.len() {
        0 => Line::plain("There are no other members in the team"),
        count => Line::plain(&format!("Sent to {count}: ")).with(Tone::Owner, &names.join(", ")),
    };
    output.say(&line)?;
    for missed in missed {
        output.warn(&format!("not sent to {missed}"))?;
    }
    Ok(exit)
}

/// Replace or show the todo list of one agent
///
/// A todo list is for one agent (--as) in one session of the client; no one else sees it, and it has no history. It is
/// kept where Claude Code 2.1.34 keeps it, in `todos/` of its directory. `write` reads the whole new list as JSON on
/// stdin: an array of objects with `content`, `status` (pending, in_progress or completed) and `activeForm`, or an
/// object with such an array as `todos`. Once everything in it is completed, the list is cleared.
#[derive(Debug, Args)]
pub(crate) struct Todo {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Replace the list with the one on stdin
    Write,
    /// Show the list
    Read,
}

impl Todo {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        match self.action {
            Action::Write => write(context, output),
            Action::Read => read(context, output),
        }
    }
}

fn write(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let rules = context.rules()?;
    let (list, agent) = context.todo_list()?;
    // The file belongs to the client, so its rules apply.
    let given = todo_write::read(&list_on_stdin()?, Rules::Client(rules.client_version())).map_err(|error| {
        Problem::usage("bad_input", "invalid todo list on stdin")
            .hint("`taskyard help todo` shows the format")
            .said(error.to_string())
            .detail("feedback", error.to_string())
    })?;
    let Replaced { before, after } = list.replace(&given).map_err(Error::from)?;
    let cleared = after.is_empty() && !given.is_empty();
    if output.is_json() {
        output.document(Todos {
            todos: given.iter().map(Into::into).collect(),
            old_todos: Some(before.iter().map(Into::into).collect()),
            cleared: cleared.then_some(true),
        })?;
        return Ok(Exit::Done);
    }
    if output.is_quiet() {
        return Ok(Exit::Done);
    }
    // Show the completed items once more before they are cleared.
    show(&given, &agent, output)?;
    if cleared {
        output.say(&Line::new().with(Tone::Dim, "All done: the list is cleared."))?;
    }
    Ok(Exit::Done)
}

fn read(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let (list, agent) = context.todo_list()?;
    let todos = list.read().map_err(Error::from)?;
    if output.is_json() {
        output.document(Todos { todos: todos.iter().map(Into::into).collect(), old_todos: None, cleared: None })?;
    } else {
        show(&todos, &agent, output)?;
    }
    Ok(Exit::Done)
}

/// Reads the tool's input from stdin. A bare array is accepted as the list.
fn list_on_stdin() -> Result<Value, Problem> {
    let mut bytes = Vec::new();
    let failed = |error| Problem::io("cannot read the list from stdin", &error);
    io::stdin().lock().take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    match json_text::from_slice(&bytes) {
        Ok(list @ Value::Array(_)) => Ok(json!({ "todos": list })),
        Ok(input) => Ok(input),
        Err(error) => Err(Problem::usage("bad_input", format!("stdin is not JSON: {error}"))
            .hint("give the list as JSON: [{\"content\": .., \"status\": .., \"activeForm\": ..}]")),
    }
}

/// Prints the list like tasks: with marks and a bar on a terminal, otherwise one plain line per item.
fn show(todos: &[Item], agent: &str, output: &mut Output) -> Result<(), Problem> {
    if todos.is_empty() {
        output.say(&Line::plain("No todos"))?;
        return Ok(());
    }
    if !output.is_terminal() {
        for todo in todos {
            let content = escaping::one_line(&todo.content);
            output.line(&Line::plain(&format!("[{}] {content}", todo.status)))?;
        }
        return Ok(());
    }
    let look = output.look();
    let count = |status| todos.iter().filter(|todo| todo.status == status).count();
    let counts = [count(Status::Pending), count(Status::InProgress), count(Status::Completed)];
    let title = escaping::one_line(agent);
    let board = Board {
        title: &title,
        tasks: &[],
        blockers: &Default::default(),
        progress: &Default::default(),
        counts,
        completed_after: None,
    };
    output.say(&board.header(&look))?;
    output.say(&Line::new())?;
    let lines: Vec<Line> = todos.iter().map(|todo| todo_line("  ", todo, &look)).collect();
    Ok(output.lines(&lines)?)
}
