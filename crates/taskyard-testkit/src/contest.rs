//! Many agents that want the same few tasks, and a judge who reads in the journal whether each was won once.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};
use taskyard::core::rules::refusal::ClaimRefusal;
use taskyard::core::{AgentName, Entry, Op, Revision, Status, Task, TaskId, Token};
use taskyard::operations::{Claim, Claimed, NewTask};
use taskyard::{Outcome, Yard};

use crate::Random;

/// Tasks for one role only name it.
const ROLE: &str = "smith";
/// How many finished tasks a contestant keeps before removing them.
const FINISHED: usize = 2;
/// The number of attempts after which the list is read again.
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
    /// Creates a contestant: its number determines its name, kind and actions.
    pub fn new(yard: &Yard, number: usize) -> Self {
        let name = format!("agent{number}");
        let roles = if number.is_multiple_of(2) { vec![ROLE.to_owned()] } else { Vec::new() };
        let yard = yard.acting_as(agent(&name));
        let random = Random::new(number as u64 + 7);
        Self { yard, name, roles, random, held: Vec::new(), finished: Vec::new(), seen: Vec::new() }
    }

    /// Makes a number of attempts and returns them. It completes what it wins, deletes it later, and creates new tasks
    /// instead.
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

    /// Claims ready tasks, each time under another name, until nothing is ready.
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

/// The answer an agent got.
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
        /// How many tasks are ready for others, if none is ready for the agent.
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
    /// The answer it got.
    pub answer: Answer,
}

