//! Operations on teams, messages and todo lists.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use taskyard::answers::{broadcast, outbox, team_left};
use taskyard::core::problem::Problem;
use taskyard::core::rules::refusal::{Refusal, TeamRefusal};
use taskyard::core::tools::todo_write;
use taskyard::core::{BadListName, MessageKey, Rules, answers};
use taskyard::teams::{Letter, NewMember, NewTeam, Presence, Seat, Sent, TeamsFound};
use taskyard::todos::Replaced;
use taskyard::{Error, Outcome, operations};
use taskyard_jobs::JobNotices;

use super::inputs::Departure;
use super::operation::{Asked, Operation, Parts, Reply, id};
use crate::tokens::Scope;
use crate::web::call::Call;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::team_answers::Teams<'_>>("listTeams", "/teams", "The teams").runs(list),
        Operation::post::<answers::team_answers::TeamCreated<'_>>("createTeam", "/teams", "Create a team and lead it")
            .makes("/teams/{team}")
            .with(create),
        Operation::get::<answers::team_answers::TeamShown<'_>>(
            "showTeam",
            "/teams/{team}",
            "The members of a team and what they are doing",
        )
        .runs(show),
        Operation::delete::<answers::team_answers::TeamDeleted<'_>>("deleteTeam", "/teams/{team}", "End a team")
            .only_for(Scope::All)
            .with(delete),
        Operation::post::<answers::team_answers::TeamJoined<'_>>("joinTeam", "/teams/{team}/members", "Join a team")
            .makes("/teams/{team}")
            .with(join),
        Operation::delete::<answers::team_answers::TeamLeft<'_>>(
            "leaveTeam",
            "/teams/{team}/members/{agent}",
            "Leave a team, or remove a member",
        )
        .with(leave),
        Operation::post::<answers::team_answers::Sent<'_>>(
            "sendMessage",
            "/messages",
            "Send a message to a member of the caller's team",
        )
        .makes("/messages")
        .or::<answers::team_answers::SentToAll<'_>>()
        .with(send),
        Operation::post::<answers::team_answers::Inbox<'_>>("readInbox", "/inbox", "The caller's inbox").with(inbox),
        Operation::get::<answers::team_answers::Outbox<'_>>(
            "listSent",
            "/messages",
            "The caller's sent messages and their delivery state",
        )
        .with(sent),
        Operation::get::<answers::team_answers::Todos<'_>>("readTodos", "/todos", "The todo list of the caller")
            .runs(read_todos),
        Operation::put::<answers::team_answers::Todos<'_>>(
            "writeTodos",
            "/todos",
            "Replace the todo list of the caller",
        )
        .with(write_todos),
    ]
}

fn list(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| {
        let TeamsFound { teams, unreadable } = call.teams()?.look_around()?;
        unreadable.iter().for_each(|team| tracing::warn!(error = %team.error, "a team cannot be read"));
        Reply::of(answers::team_answers::Teams { teams: teams.iter().map(Into::into).collect() })
    }))
}

/// A new team.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewTeam")]
struct NewTeamGiven {
    name: String,
    #[serde(default)]
    description: Option<String>,
    /// Empty the list of that name first; needs the scope `all`
    #[serde(default)]
    reset: bool,
}

fn create(_: &Parts, new: NewTeamGiven) -> Result<Asked, Problem> {
    let name = new
        .name
        .parse()
        .map_err(|error: BadListName| Problem::usage("bad_team_name", error.to_string().replace("list", "team")))?;
    let scope = if new.reset { Scope::All } else { Scope::Work };
    let team = NewTeam { name, description: new.description, agent_type: None };
    let asked = Asked::to(move |call| {
        let teams = call.teams()?;
        let (seat, team_list) = call.yard.create_team(teams, &team, new.reset)?.done()?;
        let list = call.host.list_of_member(call.yard.actor())?;
        Reply::of(answers::team_answers::TeamCreated {
            team: seat.team.name.as_str(),
            list: list.as_str(),
            team_list: team_list.as_str(),
            path: teams.file_of(&seat.team.name).map(|path| path.display().to_string()),
            agent: &seat.name,
        })
    });
    Ok(asked.only_for(scope))
}

