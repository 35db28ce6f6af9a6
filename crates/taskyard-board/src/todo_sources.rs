//! The todo lists of agents that may be at work on a list.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use taskyard::core::view::TodosShown;
use taskyard::operations::recent_sessions;
use taskyard::todos::{TodoOwner, Todos};

/// So many sessions of the directory are looked at, the last used ones.
const SESSIONS: usize = 4;

/// How often sessions are looked for.
const SESSIONS_APART: Duration = Duration::from_secs(30);

/// Where todo lists are found.
#[derive(Debug)]
pub struct TodoSources {
    todos: Arc<dyn Todos>,
    /// The session that we are in.
    session: Option<String>,
    /// The client's directory, and the one in which we are: the client remembers which sessions were in it.
    places: Option<(PathBuf, PathBuf)>,
    found: Mutex<Option<(Instant, Vec<String>)>>,
}

impl TodoSources {
    /// Returns the todo lists of a store, beside those of a session, and of the client's sessions in a directory.
    pub fn new(todos: Arc<dyn Todos>, session: Option<String>, places: Option<(PathBuf, PathBuf)>) -> Self {
        Self { todos, session, places, found: Mutex::default() }
    }

    /// Returns the todo lists with something in progress: of the sessions of this directory, of the one that the list is named for, and of
    /// the agents that work on the list.
    pub(super) fn in_progress(&self, list: &str, agents: &[String]) -> Vec<TodosShown> {
        let mut sessions = self.sessions();
        sessions.extend(self.session.iter().cloned());
        sessions.push(list.to_owned());
        sessions.sort();
        sessions.dedup();
        let mut owners: Vec<(String, TodoOwner)> = Vec::new();
        for session in &sessions {
            let short: String = session.chars().take(8).collect();
            owners.push((short, TodoOwner { session: session.clone(), agent: session.clone() }));
            let of_agent =
                |agent: &String| (agent.clone(), TodoOwner { session: session.clone(), agent: agent.clone() });
            owners.extend(agents.iter().map(of_agent));
        }
        // An agent outside of a session of the client is a session of its own.
        let alone = |agent: &String| (agent.clone(), TodoOwner { session: agent.clone(), agent: agent.clone() });
        owners.extend(agents.iter().map(alone));
        let shown = |(agent, owner): (String, TodoOwner)| {
            let todos = self.todos.read(&owner).ok().flatten()?;
            Some(TodosShown { agent, todos }).filter(|shown| shown.doing().is_some())
        };
        owners.into_iter().filter_map(shown).collect()
    }

    fn sessions(&self) -> Vec<String> {
        let Some((client, directory)) = &self.places else { return Vec::new() };
        let Ok(mut found) = self.found.lock() else { return Vec::new() };
        if let Some((at, sessions)) = &*found
            && at.elapsed() < SESSIONS_APART
        {
            return sessions.clone();
        }
        let sessions = recent_sessions(client, directory, SESSIONS).unwrap_or_default();
        *found = Some((Instant::now(), sessions.clone()));
        sessions
    }
}
