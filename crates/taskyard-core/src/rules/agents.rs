//! Agent names: when two names mean the same agent, which tasks an agent holds, and what happens to them when it
//! leaves.

use crate::dialect::inbox::read_protocol;
use crate::{AgentName, Message, ProcessMark, Protocol, Status, Task};

/// Returns whether two names mean the same agent: `bob` is `bob@alpha`, but `bob@alpha` is not `bob@beta`.
///
/// The client writes a teammate's name with its team in some places and without it in others, so a name without a team
/// matches that agent in any team. An empty name matches nothing, not even itself. A name with a team but nothing
/// before the `@` matches only an identical string.
pub fn is_same_agent(one: &str, two: &str) -> bool {
    let ((name, team), (other_name, other_team)) = (parts(one), parts(two));
    if name.is_empty() {
        return !one.is_empty() && one == two;
    }
    name == other_name && (team.is_empty() || other_team.is_empty() || team == other_team)
}

/// Returns an agent's name without its team.
pub fn name_of(agent: &str) -> &str {
    parts(agent).0
}

/// Returns the name of a client subagent, which calls over the connection of the session that started it. The name
/// combines the id that the client assigned with the name of the session. Returns `None` if that is not a valid agent
/// name.
pub fn subagent_name(id: &str, session: &AgentName) -> Option<AgentName> {
    AgentName::new(format!("{id}@{session}")).ok()
}

/// Returns whether a name is that of the client's subagent `id`, in any session. Team members' names contain an `@` as
/// well.
pub fn is_subagent(name: &str, id: &str) -> bool {
    let (own, session) = parts(name);
    !id.is_empty() && own == id && session.starts_with(CLIENT)
}

/// Prefix of client names, including those that older releases assigned (`claude-code-0198ffff`).
const CLIENT: &str = "claude-";

/// Returns the name of a client, such as `claude-7f3a`.
pub fn client_name(digits: &str) -> AgentName {
    AgentName::new(format!("{CLIENT}{digits}")).unwrap_or_else(|_| AgentName::elsewhere())
}

/// Returns whether a name is one that clients get by default.
pub fn is_client_name(name: &str) -> bool {
    name.starts_with(CLIENT) && !name.contains('@')
}

/// Returns the names that older releases gave the agents of a client: one derived from its session, one from its
/// process id.
pub fn earlier_names(client: &ProcessMark, session: Option<&str>) -> Vec<AgentName> {
    let of_session = session.and_then(|session| session.get(..8)).map(|session| format!("{CLIENT}code-{session}"));
    let names = of_session.into_iter().chain([format!("{CLIENT}code-{}", client.pid)]);
    names.filter_map(|name| AgentName::new(name).ok()).collect()
}

/// Returns the start of the session id contained in an agent name that an older release assigned, or `None` for other
/// names.
pub fn session_beginning(agent: &str) -> Option<&str> {
    let beginning = client_of(agent).strip_prefix(CLIENT)?.strip_prefix("code-")?;
    let is_hexadecimal = |byte: u8| byte.is_ascii_hexdigit();
    (beginning.len() >= 8 && beginning.bytes().all(is_hexadecimal)).then_some(beginning)
}

/// Returns the client's id of a subagent, given its agent name. Returns `None` if the name is not a subagent's.
pub fn subagent_id(agent: &str) -> Option<&str> {
    let (id, session) = parts(agent);
    // Names are untrusted input: the id must not lead to another file.
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (is_id && session.starts_with(CLIENT)).then_some(id)
}

/// Returns the client that an agent belongs to: `claude-7f3a` for `claude-7f3a` itself and for its subagents.
pub fn client_of(agent: &str) -> &str {
    match parts(agent) {
        (name, "") => name,
        (_, client) => client,
    }
}

fn parts(name: &str) -> (&str, &str) {
    name.split_once('@').unwrap_or((name, ""))
}

/// Why an agent has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Departure {
    /// It shut down normally.
    #[default]
    Shutdown,
    /// It was terminated, or stopped showing signs of life.
    Terminated,
}

/// Returns the open tasks that a departing agent owns, each as it will be: pending and without an owner.
pub fn left_behind<'a>(tasks: impl IntoIterator<Item = &'a Task>, agent: &AgentName) -> Vec<Task> {
    let is_left =
        |task: &&Task| task.status.is_open() && task.owner().is_some_and(|owner| is_same_agent(owner, agent.as_str()));
    tasks.into_iter().filter(is_left).map(given_back).collect()
}

