//! Calls that come twice: the second gets the answer of the first, and nothing is done again.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use taskyard::core::AgentName;
use taskyard::core::tools::{Answer, Scope};
use tokio::sync::watch;

/// So many calls of one agent are remembered.
const CALLS: usize = 1_000;
/// So many agents are remembered; those that were not heard of for longest are forgotten first.
const AGENTS: usize = 100;
/// The maximum size of all remembered answers in bytes. The answers of the agents that have been silent for longest are forgotten first.
const BYTES: usize = 64 * 1024 * 1024;
/// A call whose id is longer is not remembered.
const LONGEST_ID: usize = 255;

/// What tells one call of an agent from its others: the id it carries, the tool, a digest of its input, and what its caller may do. A client
/// that uses an id again for something else has made another call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    id: String,
    tool: &'static str,
    input: u64,
    scope: Scope,
}

/// The calls whose answers are remembered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeats {
    agents: Arc<Mutex<Agents>>,
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
    /// How long the answers are.
    bytes: usize,
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
pub(crate) struct Recorder {
    answer: watch::Sender<Option<Answer>>,
    repeats: Repeats,
    agent: AgentName,
}

/// A call that was made before.
#[derive(Debug)]
pub(crate) struct Repetition(watch::Receiver<Option<Answer>>);

impl CallKey {
    /// Returns the key of a call; `None` if its id is too long to be remembered.
    pub(crate) fn new(id: String, tool: &'static str, input: &Value, scope: Scope) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        input.to_string().hash(&mut hasher);
        (id.len() <= LONGEST_ID).then(|| Self { id, tool, input: hasher.finish(), scope })
    }
}

impl Repeats {
    /// Says whether a call of an agent is to be made.
    pub(crate) fn begin(&self, agent: &AgentName, key: &CallKey) -> FirstOrAgain {
        let mut agents = self.agents();
        agents.clock += 1;
        let clock = agents.clock;
        if !agents.known.contains_key(agent) {
            agents.forget_until(|agents| agents.known.len() < AGENTS);
        }
        let remembered = agents.known.entry(agent.clone()).or_default();
        remembered.last_call = clock;
        match remembered.begin(key) {
            Ok(answer) => FirstOrAgain::First(Recorder { answer, repeats: self.clone(), agent: agent.clone() }),
            Err(repetition) => FirstOrAgain::Again(repetition),
        }
    }

    /// Forgets the calls of an agent that will not call again.
    pub(crate) fn forget(&self, agent: &AgentName) {
        self.agents().known.remove(agent);
    }

    fn agents(&self) -> MutexGuard<'_, Agents> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agents {
    /// Forgets the agents that were not heard of for longest until there is room.
    fn forget_until(&mut self, has_room: impl Fn(&Self) -> bool) {
        while !has_room(self) {
            let longest = self.known.iter().min_by_key(|(_, remembered)| remembered.last_call);
            let Some(agent) = longest.map(|(agent, _)| agent.clone()) else { return };
            self.known.remove(&agent);
        }
    }
}

impl Remembered {
    /// Returns what takes the answer, or what has it.
    fn begin(&mut self, key: &CallKey) -> Result<watch::Sender<Option<Answer>>, Repetition> {
        if let Some(answer) = self.answers.get(key) {
            // The first caller may have left without an answer.
            if answer.borrow().is_some() || answer.has_changed().is_ok() {
                return Err(Repetition(answer.clone()));
            }
        } else {
            self.order.push_back(key.clone());
        }
        let (sender, receiver) = watch::channel(None);
        self.answers.insert(key.clone(), receiver);
        while self.order.len() > CALLS {
            let oldest = self.order.pop_front().and_then(|oldest| self.answers.remove(&oldest));
            let bytes = oldest.and_then(|answer| answer.borrow().as_ref().map(size));
            self.bytes -= bytes.unwrap_or(0).min(self.bytes);
        }
        Ok(sender)
    }
}

impl Recorder {
    /// Remembers the answer.
    pub(crate) fn remember(self, answer: Answer) {
        let mut agents = self.repeats.agents();
        // It may have been forgotten meanwhile.
        if let Some(remembered) = agents.known.get_mut(&self.agent) {
            remembered.bytes += size(&answer);
        }
        self.answer.send_replace(Some(answer));
        agents.forget_until(|agents| agents.known.values().map(|known| known.bytes).sum::<usize>() <= BYTES);
    }
}

/// Returns about how much memory an answer takes.
fn size(answer: &Answer) -> usize {
    answer.text.len() + answer.structured.as_ref().map_or(0, |structure| structure.to_string().len())
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
    use taskyard::core::tools::{Answer, Scope};

    use super::{AGENTS, BYTES, CALLS, CallKey, FirstOrAgain, Recorder, Repeats};

    fn agent(name: &str) -> AgentName {
        AgentName::new(name).unwrap()
    }

    fn key(id: usize) -> CallKey {
        CallKey::new(id.to_string(), "TaskCreate", &json!({}), Scope::All).unwrap()
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
        let other = CallKey::new("1".into(), "TaskCreate", &json!({ "subject": "x" }), Scope::All).unwrap();
        assert!(first(&repeats, "ana", &other).is_some());
        let narrower = CallKey::new("1".into(), "TaskCreate", &json!({}), Scope::Read).unwrap();
        assert!(first(&repeats, "ana", &narrower).is_some());
    }

    #[test]
    fn what_is_remembered_takes_bounded_memory() {
        let repeats = Repeats::default();
        assert!(CallKey::new("x".repeat(256), "TaskCreate", &json!({}), Scope::All).is_none());
        let many = Answer::error("no").with("x".repeat(BYTES / 4).into());
        for id in 0..3 {
            first(&repeats, "ana", &key(id)).unwrap().remember(many.clone());
        }
        first(&repeats, "ben", &key(0)).unwrap().remember(many.clone());
        first(&repeats, "ben", &key(1)).unwrap().remember(many);
        assert!(first(&repeats, "ana", &key(0)).is_some(), "ben called last");
        assert!(first(&repeats, "ben", &key(0)).is_none());
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