fn show(parts: &Parts) -> Result<Asked, Problem> {
    let name = parts.text("team").to_owned();
    Ok(Asked::to(move |call| {
        let teams = call.teams()?;
        let shown = call.yard.show_team(teams, &teams.find(&name)?.done()?)?;
        for problem in shown.members.iter().filter_map(|member| member.inbox_problem.as_ref()) {
            tracing::warn!("{problem}");
        }
        Reply::of(answers::team_answers::TeamShown::from(&shown))
    }))
}

/// How a team ends.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Ending {
    /// Though members are left
    force: bool,
}

fn delete(parts: &Parts, ending: Ending) -> Result<Asked, Problem> {
    let name = parts.text("team").to_owned();
    Ok(Asked::to(move |call| {
        let teams = call.teams()?;
        let team = teams.find(&name)?.done()?;
        let members = teams.standing_in_the_way(&team)?;
        if !members.is_empty() && !ending.force {
            return Err(TeamRefusal::MembersLeft { team: team.name.to_string(), members }.into());
        }
        call.yard.end_team(teams, &team)?;
        Reply::of(answers::team_answers::TeamDeleted { team: team.name.as_str(), deleted: true })
    }))
}

/// The agent that asks joins.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Joining {
    /// It cannot start a task until the lead approves its plan
    plan_mode: bool,
    agent_type: Option<String>,
    model: Option<String>,
}

fn join(parts: &Parts, joining: Joining) -> Result<Asked, Problem> {
    let name = parts.text("team").to_owned();
    Ok(Asked::to(move |call| {
        let teams = call.teams()?;
        let team = teams.find(&name)?.done()?;
        // Prune dead members first: one of them may have this name or colour.
        let pruned = call.yard.prune_team(teams, &team)?;
        pruned.iter().for_each(|ghost| tracing::warn!(name = ghost.name, "a member that no longer lives is taken out"));
        let team = if pruned.is_empty() { team } else { teams.find(&name)?.done()? };
        let plan_mode_required = joining.plan_mode || call.served.plan_mode_required;
        let new = NewMember {
            agent: call.yard.actor().clone(),
            agent_type: joining.agent_type,
            model: joining.model,
            plan_mode_required,
            presence: Presence::Lasting,
            backend: None,
        };
        let seat = teams.join(&team, &new)?.done()?;
        let team_list = teams.list_of(&seat.team.name)?;
        let list = call.host.list_of_member(call.yard.actor())?;
        Reply::of(answers::team_answers::TeamJoined {
            team: seat.team.name.as_str(),
            agent: &seat.name,
            color: seat.member().and_then(|member| member.color.as_deref()),
            list: list.as_str(),
            team_list: team_list.as_str(),
            plan_mode_required,
        })
    }))
}

fn leave(parts: &Parts, leaving: Departure) -> Result<Asked, Problem> {
    let (name, agent) = (parts.text("team").to_owned(), parts.agent()?);
    Ok(Asked::to(move |call| {
        let teams = call.teams()?;
        let seat = teams.seat(&agent, Some(&name))?.done()?;
        let departed = call.yard.leave_team(teams, &seat, leaving.reason.into())?.done()?;
        Reply::of(team_left(&seat, &departed))
    }))
}

/// What somebody is asked for.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum AskedFor {
    Shutdown,
    Plan,
}

/// A message.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct NewMessage {
    /// A member of the team, or `*` for all
    to: Option<String>,
    text: String,
    summary: Option<String>,
    /// The team, where the sender is in several
    team: Option<String>,
    /// It tells what came of this task
    task: Option<String>,
    /// It asks for this
    request: Option<AskedFor>,
    /// It approves this request
    approve: Option<String>,
    /// It rejects this request
    reject: Option<String>,
}

