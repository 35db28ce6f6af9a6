//! A team of agents: its name, its members, and the colours they are shown in.

use std::fmt;
use std::str::FromStr;

use crate::list::sanitize;
use crate::{BadListName, ListId, Timestamp};

/// The name every team's lead has.
pub const LEAD: &str = "team-lead";

/// The colours in the order in which members get them; the lead has the first.
pub const COLOURS: [&str; 8] = ["red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"];

/// The name of a team.
///
/// Any text names a team. The client makes two directories of it: one, lower-cased, for the team's own file and the lead's
/// tasks, and one that keeps its case for inboxes and the teammates' tasks. They are one directory for names of `[a-z0-9-]`.
#[derive(Clone, Debug)]
pub struct TeamName {
    name: String,
    directory: String,
    inbox_directory: String,
}

impl TeamName {
    /// Takes a name for a team.
    pub fn new(name: impl Into<String>) -> Result<Self, BadListName> {
        let name = name.into();
        // A team has a list of its name, so what cannot name a list cannot name a team.
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

    /// Returns the name of the directory that holds its inboxes, as the client makes it.
    pub fn inbox_directory(&self) -> &str {
        &self.inbox_directory
    }

    /// Returns the id of a member.
    pub fn agent_id(&self, member: &str) -> String {
        format!("{member}@{}", self.name)
    }
}

/// Two names with one directory are one team.
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

/// Returns the file name of an agent's inbox, without its ending.
pub fn inbox_name(agent: &str) -> String {
    sanitize(agent)
}

/// A team as its file tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// Its name.
    pub name: TeamName,
    /// What it is for.
    pub description: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// The session of the client that leads it.
    pub lead_session: Option<String>,
    /// The process that leads it, where the client says.
    pub lead_process: Option<LeadProcess>,
    /// Its members, the lead first.
    pub members: Vec<Member>,
}

impl Team {
    /// Returns a member by name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Returns the name of the lead.
    pub fn lead(&self) -> &str {
        self.members.iter().find(|member| member.is_lead()).map_or(LEAD, |member| member.name.as_str())
    }

    /// Returns every member but one.
    pub fn others<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Member> {
        self.members.iter().filter(move |member| member.name != name)
    }

    /// Returns the colour for a member that joins under a name: the one it had, else the first that no member has, else the next in turn.
    pub fn colour_for(&self, name: &str) -> String {
        self.member(name).and_then(|member| member.color.clone()).unwrap_or_else(|| self.next_colour().to_owned())
    }

    fn next_colour(&self) -> &'static str {
        let is_free = |colour: &&&str| !self.members.iter().any(|member| member.colour() == Some(**colour));
        COLOURS.iter().find(is_free).unwrap_or(&COLOURS[self.members.len() % COLOURS.len()])
    }
}

/// The process that leads a team, as the client writes it down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadProcess {
    /// Its process id.
    pub pid: u32,
    /// The machine and the namespace in which that id means something.
    pub pid_space: Option<String>,
    /// When it started, in the system's own unit.
    pub started: Option<u64>,
}

/// A member of a team.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its name in the team.
    pub name: String,
    /// Its name with the team's.
    pub agent_id: String,
    /// What kind of agent it is.
    pub agent_type: Option<String>,
    /// The model it runs on.
    pub model: Option<String>,
    /// What it was told when it was started.
    pub prompt: Option<String>,
    /// Its colour, where the file names one.
    pub color: Option<String>,
    /// Whether it may start nothing before the lead has approved its plan.
    pub plan_mode_required: bool,
    /// When it joined.
    pub joined_at: Timestamp,
    /// Where it works.
    pub cwd: Option<String>,
    /// What it runs in, in the client's words.
    pub backend_type: Option<String>,
    /// Where it runs, in the client's words.
    pub pane: Option<String>,
}

impl Member {
    /// Tells whether it leads the team.
    pub fn is_lead(&self) -> bool {
        self.name == LEAD
    }

    /// Returns the colour it is shown in. The file names none for the lead.
    pub fn colour(&self) -> Option<&str> {
        self.color.as_deref().or_else(|| self.is_lead().then_some(COLOURS[0]))
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
