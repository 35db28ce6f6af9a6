//! What an agent tried, and what it was told.

use serde_json::{Value, json};
use taskyard::core::{Revision, TaskId, Token};
use taskyard::operations::{ClaimOutcome, ClaimRefusal};

/// What an agent wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Which task; none: what comes next.
    pub task: Option<TaskId>,
    /// Only when it has no other.
    pub only_when_idle: bool,
    /// Only to own it.
    pub reserve: bool,
    /// What the agent declares itself to be.
    pub roles: Vec<String>,
}

/// What an agent was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The task is its own.
    Won {
        /// Which.
        task: TaskId,
        /// What proves it.
        token: Token,
        /// Whether it had it already.
        is_resumed: bool,
        /// The commit that gave it.
        revision: Option<Revision>,
    },
    /// It is not.
    Lost {
        /// The word for why.
        reason: String,
        /// Whom or what that word is about: an owner, blockers, what the agent is busy with, for whom the task is.
        names: Vec<String>,
        /// How many tasks are ready for others, where nothing is for the agent.
        for_others: usize,
    },
}

/// One attempt to take a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Who.
    pub agent: String,
    /// What it wanted.
    pub wish: Wish,
    /// The newest revision when it had not begun yet.
    pub since: Revision,
    /// The newest revision when it had its answer.
    pub until: Revision,
    /// What it was told.
    pub answer: Answer,
}

impl From<&ClaimOutcome> for Answer {
    fn from(outcome: &ClaimOutcome) -> Self {
        let refusal = match outcome {
            ClaimOutcome::Claimed(claimed) => {
                return Self::Won {
                    task: claimed.task.id.clone(),
                    token: claimed.lease.token,
                    is_resumed: claimed.is_resumed,
                    revision: claimed.revision,
                };
            }
            ClaimOutcome::Refused { refusal, .. } => refusal,
        };
        let ids = |ids: &[TaskId]| ids.iter().map(ToString::to_string).collect();
        let (names, for_others) = match refusal {
            ClaimRefusal::AlreadyClaimed { by, .. } => (vec![by.clone()], 0),
            ClaimRefusal::Blocked { by, .. } => (ids(by), 0),
            ClaimRefusal::AgentBusy { with } => (ids(with), 0),
            ClaimRefusal::NotAllowed { only_for } => (only_for.iter().map(ToString::to_string).collect(), 0),
            ClaimRefusal::NothingReady { for_others, .. } => (Vec::new(), *for_others),
            _ => (Vec::new(), 0),
        };
        Self::Lost { reason: refusal.as_str().to_owned(), names, for_others }
    }
}

impl Attempt {
    /// Returns the attempt as a line for another process.
    pub fn to_json(&self) -> Value {
        let Self { agent, wish, since, until, answer } = self;
        let answer = match answer {
            Answer::Won { task, token, is_resumed, revision } => json!({
                "won": task.as_str(), "token": token.0, "resumed": is_resumed,
                "revision": revision.map(|revision| revision.0),
            }),
            Answer::Lost { reason, names, for_others } => {
                json!({ "lost": reason, "names": names, "forOthers": for_others })
            }
        };
        json!({
            "agent": agent, "task": wish.task.as_ref().map(TaskId::as_str), "ifIdle": wish.only_when_idle,
            "reserve": wish.reserve, "roles": wish.roles, "since": since.0, "until": until.0, "answer": answer,
        })
    }

    /// Reads an attempt that another process wrote down.
    pub fn from_json(line: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text in {line}")).to_owned();
        let words = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
        let id = |value: &Value| value.as_str().map(|id| id.parse().unwrap());
        let answer = &line["answer"];
        let answer = match id(&answer["won"]) {
            Some(task) => Answer::Won {
                task,
                token: Token(answer["token"].as_u64().unwrap()),
                is_resumed: answer["resumed"] == true,
                revision: answer["revision"].as_u64().map(Revision),
            },
            None => Answer::Lost {
                reason: text(&answer["lost"]),
                names: words(&answer["names"]),
                for_others: usize::try_from(answer["forOthers"].as_u64().unwrap()).unwrap(),
            },
        };
        let revision = |value: &Value| Revision(value.as_u64().unwrap());
        Self {
            agent: text(&line["agent"]),
            wish: Wish {
                task: id(&line["task"]),
                only_when_idle: line["ifIdle"] == true,
                reserve: line["reserve"] == true,
                roles: words(&line["roles"]),
            },
            since: revision(&line["since"]),
            until: revision(&line["until"]),
            answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use taskyard::core::{Revision, TaskId, Token};

    use super::{Answer, Attempt, Wish};

    #[test]
    fn an_attempt_survives_being_written_down() {
        let won = Answer::Won { task: TaskId::number(3), token: Token(7), is_resumed: true, revision: None };
        let lost = Answer::Lost { reason: "blocked".into(), names: vec!["2".into()], for_others: 4 };
        for (answer, task) in [(won, None), (lost, Some(TaskId::number(9)))] {
            let wish = Wish { task, only_when_idle: true, reserve: false, roles: vec!["smith".into()] };
            let attempt = Attempt { agent: "ana".into(), wish, since: Revision(1), until: Revision(2), answer };
            assert_eq!(Attempt::from_json(&attempt.to_json()), attempt);
        }
    }
}
