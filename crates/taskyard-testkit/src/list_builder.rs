//! Lists and teams for tests: written in one line, generated, or staged without operations.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use serde_json::json;
use taskyard::Store;
use taskyard::core::dialect::native;
use taskyard::core::{AgentName, Event, ListId, Metadata, Op, Rules, Status, Task, TaskId, Team, TeamName};
use taskyard::store::{Lookup, Signature, Snapshot, StoreError, Txn};
use taskyard::teams::{NewMember, NewTeam, Presence, Teams};

use crate::Random;

/// Returns the tasks of a line, in its order.
pub fn tasks(line: &str) -> Vec<Task> {
    let mut tasks: Vec<Task> = split(line, ';').iter().filter(|part| !part.is_empty()).map(|part| task(part)).collect();
    let edges: Vec<(TaskId, TaskId)> = tasks
        .iter()
        .flat_map(|task| task.blocked_by.iter().map(|on| (on.clone(), task.id.clone())).collect::<Vec<_>>())
        .collect();
    for (blocker, waiting) in edges {
        if let Some(task) = tasks.iter_mut().find(|task| task.id == blocker) {
            task.blocks.push(waiting);
        }
    }
    tasks
}

/// Puts the tasks of a line into a list of a store, in one commit.
pub fn fill(store: &dyn Store, list: &ListId, line: &str) {
    commit(store, list, |txn| {
        for task in tasks(line) {
            txn.put(task).unwrap();
        }
    });
}

/// Writes the tasks of a line as files into a directory, as the client writes them.
pub fn write_files(directory: &Path, line: &str) {
    fs::create_dir_all(directory).unwrap();
    for (name, text) in files(line) {
        fs::write(directory.join(name), text).unwrap();
    }
}

/// Returns the files that the client keeps the tasks of a line in: names and contents.
pub fn files(line: &str) -> Vec<(String, String)> {
    tasks(line).iter().map(|task| (format!("{}.json", task.id.file_stem()), native_text(task))).collect()
}

/// Returns the file that the client keeps the one task of a line in.
pub fn file(line: &str) -> String {
    let [task] = &tasks(line)[..] else { panic!("`{line}` is not one task") };
    native_text(task)
}

fn native_text(task: &Task) -> String {
    let image = native::write(None, task, Rules::Strict).unwrap();
    String::from_utf8(image.bytes().to_vec()).unwrap()
}

fn task(part: &str) -> Task {
    let (head, waits_for) = part.split_once("<-").unwrap_or((part, ""));
    let words: Vec<String> = split(head, ' ').into_iter().filter(|word| !word.is_empty()).collect();
    let [id, status, rest @ ..] = words.as_slice() else { panic!("`{part}` has no id and status") };
    let mut task = Task::new(id.parse().unwrap(), format!("task {id}"));
    task.status = status.parse().unwrap();
    for word in rest {
        if let Some(owner) = word.strip_prefix('(').and_then(|word| word.strip_suffix(')')) {
            task.owner = Some(owner.to_owned());
        } else if word.starts_with('{') {
            task.metadata = Some(serde_json::from_str::<Metadata>(word).unwrap());
        } else {
            unquoted(word).clone_into(&mut task.subject);
        }
    }
    let ids = waits_for.split([',', ' ']).filter(|id| !id.is_empty());
    task.blocked_by = ids.map(|id| id.parse().unwrap()).collect();
    task
}

/// Returns the text between a pair of quotes, or the unquoted word.
fn unquoted(word: &str) -> &str {
    let between = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    between('"').or_else(|| between('\'')).unwrap_or(word)
}

/// Splits at a separator, but not inside quotes or braces.
fn split(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut quote, mut depth) = (None, 0);
    for c in text.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (end, Some(begin)) if end == begin => quote = None,
            ('{', None) => depth += 1,
            ('}', None) => depth -= 1,
            _ => {}
        }
        if c == separator && quote.is_none() && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// How the tasks of a list wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each waits for the one before it.
    Chain,
    /// One, two that wait for it, one that waits for both, and so on.
    Diamonds,
    /// Layers of ten; each task waits for some of the layer before its own.
    Layers,
    /// All wait for the first.
    Star,
    /// Any task waits for any other: circles, itself, and tasks that are not there.
    Tangle,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 5] = [Self::Chain, Self::Diamonds, Self::Layers, Self::Star, Self::Tangle];

    /// Returns pending tasks in this shape, numbered from 1, with every edge on both sides.
    pub fn tasks(self, count: usize, random: &mut Random) -> Vec<Task> {
        let mut tasks: Vec<Task> = (1..=count).map(|number| Task::new(id(number), format!("task {number}"))).collect();
        for place in 0..count {
            for blocker in self.blockers(place, count, random) {
                tasks[place].blocked_by.push(id(blocker + 1));
                if let Some(blocker) = tasks.get_mut(blocker) {
                    blocker.blocks.push(id(place + 1));
                }
            }
        }
        tasks
    }

    fn blockers(self, place: usize, count: usize, random: &mut Random) -> BTreeSet<usize> {
        match self {
            Self::Chain => place.checked_sub(1).into_iter().collect(),
            Self::Diamonds => match place % 3 {
                0 => [1, 2].iter().filter_map(|step| place.checked_sub(*step)).collect(),
                step => BTreeSet::from([place - step]),
            },
            Self::Layers if place < 10 => BTreeSet::new(),
            Self::Layers => (0..3).map(|_| place / 10 * 10 - 10 + random.below(10)).collect(),
            Self::Star => (place > 0).then_some(0).into_iter().collect(),
            // One number beyond the last: a task that is not there.
            Self::Tangle => (0..random.below(4)).map(|_| random.below(count + 1)).collect(),
        }
    }
}

