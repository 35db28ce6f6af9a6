//! Calls that come twice: the second gets the answer of the first, and nothing is done again.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use taskyard::core::AgentName;
use taskyard::core::tools::Answer;
use tokio::sync::watch;

/// So many calls of one agent are remembered.
const CALLS: usize = 1_000;
/// So many agents are remembered; those that were not heard of for longest are forgotten first.
const AGENTS: usize = 100;

/// What tells one call of an agent from its others: the id it carries, the tool, and a digest of its input. A client that
/// uses an id again for something else has made another call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    id: String,
    tool: String,
    input: u64,
}

/// The calls whose answers are remembered.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    agents: Mutex<Agents>,
}

#[derive(Debug, Default)]
struct Agents {
    known: HashMap<AgentName, Remembered>,
    /// Counts calls, to tell who was heard of last.
    clock: u64,
}

#[derive(Debug, Default)]
struct Remembered {
    answers: HashMap<CallKey, watch::Receiver<Option<Answer>>>,
    order: VecDeque<CallKey>,
    /// When the agent last called, on a clock that counts calls.
    last_call: u64,
}

/// Whether a call is to be made, or was made before.
#[derive(Debug)]
pub(crate) enum FirstOrAgain {
    /// It is new: the thread that makes it tells the recorder what came of it.
    First(Recorder),
    /// It was made before, or is being made.
    Again(Repetition),
}

/// Takes the answer of a call for clients that repeat it. Dropped without one, the call counts as not made.
#[derive(Debug)]
pub(crate) struct Recorder(watch::Sender<Option<Answer>>);

/// A call that was made before.
#[derive(Debug)]
pub(crate) struct Repetition(watch::Receiver<Option<Answer>>);

impl CallKey {
    /// Returns the key of a call.
    pub(crate) fn new(id: String, tool: &str, input: &Value) -> Self {
        let mut hasher = DefaultHasher::new();
        input.to_string().hash(&mut hasher);
        Self { id, tool: tool.to_owned(), input: hasher.finish() }
    }
}

impl Repeats {
    /// Says whether a call of an agent is to be made.
    pub(crate) fn begin(&self, agent: &AgentName, key: &CallKey) -> FirstOrAgain {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.clock += 1;
        let clock = agents.clock;
        if !agents.known.contains_key(agent) {
            agents.make_room();
        }
        let remembered = agents.known.entry(agent.clone()).or_default();
        remembered.last_call = clock;
        remembered.begin(key)
    }

    /// Forgets the calls of an agent that will not call again.
    pub(crate) fn forget(&self, agent: &AgentName) {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner).known.remove(agent);
    }
}

impl Agents {
    fn make_room(&mut self) {
        while self.known.len() >= AGENTS {
            let longest = self.known.iter().min_by_key(|(_, remembered)| remembered.last_call);
            let Some(agent) = longest.map(|(agent, _)| agent.clone()) else { return };
            self.known.remove(&agent);
        }
    }
}

impl Remembered {
    fn begin(&mut self, key: &CallKey) -> FirstOrAgain {
        if let Some(answer) = self.answers.get(key) {
            // The first caller may have left without an answer.
            if answer.borrow().is_some() || answer.has_changed().is_ok() {
                return FirstOrAgain::Again(Repetition(answer.clone()));
            }
        } else {
            self.order.push_back(key.clone());
        }
        let (sender, receiver) = watch::channel(None);
        self.answers.insert(key.clone(), receiver);
        while self.order.len() > CALLS {
            if let Some(oldest) = self.order.pop_front() {
                self.answers.remove(&oldest);
            }
        }
        FirstOrAgain::First(Recorder(sender))
    }
}

impl Recorder {
    /// Remembers the answer.
    pub(crate) fn remember(self, answer: Answer) {
        self.0.send_replace(Some(answer));
    }
}

impl Repetition {
    /// Waits for the answer of the first call; none where it came to none.
    pub(crate) async fn answer(mut self) -> Option<Answer> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use taskyard::core::AgentName;
    use taskyard::core::tools::Answer;

    use super::{AGENTS, CALLS, CallKey, FirstOrAgain, Recorder, Repeats};

    fn agent(name: &str) -> AgentName {
        AgentName::new(name).unwrap()
    }

    fn key(id: usize) -> CallKey {
        CallKey::new(id.to_string(), "TaskCreate", &json!({}))
    }

    fn first(repeats: &Repeats, who: &str, key: &CallKey) -> Option<Recorder> {
        match repeats.begin(&agent(who), key) {
            FirstOrAgain::First(recorder) => Some(recorder),
            FirstOrAgain::Again(_) => None,
        }
    }

    #[test]
    fn a_call_with_another_input_or_of_another_agent_is_another_call() {
        let repeats = Repeats::default();
        first(&repeats, "ana", &key(1)).unwrap().remember(Answer::error("no"));
        assert!(first(&repeats, "ana", &key(1)).is_none());
        assert!(first(&repeats, "ben", &key(1)).is_some());
        let other = CallKey::new("1".into(), "TaskCreate", &json!({ "subject": "x" }));
        assert!(first(&repeats, "ana", &other).is_some());
    }

    #[test]
    fn a_call_that_came_to_nothing_may_be_made_again() {
        let repeats = Repeats::default();
        let running = first(&repeats, "ana", &key(1)).unwrap();
        assert!(first(&repeats, "ana", &key(1)).is_none());
        drop(running);
        assert!(first(&repeats, "ana", &key(1)).is_some());
    }

    #[test]
    fn the_oldest_calls_and_the_agents_not_heard_of_are_forgotten() {
        let repeats = Repeats::default();
        for id in 0..=CALLS {
            first(&repeats, "ana", &key(id)).unwrap().remember(Answer::error("no"));
        }
        assert!(first(&repeats, "ana", &key(1)).is_none());
        assert!(first(&repeats, "ana", &key(0)).is_some());
        for number in 0..AGENTS {
            first(&repeats, &number.to_string(), &key(1)).unwrap().remember(Answer::error("no"));
        }
        assert!(first(&repeats, "ana", &key(2)).is_some());
    }
}
