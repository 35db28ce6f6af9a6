//! Teams, their members, the messages they exchange and the todo items an agent keeps.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::list::sanitize;
use crate::{BadListName, ListId, Status, Timestamp};

/// The name of every team's lead.
pub const LEAD: &str = "team-lead";

/// Member colours, in the order in which they are assigned; the lead has the first.
pub const COLOURS: [&str; 8] = ["red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"];

/// The name of a team.
///
/// Any text that can name a list can name a team. Claude Code derives two directories from it: a lower-case one for
/// the team's own file and the lead's tasks, and one that keeps the case for inboxes and the teammates' tasks. For
/// names of `[a-z0-9-]` both are the same directory.
#[derive(Clone, Debug)]
pub struct TeamName {
    name: String,
    directory: String,
    inbox_directory: String,
}

impl TeamName {
    /// Creates a team name. Fails if the text cannot name a list.
    pub fn new(name: impl Into<String>) -> Result<Self, BadListName> {
        let name = name.into();
        // A team has a list of the same name, so the name must be valid for a list, too.
        let inbox_directory = ListId::new(name.as_str())?.directory().to_owned();
        let directory = inbox_directory.to_ascii_lowercase().replace('_', "-");
        Ok(Self { name, directory, inbox_directory })
    }

    /// Returns the name as it was given.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns the name of the directory that holds the team's file.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Returns the name of the directory that holds the team's inboxes, as Claude Code derives it.
    pub fn inbox_directory(&self) -> &str {
        &self.inbox_directory
    }

    /// Returns the agent id of a member: `MEMBER@TEAM`.
    pub fn agent_id(&self, member: &str) -> String {
        format!("{member}@{}", self.name)
    }
}

/// Two names are equal if they map to the same directory.
impl PartialEq for TeamName {
    fn eq(&self, other: &Self) -> bool {
        self.directory == other.directory
    }
}

impl Eq for TeamName {}

impl FromStr for TeamName {
    type Err = BadListName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

impl fmt::Display for TeamName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// Returns the file name of an agent's inbox, without the extension.
pub fn inbox_name(agent: &str) -> String {
    sanitize(agent)
}

/// A team, as described by its team file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// Its name.
    pub name: TeamName,
    /// What the team is for.
    pub description: Option<String>,
    /// When the team was created.
    pub created_at: Timestamp,
    /// The Claude Code session that leads the team.
    pub lead_session: Option<String>,
    /// The process that leads the team, if the file names it.
    pub lead_process: Option<LeadProcess>,
    /// Its members, the lead first.
    pub members: Vec<Member>,
}

impl Team {
    /// Returns the member of this name, or `None` if there is none.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Returns the name of the lead, or [`LEAD`] if the team has none.
    pub fn lead(&self) -> &str {
        self.members.iter().find(|member| member.is_lead()).map_or(LEAD, |member| member.name.as_str())
    }

    /// Returns every member except `name`.
    pub fn others<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Member> {
        self.members.iter().filter(move |member| member.name != name)
    }

    /// Returns the colour for a member that joins as `name`: the colour it already has, else the first unused one,
    /// else the next in rotation.
    pub fn colour_for(&self, name: &str) -> String {
        self.member(name).and_then(|member| member.color.clone()).unwrap_or_else(|| self.next_colour().to_owned())
    }

    fn next_colour(&self) -> &'static str {
        let is_free = |colour: &&&str| !self.members.iter().any(|member| member.colour() == Some(**colour));
        COLOURS.iter().find(is_free).unwrap_or(&COLOURS[self.members.len() % COLOURS.len()])
    }
}

/// The process that leads a team, as Claude Code records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadProcess {
    /// Its process id.
    pub pid: u32,
    /// The machine and PID namespace in which `pid` is valid.
    pub pid_space: Option<String>,
    /// When it started, in the operating system's own unit.
    pub started: Option<u64>,
}

/// A member of a team.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its name in the team.
    pub name: String,
    /// The agent id: `NAME@TEAM`.
    pub agent_id: String,
    /// What kind of agent it is.
    pub agent_type: Option<String>,
    /// The model it runs on.
    pub model: Option<String>,
    /// The prompt it was started with.
    pub prompt: Option<String>,
    /// Its colour, if the file names one.
    pub color: Option<String>,
    /// Whether the lead must approve its plan before it starts work.
    pub plan_mode_required: bool,
    /// When it joined.
    pub joined_at: Timestamp,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The backend it runs in, in Claude Code's terms.
    pub backend_type: Option<String>,
    /// The pane it runs in, in Claude Code's terms.
    pub pane: Option<String>,
}

impl Member {
    /// Returns whether it leads the team.
    pub fn is_lead(&self) -> bool {
        self.name == LEAD
    }