/// Makes of sound tasks what a list in the middle of its life holds, other programs having written to it: all states, owners,
/// internal tasks, and edges that only one of their ends knows of.
pub fn weather(tasks: &mut [Task], random: &mut Random) {
    for task in tasks {
        match random.below(12) {
            0 => task.status = Status::Completed,
            1 => {
                task.status = Status::Completed;
                task.metadata = json!({ "cancelled": true }).as_object().cloned();
            }
            2 => task.status = Status::InProgress,
            3 => task.metadata = json!({ "_internal": true }).as_object().cloned(),
            4 => task.owner = Some("bob".to_owned()),
            _ => {}
        }
        task.blocks.retain(|_| random.below(4) > 0);
        task.blocked_by.retain(|_| random.below(10) > 0);
    }
}

/// Returns the tasks that can start by the plainest reading of the rule: pending, visible, and none of those it names is there
/// and open. Whose they are does not matter.
pub fn startable(tasks: &[Task]) -> BTreeSet<TaskId> {
    let states: HashMap<&TaskId, Status> = tasks.iter().map(|task| (&task.id, task.status)).collect();
    let is_open = |id: &TaskId| matches!(states.get(id), Some(Status::Pending | Status::InProgress));
    let can_start =
        |task: &&Task| task.status == Status::Pending && !task.is_internal() && !task.blocked_by.iter().any(is_open);
    tasks.iter().filter(can_start).map(|task| task.id.clone()).collect()
}

fn id(number: usize) -> TaskId {
    TaskId::number(number as u64)
}

/// Returns a team that is to be made.
pub fn new_team(name: &str) -> NewTeam {
    NewTeam { name: TeamName::new(name).unwrap(), description: None, agent_type: None }
}

/// Returns a member that is to join a team and to stay.
pub fn new_member(name: &str) -> NewMember {
    NewMember {
        agent: AgentName::new(name).unwrap(),
        agent_type: None,
        model: None,
        plan_mode_required: false,
        presence: Presence::Lasting,
        backend: None,
    }
}

/// Makes the team `alpha` with a lead and these members.
pub fn make_team<'a>(teams: &Teams, lead: &str, members: impl IntoIterator<Item = &'a str>) -> Team {
    let lead = AgentName::new(lead).unwrap();
    let mut team = teams.create(&new_team("alpha"), &lead).unwrap().done().unwrap().team;
    for name in members {
        team = teams.join(&team, &new_member(name)).unwrap().done().unwrap().team;
    }
    team
}

/// Returns the signature of a plain change by `tester`.
pub fn signature(op: Op) -> Signature {
    Signature::new(AgentName::new("tester").expect("the name is not blank"), op)
}

/// Stages and commits a change, starting over as often as the store demands.
pub fn commit(store: &dyn Store, list: &ListId, mut change: impl FnMut(&mut dyn Txn)) -> Option<Event> {
    loop {
        let mut txn = store.write(list).unwrap();
        change(&mut *txn);
        match txn.commit(&signature(Op::Update)) {
            Ok(event) => return event,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns every task of a list by its exact bytes.
pub fn images(list: &dyn Snapshot) -> BTreeMap<TaskId, String> {
    let image = |id: TaskId| match list.find(&id).unwrap() {
        Lookup::Found(_, image) => (id, String::from_utf8(image.bytes().to_vec()).unwrap()),
        other => panic!("task {id} was listed and is not found: {other:?}"),
    };
    list.tasks().unwrap().into_iter().map(|task| image(task.id)).collect()
}

#[cfg(test)]
mod tests {
    use taskyard::core::{Status, TaskId};

    use super::tasks;

    #[test]
    fn a_line_becomes_tasks_with_two_sided_edges() {
        let list =
            tasks(r#"1 pending; 2 in_progress (ana) "Two; or so" <- 1; 3 completed {"a": {"b": "x;y"}} <- 1, 2 9"#);
        assert_eq!(list.len(), 3);
        assert_eq!(list[0].blocks, [2, 3].map(TaskId::number));
        assert_eq!(
            (list[1].status, list[1].owner(), list[1].subject.as_str()),
            (Status::InProgress, Some("ana"), "Two; or so")
        );
        assert_eq!(list[2].blocked_by, [1, 2, 9].map(TaskId::number));
        assert_eq!(list[2].meta("a").unwrap()["b"], "x;y");
    }

    #[test]
    fn a_subject_is_a_word_or_stands_in_quotes() {
        let subjects: Vec<String> = tasks(r#"1 pending One; 2 pending 'it is "two"'; 3 pending "three's"; 4 pending"#)
            .into_iter()
            .map(|task| task.subject)
            .collect();
        assert_eq!(subjects, ["One", r#"it is "two""#, "three's", "task 4"]);
    }
}