fn send(_: &Parts, message: NewMessage) -> Result<Asked, Problem> {
    let kinds =
        [message.task.is_some(), message.request.is_some(), message.approve.is_some(), message.reject.is_some()];
    if kinds.into_iter().filter(|is_given| *is_given).count() > 1 {
        return Err(Problem::usage("bad_input", "only one of `task`, `request`, `approve` and `reject` can be given"));
    }
    let answers = message.approve.is_some() || message.reject.is_some();
    if message.to.as_deref().is_none_or(str::is_empty) && !answers {
        return Err(Problem::usage("bad_input", "`to` is empty"));
    }
    let task = message.task.as_deref().map(id).transpose()?;
    Ok(Asked::to(move |call| {
        let teams = call.teams()?;
        let seat = teams.seat(call.yard.actor(), message.team.as_deref())?.done()?;
        let (to, text) = (message.to.as_deref().unwrap_or_default(), message.text.as_str());
        let needs = |what: &str| match text.is_empty() {
            true => Err(Problem::usage("usage", format!("{what} is missing"))),
            false => Ok(text),
        };
        let sent = match (message.approve.as_ref().or(message.reject.as_ref()), message.request, &task) {
            (Some(request), ..) => {
                let rejection = message.reject.as_ref().map(|_| needs("the reason")).transpose()?;
                answer_request(request, to, rejection, &seat, call)?
            }
            (None, Some(AskedFor::Shutdown), _) => {
                teams.ask_to_end(&seat, to, Some(text).filter(|text| !text.is_empty()))?.done()?
            }
            (None, Some(AskedFor::Plan), _) => teams.show_plan(&seat, needs("the plan")?)?.done()?,
            (None, None, Some(id)) => {
                let task = call.yard.on(teams.list_of(&seat.team.name)?).show(id)?.done()?.task;
                teams.report(&seat, to, &task, needs("the text")?)?.done()?
            }
            (None, None, None) => {
                let letter = Letter { text: needs("the text")?.to_owned(), summary: message.summary };
                if to == "*" {
                    let (sent, failed) = teams.broadcast(&seat, &letter)?.done()?;
                    let missed: Vec<String> = failed.iter().map(|(name, error)| format!("{name} ({error})")).collect();
                    return Reply::of(broadcast(&sent, &missed));
                }
                teams.send(&seat, to, &letter)?.done()?
            }
        };
        Reply::of(answers::team_answers::Sent::from(&sent))
    }))
}

/// Answers a request to shut down or to approve a plan.
fn answer_request(request: &str, to: &str, rejection: Option<&str>, seat: &Seat, call: &Call) -> Result<Sent, Problem> {
    let teams = call.teams()?;
    if !request.starts_with(SHUTDOWN) {
        return match to.is_empty() {
            true => Err(Problem::usage("usage", "name the author of the plan with `to`")),
            false => Ok(teams.answer_plan(seat, to, request, rejection)?.done()?),
        };
    }
    let sent = teams.answer_shutdown(seat, request, rejection)?.done()?;
    if rejection.is_none() && !seat.is_lead() {
        call.yard.leave_team(teams, seat, operations::Departure::Shutdown)?.done()?;
    }
    Ok(sent)
}

/// Prefix of the ids of shutdown requests.
const SHUTDOWN: &str = "shutdown-";

/// How an inbox is read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Reading {
    /// Acknowledge them: they do not come again
    acknowledge: bool,
    /// Only messages from this member, and no jobs
    from: Option<String>,
    team: Option<String>,
}