    /// Returns the colour it is shown in. Team files name no colour for the lead, which gets the first of
    /// [`COLOURS`].
    pub fn colour(&self) -> Option<&str> {
        self.color.as_deref().or_else(|| self.is_lead().then_some(COLOURS[0]))
    }
}

/// A message as stored in an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The name of the member that sent it.
    pub from: String,
    /// The body: text for a model, or a [`Protocol`] message encoded as JSON.
    pub text: String,
    /// A short summary of the text.
    pub summary: Option<String>,
    /// When it was sent, exactly as written in the file.
    pub timestamp: String,
    /// The colour of its sender.
    pub color: Option<String>,
    /// A unique id; older clients write none.
    pub msg_id: Option<String>,
    /// Whether the recipient has read it.
    pub read: bool,
}

/// Identifies a message: its id, or its sender, time and text if it has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MessageKey {
    /// The message's id.
    Id(String),
    /// Sender, timestamp and text.
    Words(String, String, String),
}

impl Message {
    /// Returns the key that identifies this message.
    pub fn key(&self) -> MessageKey {
        match &self.msg_id {
            Some(id) if !id.is_empty() => MessageKey::Id(id.clone()),
            _ => MessageKey::Words(self.from.clone(), self.timestamp.clone(), self.text.clone()),
        }
    }

    /// Returns the summary, unless it is empty or only repeats the beginning of the text.
    pub(crate) fn telling_summary(&self) -> Option<&str> {
        let summary = self.summary.as_deref().filter(|summary| !summary.is_empty())?;
        (!self.text.trim_start().starts_with(summary.trim_end_matches('…'))).then_some(summary)
    }

    /// Returns when it was sent, or `None` if the timestamp cannot be parsed.
    pub(crate) fn sent(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.timestamp)
    }
}

impl MessageKey {
    /// Returns the key as a single string. The encoding is stable.
    pub fn as_text(&self) -> String {
        match self {
            Self::Id(id) => id.clone(),
            Self::Words(from, timestamp, text) => format!("{from}\u{0}{timestamp}\u{0}{text}"),
        }
    }
}

/// A protocol message that agent programs send each other, as JSON in the text of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A task was assigned to a member.
    TaskAssignment {
        /// The id of the task, without `#`.
        task: String,
        /// The title of the task.
        subject: String,
        /// The description of the task.
        description: String,
        /// The agent that assigned it.
        assigned_by: String,
        /// When it was assigned, as RFC 3339.
        timestamp: String,
    },
    /// An agent is idle.
    IdleNotification(Idle),
    /// An agent is asked to shut down.
    ShutdownRequest {
        /// The id of the request, which the reply repeats.
        request: String,
        /// The name of the member that asks.
        from: String,
        /// Why the member should shut down, if given.
        reason: Option<String>,
        /// When it was asked, as RFC 3339.
        timestamp: String,
    },
    /// An agent agrees to shut down.
    ShutdownApproved {
        /// The id of the request this replies to.
        request: String,
        /// The name of the member that shuts down.
        from: String,
        /// When it agreed, as RFC 3339.
        timestamp: String,
        /// The pane it runs in, in Claude Code's terms.
        pane: Option<String>,
        /// The backend it runs in, in Claude Code's terms.
        backend: Option<String>,
    },
    /// An agent refuses to shut down.
    ShutdownRejected {
        /// The id of the request this replies to.
        request: String,
        /// The name of the member that refuses.
        from: String,
        /// Why it refuses.
        reason: String,
        /// When it refused, as RFC 3339.
        timestamp: String,
    },
    /// An agent submits its plan for approval.
    PlanApprovalRequest {
        /// The id of the request, which the reply repeats.
        request: String,
        /// The name of the member whose plan it is.
        from: String,
        /// The full plan, as text for a model.
        plan: String,
        /// When it was submitted, as RFC 3339.
        timestamp: String,
    },
    /// The lead's answer to a plan.
    PlanApprovalResponse {
        /// The id of the request this replies to.
        request: String,
        /// Whether the plan is approved.
        approved: bool,
        /// What the member should change; `None` if the plan is approved.
        feedback: Option<String>,
        /// When the lead answered, as RFC 3339.
        timestamp: String,
        /// The permission mode the agent continues in, in Claude Code's terms.
        permission_mode: Option<String>,
    },
    /// A message of an unknown type, preserved as it is.
    Unknown {
        /// The value of `type`.
        kind: String,
        /// The whole object, including `type`.
        value: Value,
    },
}