/// Returns the task as pending and without an owner.
pub fn given_back(task: &Task) -> Task {
    Task { owner: None, status: Status::Pending, ..task.clone() }
}

/// Returns the departure notice for the remaining members.
pub fn departure_notice<'a>(
    agent: &AgentName,
    departure: Departure,
    tasks: impl ExactSizeIterator<Item = &'a Task>,
) -> String {
    let what = match departure {
        Departure::Shutdown => "has shut down",
        Departure::Terminated => "was terminated",
    };
    let mut notice = format!("{} {what}.", name_of(agent.as_str()));
    let count = tasks.len();
    if count > 0 {
        let names: Vec<String> = tasks.map(|task| format!("#{} \"{}\"", task.shown_id(), task.subject)).collect();
        notice.push_str(&format!(
            " {count} task(s) were unassigned: {}. Use TaskList to check availability and TaskUpdate with owner to \
             reassign them to idle teammates.",
            names.join(", ")
        ));
    }
    notice
}

/// Returns the tasks in progress that are owned by an agent known under any of these names.
pub fn unfinished_of<'a>(names: &[&str], tasks: &'a [Task]) -> Vec<&'a Task> {
    let in_hand = |task: &&Task| task.status == Status::InProgress && !task.is_internal();
    let is_theirs =
        |task: &&Task| task.owner().is_some_and(|owner| names.iter().any(|name| is_same_agent(name, owner)));
    tasks.iter().filter(in_hand).filter(is_theirs).collect()
}

/// How soon a message is handled; the smallest value comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A shutdown request.
    Shutdown,
    /// A message from the lead.
    Lead,
    /// A message from another member.
    Others,
}

/// Returns how soon a message is handled.
pub fn urgency(message: &Message, lead: &str) -> Urgency {
    match read_protocol(&message.text) {
        Some(Protocol::ShutdownRequest { .. }) => Urgency::Shutdown,
        _ if message.from == lead => Urgency::Lead,
        _ => Urgency::Others,
    }
}

/// Returns the message to handle first: a shutdown request, then the lead's oldest message, then the oldest of the
/// others. `messages` must be in order of age. All messages come before tasks.
pub fn first<'a>(messages: impl IntoIterator<Item = &'a Message>, lead: &str) -> Option<&'a Message> {
    // `min_by_key` returns the first of several minimal elements.
    messages.into_iter().min_by_key(|message| urgency(message, lead))
}

#[cfg(test)]
mod tests {
    use super::{is_same_agent, is_subagent, session_beginning, subagent_id, subagent_name};
    use crate::AgentName;

    #[test]
    fn a_subagent_is_known_by_its_id_in_whatever_session() {
        let session = AgentName::new("claude-code-0198ffff").unwrap();
        let name = subagent_name("acd2cc6", &session).unwrap();
        assert_eq!(name.as_str(), "acd2cc6@claude-code-0198ffff");
        assert!(is_subagent(name.as_str(), "acd2cc6"));
        for (name, id) in
            [("bob@alpha", "bob"), ("acd2cc6", "acd2cc6"), (name.as_str(), "acd2cc"), ("@claude-code-1", "")]
        {
            assert!(!is_subagent(name, id), "{name} {id}");
        }
    }

    #[test]
    fn a_name_may_tell_its_session() {
        assert_eq!(session_beginning("claude-code-0198ffff"), Some("0198ffff"));
        assert_eq!(session_beginning("acd2cc6@claude-code-0198ffff"), Some("0198ffff"));
        // If no session was known, the name contains a process id.
        assert_eq!(["claude-code-4711", "ana", "bob@alpha"].map(session_beginning), [None; 3]);
        assert_eq!(subagent_id("acd2cc6@claude-code-0198ffff"), Some("acd2cc6"));
        assert_eq!(["bob@alpha", "claude-code-0198ffff", "../x@claude-code-0198ffff"].map(subagent_id), [None; 3]);
    }

    #[test]
    fn a_name_without_a_team_is_that_agent_of_any_team() {
        for (one, two) in [("bob", "bob"), ("bob", "bob@alpha"), ("bob@alpha", "bob@alpha"), ("bob@", "bob@alpha")] {
            assert!(is_same_agent(one, two), "{one} {two}");
            assert!(is_same_agent(two, one), "{two} {one}");
        }
    }

