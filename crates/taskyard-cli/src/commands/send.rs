//! `taskyard send`

use std::io::{self, Read as _};

use clap::{Args, ValueEnum};
use taskyard::core::render::{Line, Tone};
use taskyard::core::{TaskId, answers};
use taskyard::operations::Departure;
use taskyard::teams::{Judged, Letter, Sent};

use crate::arguments::parse_id;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Write to a member of your team
///
/// The message stays in the recipient's inbox until the recipient has acknowledged it; `taskyard inbox --sent` shows
/// how far it got. With --to '*' everybody else in the team gets it. With `-` as TEXT it is read from stdin.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The recipient; '*' for all
    #[arg(long, value_name = "AGENT", required_unless_present_any = ["approve", "reject"])]
    pub(crate) to: Option<String>,

    /// What you write
    #[arg(value_name = "TEXT", num_args = 0.., allow_hyphen_values = false)]
    pub(crate) text: Vec<String>,

    /// The same in a few words
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,

    /// The team, where you are in several
    #[arg(long, value_name = "TEAM")]
    pub(crate) team: Option<String>,

    /// Mark the text as the result of this task
    #[arg(long, value_name = "ID", value_parser = parse_id, conflicts_with_all = ["request", "approve", "reject"])]
    pub(crate) task: Option<TaskId>,

    /// Ask the member to end, or to approve your plan, which is the text
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["approve", "reject"])]
    pub(crate) request: Option<Request>,

    /// Agree to a request, by its id
    #[arg(long, value_name = "REQUEST", conflicts_with = "reject")]
    pub(crate) approve: Option<String>,

    /// Turn a request down, by its id; the text says why
    #[arg(long, value_name = "REQUEST")]
    pub(crate) reject: Option<String>,
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Request {
    /// That it ends
    Shutdown,
    /// That a plan is approved
    Plan,
}

/// What the ids of requests to end begin with.
const SHUTDOWN: &str = "shutdown-";

impl Send {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let teams = context.teams()?;
        let seat = teams.seat(&context.actor()?, self.team.as_deref())??;
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
                    return Err(Problem::usage("usage", "name whose plan it is with --to"));
                }
                return told(teams.answer_plan(&seat, to, request, rejection), output);
            }
            let sent = teams.answer_shutdown(&seat, request, rejection)??;
            if rejection.is_none() && !seat.is_lead() {
                context.yard()?.leave_team(&teams, &seat, Departure::Shutdown)??;
            }
            return told(Ok(Ok(sent)), output);
        }
        let letter = || Ok::<_, Problem>(Letter { text: needs("the text")?.to_owned(), summary: self.summary.clone() });
        match (self.request, &self.task) {
            (Some(Request::Shutdown), _) => {
                told(teams.ask_to_end(&seat, to, Some(text.as_str()).filter(|text| !text.is_empty())), output)
            }
            (Some(Request::Plan), _) => told(teams.show_plan(&seat, needs("the plan")?), output),
            (None, Some(id)) => {
                let list = teams.list_of(&seat.team.name)?;
                let task = context.yard()?.on(list).show(id)?.done()?.task;
                told(teams.report(&seat, to, &task, needs("the text")?), output)
            }
            (None, None) if to == "*" => {
                let (sent, failed) = teams.broadcast(&seat, &letter()?)??;
                let missed: Vec<String> = failed.iter().map(|(name, error)| format!("{name} ({error})")).collect();
                broadcast(&sent, &missed, output)
            }
            (None, None) => {
                let sent = teams.send(&seat, to, &letter()?)??;
                if let Some(ghost) = teams.ghosts(&seat.team)?.into_iter().find(|ghost| ghost.name == sent.to) {
                    let process = ghost.process.map(|pid| format!(" {pid}")).unwrap_or_default();
                    output.warn(&format!(
                        "process{process} of {} has ended: it has this only when it comes back",
                        sent.to
                    ))?;
                } else if teams.reads_no_messages_yet(&seat.team, &sent.to)? {
                    output.warn(&format!(
                        "the program of {} reads no messages before it has a teammate of its own: it has this only then",
                        sent.to
                    ))?;
                }
                told(Ok(Ok(sent)), output)
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

fn told(sent: Judged<Sent>, output: &mut Output) -> Result<Exit, Problem> {
    let sent = sent??;
    if output.is_json() {
        output.document(answers::teams::Sent::from(&sent))?;
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
        0 => Line::plain("There is nobody else in the team"),
        count => Line::plain(&format!("Sent to {count}: ")).with(Tone::Owner, &names.join(", ")),
    };
    output.say(&line)?;
    for missed in missed {
        output.warn(&format!("not sent to {missed}"))?;
    }
    Ok(exit)
}