impl From<&Outcome<Claimed>> for Answer {
    fn from(outcome: &Outcome<Claimed>) -> Self {
        let reason = match outcome {
            Outcome::Done(claimed) => {
                return Self::Won {
                    task: claimed.task.id.clone(),
                    token: claimed.lease.token,
                    is_resumed: claimed.is_resumed,
                    revision: claimed.revision,
                };
            }
            Outcome::Refused(refusal) => refusal.of_claim().expect("claims are refused for reasons of their own"),
        };
        let ids = |ids: &[TaskId]| ids.iter().map(ToString::to_string).collect();
        let (names, for_others) = match reason {
            ClaimRefusal::AlreadyClaimed { by, .. } => (vec![by.clone()], 0),
            ClaimRefusal::Blocked { by, .. } => (ids(by), 0),
            ClaimRefusal::AgentBusy { with } => (ids(with), 0),
            ClaimRefusal::NotAllowed { only_for } => (only_for.iter().map(ToString::to_string).collect(), 0),
            ClaimRefusal::NothingReady { for_others, .. } => (Vec::new(), *for_others),
            _ => (Vec::new(), 0),
        };
        Self::Lost { reason: reason.as_str().to_owned(), names, for_others }
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

/// The tasks of a list after one revision.
type ListContents = Arc<BTreeMap<TaskId, Arc<Task>>>;

/// Plays a journal forward, and keeps the states that are still asked for.
#[derive(Debug)]
struct States {
    coming: std::iter::Peekable<std::vec::IntoIter<Entry>>,
    kept: VecDeque<ListContents>,
    /// The revision of the first that is kept.
    first: u64,
}

impl States {
    /// Begins before the first entry of a whole journal.
    fn of(journal: Vec<Entry>) -> Self {
        Self { coming: journal.into_iter().peekable(), kept: VecDeque::from([ListContents::default()]), first: 0 }
    }

    /// Returns the states from one revision to another, both included; all before the first are forgotten.
    fn between(&mut self, since: Revision, until: Revision, forget_before: Revision) -> Vec<&ListContents> {
        while self.first + (self.kept.len() as u64) <= until.0 {
            self.step();
        }
        while self.first < forget_before.0 {
            self.kept.pop_front();
            self.first += 1;
        }
        let place = |revision: Revision| usize::try_from(revision.0 - self.first).unwrap();
        self.kept.range(place(since)..=place(until)).collect()
    }

    fn step(&mut self) {
        let revision = Revision(self.first + self.kept.len() as u64);
        let mut state = self.kept.back().unwrap().clone();
        let tasks = Arc::make_mut(&mut state);
        let mut is_there = false;
        while let Some(entry) = self.coming.next_if(|entry| entry.revision == revision) {
            is_there = true;
            match &entry.after {
                Some(image) => drop(tasks.insert(entry.task.clone(), Arc::new(image.task(&entry.task).unwrap()))),
                None => drop(tasks.remove(&entry.task)),
            }
        }
        assert!(is_there, "revision {revision} was seen and is not in the journal");
        self.kept.push_back(state);
    }
}

/// What a contest came to.
#[derive(Debug, Default)]
pub struct Verdict {
    /// How many attempts took a task that was free.
    pub won: usize,
    /// How many found that the agent had the task already.
    pub resumed: usize,
    /// How many were refused, by reason.
    pub lost: BTreeMap<String, usize>,
}

impl Verdict {
    /// Returns how many attempts there were.
    pub fn attempts(&self) -> usize {
        self.won + self.resumed + self.lost.values().sum::<usize>()
    }
}

/// Judges a contest by the whole journal of its list, from an empty list on. Panics where a task was won twice, where a token
/// is not greater than those before it, and where an answer was true at no moment between the question and the answer.
pub fn judge(mut attempts: Vec<Attempt>, journal: Vec<Entry>) -> Verdict {
    each_task_is_won_once(&attempts, &journal);
    let claims: HashMap<(u64, TaskId), Entry> = journal
        .iter()
        .filter(|entry| entry.op == Op::Claim)
        .map(|entry| ((entry.revision.0, entry.task.clone()), entry.clone()))
        .collect();
    attempts.sort_by_key(|attempt| attempt.until);
    let mut still_asked_for: Vec<_> = attempts.iter().map(|attempt| attempt.since).collect();
    for place in (1..still_asked_for.len()).rev() {
        still_asked_for[place - 1] = still_asked_for[place - 1].min(still_asked_for[place]);
    }
    let mut states = States::of(journal);
    let mut verdict = Verdict::default();
    for (attempt, forget_before) in attempts.iter().zip(still_asked_for) {
        let moments = states.between(attempt.since, attempt.until, forget_before);
        match &attempt.answer {
            Answer::Won { task, is_resumed: true, .. } => {
                verdict.resumed += 1;
                let has_it =
                    |state: &ListContents| state.get(task).is_some_and(|task| is_open_and_of(task, &attempt.agent));
                assert!(moments.iter().any(|state| has_it(state)), "it never had the task: {attempt:?}");
            }
            Answer::Won { task, revision, .. } => {
                verdict.won += 1;
                let revision = revision.unwrap_or_else(|| panic!("a task was won without a commit: {attempt:?}"));
                assert!(attempt.since < revision && revision <= attempt.until, "at another time: {attempt:?}");
                let entry = &claims[&(revision.0, task.clone())];
                let before = moments[usize::try_from(revision.0 - attempt.since.0).unwrap() - 1];
                is_a_claim_of_what_was_free(attempt, entry, before);
            }
            Answer::Lost { reason, names, for_others } => {
                *verdict.lost.entry(reason.clone()).or_default() += 1;
                let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
                let is_so = |state: &&ListContents| is_true(attempt, reason, &names, *for_others, state);
                assert!(moments.iter().any(is_so), "this was so at no moment: {attempt:?}\n{:?}", moments.last());
            }
        }
    }
    verdict
}

fn each_task_is_won_once(attempts: &[Attempt], journal: &[Entry]) {
    let mut winners: HashMap<&TaskId, &str> = HashMap::new();
    let mut tokens: Vec<(u64, Token)> = Vec::new();
    for attempt in attempts {
        if let Answer::Won { task, token, is_resumed: false, revision } = &attempt.answer {
            let other = winners.insert(task, &attempt.agent);
            assert_eq!(other, None, "task {task} was won twice, at last by {}", attempt.agent);
            tokens.push((revision.map_or(0, |revision| revision.0), *token));
        }
    }
    tokens.sort_unstable();
    assert!(tokens.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1), "tokens only grow");
    let mut owners: HashMap<&TaskId, String> = HashMap::new();
    for entry in journal {
        let after = entry.after.as_ref().map(|image| image.task(&entry.task).unwrap());
        let Some(owner) = after.as_ref().and_then(Task::owner) else { continue };
        let first = owners.entry(&entry.task).or_insert_with(|| owner.to_owned());
        assert_eq!(first, owner, "task {} changed hands", entry.task);
        assert_eq!(winners.get(&entry.task), Some(&owner), "the owner of task {} is not who won it", entry.task);
    }
    assert_eq!(owners.len(), winners.len(), "an agent won a task and is not its owner");
}

fn is_a_claim_of_what_was_free(attempt: &Attempt, entry: &Entry, before: &ListContents) {
    let task = &before[&entry.task];
    let after = entry.after.as_ref().unwrap().task(&entry.task).unwrap();
    let wish = &attempt.wish;
    assert!(wish.task.as_ref().is_none_or(|wanted| *wanted == entry.task), "it asked for another: {attempt:?}");
    assert_eq!((entry.actor.as_str(), after.owner()), (attempt.agent.as_str(), Some(attempt.agent.as_str())));
    let status = if wish.reserve { Status::Pending } else { Status::InProgress };
    assert_eq!((task.status, task.owner(), after.status), (Status::Pending, None, status), "{attempt:?}");
    assert_eq!(open_blockers(task, before), BTreeSet::new(), "it was blocked: {attempt:?}");
    assert!(is_for(task, attempt), "it was for others: {attempt:?}");
    if wish.only_when_idle {
        assert_eq!(open_tasks_of(&attempt.agent, before), BTreeSet::new(), "it was busy: {attempt:?}");
    }
    if wish.task.is_none() {
        let own = before.values().find(|task| is_open_and_of(task, &attempt.agent) && is_unblocked(task, before));
        assert_eq!(own, None, "it had one to go on with: {attempt:?}");
    }
}

/// Tells whether a refusal is true of a state of the list.
fn is_true(attempt: &Attempt, reason: &str, names: &BTreeSet<&str>, for_others: usize, state: &ListContents) -> bool {
    let agent = attempt.agent.as_str();
    let wanted = attempt.wish.task.as_ref();
    let busy_with = || {
        let mut with = open_tasks_of(agent, state);
        with.retain(|id| wanted.is_none_or(|wanted| wanted.as_str() != *id));
        with
    };
    let Some(wanted) = wanted else {
        return match reason {
            "agent_busy" => attempt.wish.only_when_idle && !names.is_empty() && busy_with() == *names,
            "nothing_ready" => {
                let ready: Vec<&Task> =
                    state.values().map(|task| &**task).filter(|task| is_ready(task, state)).collect();
                let own = |task: &Task| is_open_and_of(task, agent) && is_unblocked(task, state);
                ready.len() == for_others
                    && !ready.iter().any(|task| is_for(task, attempt))
                    && !state.values().any(|task| own(task))
            }
            _ => false,
        };
    };
    let Some(task) = state.get(wanted) else { return reason == "task_not_found" };
    let is_free = task.owner().is_none_or(|owner| owner == agent);
    let is_open = task.status != Status::Completed;
    match reason {
        "already_claimed" => !is_free && names.iter().eq(task.owner().iter()),
        "already_resolved" => is_free && !is_open,
        "not_allowed" => is_free && is_open && !is_for(task, attempt),
        "blocked" => is_free && is_open && !names.is_empty() && open_blockers(task, state) == *names,
        "agent_busy" => {
            let may_have_it = is_free && is_open && is_unblocked(task, state) && is_for(task, attempt);
            may_have_it && attempt.wish.only_when_idle && !names.is_empty() && busy_with() == *names
        }
        _ => false,
    }
}

fn is_ready(task: &Task, state: &ListContents) -> bool {
    task.status == Status::Pending && task.owner().is_none() && is_unblocked(task, state)
}

fn is_unblocked(task: &Task, state: &ListContents) -> bool {
    open_blockers(task, state).is_empty()
}

fn open_blockers<'a>(task: &'a Task, state: &ListContents) -> BTreeSet<&'a str> {
    let is_open = |id: &&TaskId| state.get(*id).is_some_and(|blocker| blocker.status != Status::Completed);
    task.blocked_by.iter().filter(is_open).map(TaskId::as_str).collect()
}

fn open_tasks_of<'a>(agent: &str, state: &'a ListContents) -> BTreeSet<&'a str> {
    state.values().filter(|task| is_open_and_of(task, agent)).map(|task| task.id.as_str()).collect()
}

fn is_open_and_of(task: &Task, agent: &str) -> bool {
    task.status != Status::Completed && task.owner() == Some(agent)
}

fn is_for(task: &Task, attempt: &Attempt) -> bool {
    let Some(assignees) = task.meta("assignable_to").and_then(serde_json::Value::as_array) else { return true };
    let is_own = |role: &str| attempt.wish.roles.iter().any(|own| own == role);
    assignees.iter().filter_map(|who| who.as_str()?.strip_prefix("role:")).any(is_own)
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