fn inbox(_: &Parts, reading: Reading) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let teams = call.teams()?;
        let actor = call.yard.actor();
        let seat = teams.seat(actor, reading.team.as_deref())?;
        if let Outcome::Done(seat) = &seat {
            // Release expired leases first, so that the reader is notified even if no process has looked at the list
            // since.
            call.yard.on(teams.list_of(&seat.team.name)?).return_ended_leases()?;
        }
        let version = call.yard.rules().client_version();
        let list = call.yard.list_id().clone();
        let jobs = JobNotices::of(call.jobs(), call.notices()?, actor.clone(), list, version);
        let (ended, unfinished) = match reading.from {
            Some(_) => (Vec::new(), Vec::new()),
            None => (jobs.take(&HashSet::new())?, jobs.unfinished()?),
        };
        let seat = match seat {
            // An agent without a team can still have jobs.
            Outcome::Refused(Refusal::Team(TeamRefusal::NotInATeam { .. })) if reading.team.is_none() => None,
            seat => Some(seat.done()?),
        };
        let mut received = seat.as_ref().map(|seat| teams.receive(seat)).transpose()?.unwrap_or_default();
        received.deliveries.retain(|delivery| reading.from.as_ref().is_none_or(|from| delivery.message.from == *from));
        let (team, agent) = seat.as_ref().map(|seat| (seat.team.name.as_str(), seat.name.as_str())).unzip();
        let reply = Reply::of(answers::team_answers::Inbox {
            team,
            agent,
            notifications: ended.iter().map(|notice| jobs.notification(notice)).collect(),
            jobs: unfinished.iter().map(Into::into).collect(),
            messages: received.deliveries.iter().map(Into::into).collect(),
            malformed: received.malformed,
        });
        if reading.acknowledge {
            jobs.acknowledge(&ended)?;
            let keys: Vec<MessageKey> = received.deliveries.iter().flat_map(|delivery| delivery.keys.clone()).collect();
            // The caller still gets the messages; unacknowledged ones are delivered again.
            if let Some(Err(error)) = seat.as_ref().map(|seat| teams.acknowledge(seat, &keys)) {
                tracing::warn!(%error, "messages are not acknowledged");
            }
        }
        reply
    }))
}

/// Which team.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct InTeam {
    /// The team, where the caller is in several
    team: Option<String>,
}

fn sent(_: &Parts, within: InTeam) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let teams = call.teams()?;
        let seat = teams.seat(call.yard.actor(), within.team.as_deref())?.done()?;
        let letters = teams.sent(&seat, MOST_SENT)?;
        for (to, error) in &letters.unreadable {
            tracing::warn!(to, %error, "how far messages came is not known");
        }
        Reply::of(outbox(&seat, &letters))
    }))
}

/// Maximum number of sent messages returned.
const MOST_SENT: usize = 50;

fn read_todos(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| {
        let todos = call.todo_list()?.read().map_err(Error::from)?;
        let todos = todos.iter().map(Into::into).collect();
        Reply::of(answers::team_answers::Todos { todos, old_todos: None, cleared: None })
    }))
}

/// A todo list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewTodos {
    /// Each with `content`, `status` and `activeForm`
    todos: Vec<Map<String, Value>>,
}

fn write_todos(_: &Parts, new: NewTodos) -> Result<Asked, Problem> {
    let input = json!({ "todos": new.todos });
    Ok(Asked::to(move |call| {
        // The file belongs to the client, so its rules apply.
        let rules = Rules::Client(call.yard.rules().client_version());
        let given = todo_write::read(&input, rules).map_err(|error| {
            Problem::usage("bad_input", "invalid todo list")
                .said(error.to_string())
                .detail("feedback", error.to_string())
        })?;
        let Replaced { before, after } = call.todo_list()?.replace(&given).map_err(Error::from)?;
        Reply::of(answers::team_answers::Todos {
            todos: given.iter().map(Into::into).collect(),
            old_todos: Some(before.iter().map(Into::into).collect()),
            cleared: (after.is_empty() && !given.is_empty()).then_some(true),
        })
    }))
}
