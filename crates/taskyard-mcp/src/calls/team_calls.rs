//! `TeamCreate`, `TeamDelete`, `ListAgents`, `SendMessage` and `InboxRead`

use std::sync::Arc;

use serde_json::Value;
use taskyard::core::dialect::inbox::write_protocol;
use taskyard::core::rules::agents::{Departure, name_of};
use taskyard::core::rules::refusal::{Refusal, TeamRefusal};
use taskyard::core::rules::teams::mailing::recipient;
use taskyard::core::tools::list_agents::Listed;
use taskyard::core::tools::send_message::{Routed, SendMessage, Unsendable};
use taskyard::core::tools::team_create::TeamCreate;
use taskyard::core::tools::{Answer, catalogue, inbox_read, list_agents, send_message, team_create, team_delete};
use taskyard::core::{ClientVersion, LEAD, Member, MessageKey, Protocol, Rules, TeamName};
use taskyard::teams::{Delivery, Letter, NewTeam, Seat, Sent, TeamError, Teams};
use taskyard::{Outcome, system};

use super::Toolbox;
use super::toolbox::NoAnswer;

impl Toolbox {
    pub(super) fn create_team(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let teams = self.teams("TeamCreate")?;
        let rules = self.yard.rules();
        let TeamCreate { name, description, agent_type } = team_create::read(input, rules)?;
        let Ok(name) = TeamName::new(name) else { return Ok(team_create::nameless()) };
        let new = NewTeam { name, description, agent_type };
        Ok(match self.yard.create_team(&teams, &new, false)? {
            Outcome::Done((seat, list)) => {
                let path = teams.file_of(&seat.team.name).unwrap_or_default().display().to_string();
                team_create::created(&seat.team, &path, list.as_str(), rules)
            }
            Outcome::Refused(Refusal::Team(TeamRefusal::AlreadyLeading { team })) => {
                team_create::already_leading(&team)
            }
            Outcome::Refused(refusal) => Answer::error(format!("Not made: {refusal}. Choose another name.")),
        })
    }

    pub(super) fn delete_team(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let teams = self.teams("TeamDelete")?;
        let rules = self.yard.rules();
        team_delete::read(input, rules)?;
        let Some(seat) = teams.only_seat(self.yard.actor())?.filter(Seat::is_lead) else {
            return Ok(team_delete::no_team(rules));
        };
        let name = seat.team.name.to_string();
        let left = teams.standing_in_the_way(&seat.team)?;
        if !left.is_empty() {
            return Ok(team_delete::members_left(&name, &left, rules));
        }
        self.yard.end_team(&teams, &seat.team)?;
        Ok(team_delete::deleted(&name, rules))
    }

    pub(super) fn list_agents(&self, input: &Value) -> Result<Answer, NoAnswer> {
        list_agents::read(input, self.yard.rules())?;
        let teams = self.teams("ListAgents")?;
        let Some(seat) = teams.only_seat(self.yard.actor())? else { return Ok(list_agents::alone()) };
        let shown = self.yard.show_team(&teams, &seat.team)?;
        let tasks: Vec<Vec<String>> = shown
            .members
            .iter()
            .map(|member| member.tasks.iter().map(|(id, _)| id.as_str().to_owned()).collect())
            .collect();
        let listed: Vec<Listed<'_>> = shown
            .members
            .iter()
            .zip(&tasks)
            .map(|(shown, tasks)| Listed { member: &shown.member, state: shown.state, tasks })
            .collect();
        Ok(list_agents::listed(seat.team.name.as_str(), &seat.name, &listed))
    }

    /// Returns the teams. Without teams, the tool is not available.
    pub(super) fn teams(&self, tool: &str) -> Result<Arc<Teams>, NoAnswer> {
        self.yard.teams().cloned().ok_or_else(|| NoAnswer::Answer(catalogue::not_available(tool)))
    }
}

/// The team to which the client writes if it knows of none.
const NO_TEAM: &str = "default";
/// The client's name for an agent without a name that answers a request.
const NAMELESS: &str = "teammate";

impl Toolbox {
    pub(super) fn send_message(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let rules = self.yard.rules();
        let message = send_message::read(input, rules).map_err(|unsendable| match unsendable {
            Unsendable::Input(error) => NoAnswer::Input(error),
            Unsendable::Answer(answer) => NoAnswer::Answer(answer),
        })?;
        let teams = self.teams("SendMessage")?;
        let seat = teams.only_seat(self.yard.actor())?;
        let post = Post { toolbox: self, teams: &teams, rules };
        match (seat, rules) {
            (Some(seat), Rules::Client(_))
                if seat.is_lead() && matches!(message, SendMessage::ShutdownResponse { .. }) =>
            {
                post.without_a_seat(&message)
            }
            (Some(seat), _) => post.from(&seat, &message),
            (None, Rules::Client(_)) => post.without_a_seat(&message),
            (None, Rules::Strict) => Ok(Answer::error(
                "Not sent: you are not in a team. A person can add you with `taskyard team join TEAM --as YOUR-NAME`.",
            )),
        }
    }

