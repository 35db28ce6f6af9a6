//! One of many agents that want the same few tasks.

use serde_json::json;
use taskyard::core::{AgentName, Revision, Status, Task, TaskId, Token};
use taskyard::operations::{Claim, NewTask};
use taskyard::{Outcome, Yard};

use super::attempt::{Answer, Attempt, Wish};
use crate::Random;

/// Tasks for one role only name it.
const ROLE: &str = "smith";
/// How many finished tasks a contestant keeps before removing them.
const FINISHED: usize = 2;
/// After so many attempts the list is looked at again.
const FORGETTING: usize = 6;

/// An agent with a name of its own; for some attempts it makes another up.
#[derive(Debug)]
pub struct Contestant {
    yard: Yard,
    name: String,
    roles: Vec<String>,
    random: Random,
    held: Vec<Held>,
    finished: Vec<TaskId>,
    /// The tasks that were there when it last looked.
    seen: Vec<Task>,
}

/// A task that was won and is not done yet.
#[derive(Debug)]
struct Held {
    task: TaskId,
    agent: AgentName,
    token: Token,
}

/// Fills a list with the tasks that a contest begins with.
pub fn prepare(yard: &Yard, tasks: usize) {
    let mut random = Random::new(1);
    for _ in 0..tasks {
        create(yard, &mut random, &[]);
    }
}

impl Contestant {
    /// Takes a place: the number decides what it is called, what it is and what it does.
    pub fn new(yard: &Yard, number: usize) -> Self {
        let name = format!("agent{number}");
        let roles = if number.is_multiple_of(2) { vec![ROLE.to_owned()] } else { Vec::new() };
        let yard = yard.acting_as(agent(&name));
        let random = Random::new(number as u64 + 7);
        Self { yard, name, roles, random, held: Vec::new(), finished: Vec::new(), seen: Vec::new() }
    }

    /// Makes so many attempts and returns them. What it wins it finishes, removes in time, and replaces by something new.
    pub fn compete(mut self, attempts: usize) -> Vec<Attempt> {
        let mut made = Vec::with_capacity(attempts);
        for turn in 0..attempts {
            if turn.is_multiple_of(FORGETTING) {
                self.seen = self.yard.store().read(self.yard.list_id()).unwrap().tasks().unwrap();
            }
            made.push(self.attempt(turn));
            if self.held.len() > 2 || (!self.held.is_empty() && self.random.below(3) == 0) {
                self.finish_one();
            }
        }
        while !self.held.is_empty() {
            self.finish_one();
        }
        made
    }

    /// Takes whatever is ready, each time under another name, until it is told that nothing is.
    pub fn take_the_rest(mut self) -> Vec<Attempt> {
        let mut made = Vec::new();
        let is_last = |attempt: &Attempt| !matches!(attempt.answer, Answer::Won { .. });
        while !made.last().is_some_and(is_last) {
            let wish = Wish { task: None, only_when_idle: false, reserve: false, roles: self.roles.clone() };
            made.push(self.ask(wish, agent(&format!("{}-{}", self.name, made.len()))));
        }
        made
    }

    fn attempt(&mut self, turn: usize) -> Attempt {
        let path = self.random.below(20);
        let wish = Wish {
            task: (path < 14).then(|| self.some_task()),
            only_when_idle: matches!(path, 11..=13 | 19),
            reserve: matches!(path, 8..=10 | 18),
            roles: self.roles.clone(),
        };
        // An agent that asks for the next task under its own name goes on with what it has.
        let agent = if matches!(path, 14..=16) { agent(&format!("{}-{turn}", self.name)) } else { agent(&self.name) };
        self.ask(wish, agent)
    }

    fn ask(&mut self, wish: Wish, agent: AgentName) -> Attempt {
        let yard = self.yard.acting_as(agent.clone());
        let claim = Claim {
            roles: wish.roles.clone(),
            only_when_idle: wish.only_when_idle,
            reserve: wish.reserve,
            ..Claim::default()
        };
        let since = self.revision();
        let outcome = match &wish.task {
            Some(task) => yard.claim(task, &claim),
            None => yard.claim_next(&claim),
        };
        let answer = Answer::from(&outcome.unwrap());
        let until = self.revision();
        if let Answer::Won { task, token, .. } = &answer {
            match self.held.iter().find(|held| held.task == *task) {
                Some(held) => assert_eq!(held.token, *token, "an agent that has a task keeps its token"),
                None => self.held.push(Held { task: task.clone(), agent: agent.clone(), token: *token }),
            }
        }
        Attempt { agent: agent.as_str().to_owned(), wish, since, until, answer }
    }

    /// Picks a task that other contestants pick too: mostly one of the first that seemed to be free, sometimes any, sometimes one that it
    /// has finished itself.
    fn some_task(&mut self) -> TaskId {
        if !self.finished.is_empty() && self.random.below(10) == 0 {
            return self.random.pick(&self.finished).clone();
        }
        let is_free = |task: &&Task| task.status == Status::Pending && task.owner().is_none();
        let free: Vec<&TaskId> = self.seen.iter().filter(is_free).map(|task| &task.id).take(4).collect();
        let any: Vec<&TaskId> = self.seen.iter().map(|task| &task.id).collect();
        let among = if self.random.below(10) < 7 && !free.is_empty() { free } else { any };
        if among.is_empty() { TaskId::number(1) } else { (*self.random.pick(&among)).clone() }
    }

    fn finish_one(&mut self) {
        let Held { task, agent, token } = self.held.remove(0);
        let finished = self.yard.acting_as(agent).proving(token).done(&task).unwrap();
        assert!(matches!(finished, Outcome::Done(_)), "{finished:?}");
        self.finished.push(task);
        if self.finished.len() >= FINISHED {
            let removed = self.yard.delete(&std::mem::take(&mut self.finished)).unwrap();
            assert!(matches!(removed, Outcome::Done(_)), "{removed:?}");
        }
        create(&self.yard, &mut self.random, &self.seen);
    }

    fn revision(&self) -> Revision {
        self.yard.store().read(self.yard.list_id()).unwrap().revision()
    }
}

/// Creates a task: some wait for another, some are for one role.
fn create(yard: &Yard, random: &mut Random, seen: &[Task]) {
    let open: Vec<&TaskId> = seen.iter().filter(|task| task.status.is_open()).map(|task| &task.id).collect();
    let waits = (!open.is_empty() && random.below(3) == 0).then(|| (*random.pick(&open)).clone());
    let metadata = (random.below(8) == 0).then(|| json!({ "assignable_to": [format!("role:{ROLE}")] }));
    let mut new = NewTask {
        subject: "contested".into(),
        blocked_by: waits.into_iter().collect(),
        metadata: metadata.and_then(|metadata| metadata.as_object().cloned()),
        ..NewTask::default()
    };
    while let Outcome::Refused(_) = yard.create(new.clone()).unwrap() {
        assert!(!new.blocked_by.is_empty(), "a plain task is refused");
        // What it was to wait for has been removed.
        new.blocked_by.clear();
    }
}

fn agent(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}