/// An idle notification, with the outcome of the agent's last work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// The name of the member.
    pub from: String,
    /// When it became idle, as RFC 3339.
    pub timestamp: String,
    /// The reason, such as `available`.
    pub reason: Option<String>,
    /// A short summary of what it did.
    pub summary: Option<String>,
    /// The task it worked on.
    pub task: Option<String>,
    /// The status of that work.
    pub status: Option<String>,
    /// What went wrong.
    pub failure: Option<String>,
    /// The result of that work.
    pub result: Option<String>,
}

impl Idle {
    /// Returns whether it carries nothing beyond the fact that the agent is idle.
    pub(crate) fn is_bare(&self) -> bool {
        let said = [&self.summary, &self.task, &self.status, &self.failure, &self.result];
        said.iter().all(|word| word.as_ref().is_none_or(|word| word.is_empty()))
    }
}

/// One item of an agent's todo list. Items have no id: the list is always replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// What to do.
    pub content: String,
    /// The status of the item.
    pub status: Status,
    /// The text shown while the item is in progress.
    pub active_form: String,
}

impl Todo {
    /// Returns the name of the file in which Claude Code keeps the todo list of one agent of a session. Unsafe
    /// characters in either name are replaced.
    pub fn file_name(session: &str, agent: &str) -> String {
        format!("{}-agent-{}.json", sanitize(session), sanitize(agent))
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, Team, TeamName};
    use crate::Timestamp;

    fn team(colours: &[&str]) -> Team {
        let lead = Member { name: "team-lead".into(), ..Member::default() };
        let member =
            |colour: &&str| Member { name: (*colour).into(), color: Some((*colour).into()), ..Member::default() };
        Team {
            name: TeamName::new("alpha").unwrap(),
            description: None,
            created_at: Timestamp(0),
            lead_session: None,
            lead_process: None,
            members: std::iter::once(lead).chain(colours.iter().map(member)).collect(),
        }
    }

    #[test]
    fn the_two_directories_are_made_as_the_client_makes_them() {
        for (name, directory, inboxes) in
            [("My Team!", "my-team-", "My-Team-"), ("my_Team", "my-team", "my_Team"), ("alpha", "alpha", "alpha")]
        {
            let team = TeamName::new(name).unwrap();
            assert_eq!((team.directory(), team.inbox_directory()), (directory, inboxes), "{name}");
        }
    }

    #[test]
    fn names_that_share_a_directory_are_one_team() {
        assert_eq!(TeamName::new("my team").unwrap(), TeamName::new("My_Team").unwrap());
        assert!(TeamName::new("").is_err());
    }

    #[test]
    fn colours_are_given_in_order_and_those_of_the_departed_again() {
        assert_eq!(team(&[]).colour_for("ana"), "blue");
        assert_eq!(team(&["blue", "green"]).colour_for("ana"), "yellow");
        assert_eq!(team(&["green"]).colour_for("ana"), "blue");
        let all = team(&["blue", "green", "yellow", "purple", "orange", "pink", "cyan"]);
        assert_eq!(all.colour_for("ana"), "red");
        assert_eq!(all.colour_for("pink"), "pink");
    }
}

#[cfg(test)]
mod message_tests {
    use super::{Message, MessageKey};

    #[test]
    fn a_message_is_known_by_its_id_or_by_sender_time_and_text() {
        let message = |msg_id: Option<&str>| Message {
            from: "ana".into(),
            text: "hello".into(),
            summary: None,
            timestamp: "2026-11-15T00:00:00.000Z".into(),
            color: None,
            msg_id: msg_id.map(Into::into),
            read: false,
        };
        assert_eq!(message(Some("x")).key(), MessageKey::Id("x".into()));
        assert_eq!(message(Some("")).key(), message(None).key());
        assert_ne!(message(None).key(), Message { from: "ben".into(), ..message(None) }.key());
        assert_ne!(message(Some("x")).key().as_text(), message(None).key().as_text());
    }

    #[test]
    fn a_summary_that_is_how_the_text_begins_tells_nothing() {
        let message = |summary: Option<&str>| Message {
            from: "ana".into(),
            text: "\nparses 12 of 12 files\nall of them".into(),
            summary: summary.map(Into::into),
            timestamp: String::new(),
            color: None,
            msg_id: None,
            read: false,
        };
        for (summary, telling) in
            [(None, None), (Some(""), None), (Some("parses 12 of…"), None), (Some("done"), Some("done"))]
        {
            assert_eq!(message(summary).telling_summary(), telling);
        }
    }
}

#[cfg(test)]
mod todo_tests {
    use super::Todo;

    #[test]
    fn todo_file_is_named_for_session_and_agent() {
        assert_eq!(Todo::file_name("s-1", "s-1"), "s-1-agent-s-1.json");
        assert_eq!(Todo::file_name("../x", "a/b"), "---x-agent-a-b.json");
    }
}