    pub(super) fn read_inbox(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let ids = inbox_read::read(input, self.yard.rules())?;
        let teams = self.teams("InboxRead")?;
        let Some(seat) = teams.only_seat(self.yard.actor())? else { return Ok(inbox_read::alone()) };
        let received = teams.receive(&seat)?;
        let is_had = |delivery: &Delivery| ids.contains(&delivery.id());
        let (had, waiting): (Vec<Delivery>, Vec<Delivery>) = received.deliveries.into_iter().partition(is_had);
        let keys: Vec<MessageKey> = had.into_iter().flat_map(|delivery| delivery.keys).collect();
        if !keys.is_empty() || received.malformed > 0 {
            teams.acknowledge(&seat, &keys)?;
        }
        Ok(inbox_read::shown(&waiting, keys.len()))
    }
}

/// A call of `SendMessage`.
struct Post<'a> {
    toolbox: &'a Toolbox,
    teams: &'a Arc<Teams>,
    rules: Rules,
}

impl Post<'_> {
    /// Returns whether the process of a member has ended. The client does not report that.
    fn is_ghost(&self, seat: &Seat, name: &str) -> Result<bool, NoAnswer> {
        Ok(!self.rules.is_client() && self.teams.ghosts(&seat.team)?.iter().any(|ghost| ghost.name == name))
    }

    /// Sends a message from a seat in a team.
    fn from(&self, seat: &Seat, message: &SendMessage) -> Result<Answer, NoAnswer> {
        match message {
            SendMessage::Message { to, text, summary } => {
                let letter = Letter { text: text.clone(), summary: summary.clone() };
                let sent = self.judged(self.send(seat, to, &letter))?;
                let to_color = seat.team.member(&sent.to).and_then(|member| member.colour());
                let mut answer = send_message::sent(&self.routed(seat, &sent, to_color), self.rules);
                if self.is_ghost(seat, &sent.to)? {
                    answer.text.push_str(" Its process has ended: it gets this only if it comes back under that name.");
                } else if !self.rules.is_client() && self.teams.reads_no_messages_yet(&seat.team, &sent.to)? {
                    answer.text.push_str(" Its program reads no messages until it has a teammate: it gets this then.");
                }
                Ok(answer)
            }
            SendMessage::Broadcast { text, summary } => {
                let letter = Letter { text: text.clone(), summary: summary.clone() };
                let (sent, failed) = self.judged(self.teams.broadcast(seat, &letter))?;
                let reached: Vec<String> = sent.iter().map(|sent| sent.to.clone()).collect();
                let missed: Vec<String> = failed.iter().map(|(name, error)| format!("{name} ({error})")).collect();
                let routed = Routed {
                    sender: &seat.name,
                    sender_color: seat.member().and_then(|member| member.color.as_deref()),
                    to: "team",
                    to_color: None,
                    text,
                    summary: summary.as_deref(),
                    msg_id: None,
                };
                Ok(send_message::broadcast(&routed, &reached, &missed, self.rules))
            }
            SendMessage::ShutdownRequest { to, reason } => {
                let sent = match self.accepts_anybody(seat, to) {
                    Some(name) => self.request_from_anybody(seat, &name, reason.as_deref())?,
                    None => self.judged(self.teams.ask_to_end(seat, to, reason.as_deref()))?,
                };
                let request = sent.request.as_deref().unwrap_or_default();
                Ok(send_message::asked_to_end(&sent.to, request, self.rules))
            }
            SendMessage::ShutdownResponse { request, rejection, addressed } => {
                must_be_the_lead(seat, addressed.as_deref())?;
                let rejection = rejection.as_deref();
                self.judged(self.teams.answer_shutdown(seat, request, rejection))?;
                // A lead of the client removes the member when it has read the answer; under our rules the member
                // leaves by itself.
                if rejection.is_none() && !self.rules.is_client() && !seat.is_lead() {
                    self.judged(self.toolbox.yard.leave_team(self.teams, seat, Departure::Shutdown))?;
                }
                Ok(send_message::answered_shutdown(&seat.name, request, rejection, self.rules))
            }
            SendMessage::PlanApprovalRequest { plan, addressed } => {
                must_be_the_lead(seat, addressed.as_deref())?;
                let sent = self.judged(self.teams.show_plan(seat, plan))?;
                Ok(send_message::plan_shown(&sent.to, sent.request.as_deref().unwrap_or_default()))
            }
            SendMessage::PlanApprovalResponse { to, request, rejection } => {
                let sent = self.judged(self.teams.answer_plan(seat, to, request, rejection.as_deref()))?;
                Ok(send_message::answered_plan(&sent.to, request, rejection.as_deref(), self.rules))
            }
        }
    }

    /// Sends a message as the client does if the caller is not in a team.
    fn without_a_seat(&self, message: &SendMessage) -> Result<Answer, NoAnswer> {
        let now = system::now();
        let send = |sender: &str, to: &str, letter: &Letter| {
            let Ok(nobodys) = TeamName::new(NO_TEAM) else { return Err(NoAnswer::Answer(no_team())) };
            self.judged(self.teams.send_as_the_client(sender, &nobodys, name_of(to), letter))
        };
        match message {
            SendMessage::Message { to, text, summary } => {
                let sent = send(LEAD, to, &Letter { text: text.clone(), summary: summary.clone() })?;
                let routed = Routed {
                    sender: LEAD,
                    sender_color: None,
                    to: &sent.to,
                    to_color: None,
                    text,
                    summary: summary.as_deref(),
                    msg_id: sent.message.msg_id.as_deref(),
                };
                Ok(send_message::sent(&routed, self.rules))
            }
            SendMessage::ShutdownResponse { request, rejection, .. } => {
                let (request, from, timestamp) = (request.clone(), NAMELESS.to_owned(), now.to_string());
                let said = match rejection {
                    None => Protocol::ShutdownApproved {
                        request: request.clone(),
                        from,
                        timestamp,
                        pane: None,
                        backend: None,
                    },
                    Some(reason) => {
                        Protocol::ShutdownRejected { request: request.clone(), from, reason: reason.clone(), timestamp }
                    }
                };
                send(NAMELESS, LEAD, &Letter::new(write_protocol(&said)))?;
                Ok(send_message::answered_shutdown(NAMELESS, &request, rejection.as_deref(), self.rules))
            }
            SendMessage::Broadcast { .. }
            | SendMessage::ShutdownRequest { .. }
            | SendMessage::PlanApprovalRequest { .. }
            | SendMessage::PlanApprovalResponse { .. } => Ok(no_team()),
        }
    }

    fn send(&self, seat: &Seat, to: &str, letter: &Letter) -> Result<Outcome<Sent>, TeamError> {
        match self.accepts_anybody(seat, to) {
            Some(name) => self.teams.send_to_anybody(seat, &name, letter),
            None => self.teams.send(seat, to, letter),
        }
    }

    /// Returns the recipient if it is not in the team and the rules are those of the older client, which writes to any
    /// name.
    fn accepts_anybody(&self, seat: &Seat, to: &str) -> Option<String> {
        let is_old = self.rules == Rules::Client(ClientVersion::V2_1_34);
        (is_old && recipient(&seat.team, to).is_err()).then(|| name_of(to).to_owned())
    }

    fn request_from_anybody(&self, seat: &Seat, to: &str, reason: Option<&str>) -> Result<Sent, NoAnswer> {
        let now = system::now();
        let request = format!("shutdown-{}@{to}", now.0);
        let said = Protocol::ShutdownRequest {
            request: request.clone(),
            from: seat.name.clone(),
            reason: reason.map(str::to_owned),
            timestamp: now.to_string(),
        };
        let sent = self.judged(self.teams.send_to_anybody(seat, to, &Letter::new(write_protocol(&said))))?;
        Ok(Sent { request: Some(request), ..sent })
    }

    fn routed<'a>(&self, seat: &'a Seat, sent: &'a Sent, to_color: Option<&'a str>) -> Routed<'a> {
        Routed {
            sender: &seat.name,
            sender_color: seat.member().and_then(|member| member.color.as_deref()),
            to: &sent.to,
            to_color,
            text: &sent.message.text,
            summary: sent.message.summary.as_deref(),
            msg_id: sent.message.msg_id.as_deref(),
        }
    }

    /// Returns what was done, or the answer for a refusal.
    fn judged<T, E: Into<NoAnswer>>(&self, outcome: Result<Outcome<T>, E>) -> Result<T, NoAnswer> {
        outcome.map_err(Into::into)?.done().map_err(|refusal| {
            NoAnswer::Answer(match refusal {
                Refusal::Team(TeamRefusal::Unreachable(to)) => send_message::unreachable(&to, self.rules),
                other => Answer::error(format!("Not sent: {other}.")),
            })
        })
    }
}

/// Refuses a message for the lead that is addressed to another member.
fn must_be_the_lead(seat: &Seat, addressed: Option<&str>) -> Result<(), NoAnswer> {
    if addressed.is_none_or(|to| recipient(&seat.team, to).is_ok_and(Member::is_lead)) {
        return Ok(());
    }
    let lead = seat.team.lead();
    let text = format!("Not sent: only the lead of the team can get this. Set `to` to \"{lead}\".");
    Err(NoAnswer::Answer(Answer::error(text)))
}

fn no_team() -> Answer {
    Answer::error("Not in a team context. Create a team with TeamCreate first.")
}