    #[test]
    fn the_empty_name_is_nobody() {
        for (one, two) in [("", ""), ("", "@alpha"), ("", "@"), ("", "bob"), ("@alpha", "@beta"), ("@alpha", "@")] {
            assert!(!is_same_agent(one, two), "{one} {two}");
            assert!(!is_same_agent(two, one), "{two} {one}");
        }
        assert!(is_same_agent("@alpha", "@alpha"), "an agent called so has what it has claimed");
    }

    #[test]
    fn other_names_and_other_teams_are_other_agents() {
        for (one, two) in [
            ("bob", "bo"),
            ("bob", "Bob"),
            ("bob@alpha", "bob@beta"),
            ("bob@alpha", "alpha"),
            ("bob", ""),
            ("bob", "bobby@alpha"),
        ] {
            assert!(!is_same_agent(one, two), "{one} {two}");
            assert!(!is_same_agent(two, one), "{two} {one}");
        }
    }
}

#[cfg(test)]
mod departing_tests {
    use super::{Departure, departure_notice, left_behind};
    use crate::{AgentName, Status, Task, TaskId};

    fn task(number: u64, owner: &str, status: Status) -> Task {
        Task { owner: Some(owner.into()), status, ..Task::new(TaskId::number(number), format!("task {number}")) }
    }

    #[test]
    fn the_open_tasks_of_both_spellings_are_left_behind() {
        let tasks = [
            task(1, "bob", Status::InProgress),
            task(2, "bob@team", Status::Pending),
            task(3, "bob", Status::Completed),
            task(4, "bobby", Status::InProgress),
        ];
        let bob = AgentName::new("bob").unwrap();
        let left = left_behind(&tasks, &bob);
        assert_eq!(left.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        assert!(left.iter().all(|task| task.owner.is_none() && task.status == Status::Pending));
    }

    #[test]
    fn the_notice_is_worded_as_the_client_words_it() {
        let tasks = [task(1, "bob", Status::InProgress), task(2, "bob", Status::Pending)];
        let bob = AgentName::new("bob@team").unwrap();
        assert_eq!(
            departure_notice(&bob, Departure::Terminated, tasks.iter()),
            "bob was terminated. 2 task(s) were unassigned: #1 \"task 1\", #2 \"task 2\". Use TaskList to check availability \
             and TaskUpdate with owner to reassign them to idle teammates."
        );
        assert_eq!(departure_notice(&bob, Departure::Shutdown, [].iter()), "bob has shut down.");
    }
}

#[cfg(test)]
mod unfinished_tests {
    use super::unfinished_of;
    use crate::{Status, Task, TaskId};

    #[test]
    fn only_work_in_progress_of_this_agent_is_unfinished() {
        let task = |number, owner: &str, status| Task {
            owner: Some(owner.to_owned()),
            status,
            ..Task::new(TaskId::number(number), "x")
        };
        let tasks = [
            task(1, "bob@alpha", Status::InProgress),
            task(2, "bob", Status::Pending),
            task(3, "bob", Status::Completed),
            task(4, "ana", Status::InProgress),
        ];
        let found: Vec<&str> = unfinished_of(&["x", "bob"], &tasks).iter().map(|task| task.id.as_str()).collect();
        assert_eq!(found, ["1"]);
    }
}

#[cfg(test)]
mod attention_tests {
    use super::first;
    use crate::Message;

    fn message(from: &str, text: &str) -> Message {
        Message {
            from: from.into(),
            text: text.into(),
            summary: None,
            timestamp: String::new(),
            color: None,
            msg_id: None,
            read: false,
        }
    }

    #[test]
    fn shutdown_requests_precede_lead_and_other_messages() {
        let end = r#"{"type":"shutdown_request","requestId":"r","from":"team-lead","timestamp":"t"}"#;
        let mut messages = vec![
            message("ana", "1"),
            message("team-lead", "2"),
            message("ana", "3"),
            message("team-lead", "4"),
            message("team-lead", end),
        ];
        let mut order = Vec::new();
        while let Some(next) = first(&messages, "team-lead").cloned() {
            let place = messages.iter().position(|message| *message == next).unwrap();
            order.push(messages.remove(place).text);
        }
        assert_eq!(order, [end, "2", "4", "1", "3"]);
    }
}
