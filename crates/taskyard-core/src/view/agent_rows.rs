//! Rows for agents, background jobs and todo items.

use std::collections::HashMap;

use super::short_span;
use crate::render::{Line, Look, Tone, escaping, how_job_ended, job_mark, job_tone, shown_subject};
use crate::rules::agents::is_same_agent;
use crate::rules::graph::parts::Progress;
use crate::rules::leases::leasing::LeaseState;
use crate::rules::teams::membership::MemberState;
use crate::{Job, JobFate, JobId, JobState, Lease, Status, Task, TaskId, Timestamp, Todo};

/// An agent that works on a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRow {
    /// The name.
    pub name: String,
    /// The name of its colour, if its team assigns one.
    pub colour: Option<String>,
    /// What it is doing.
    pub state: MemberState,
    /// The tasks it holds.
    pub holds: Vec<HeldTask>,
    /// The number of messages it has not acknowledged, if known.
    pub unread: Option<usize>,
    /// The number of its tool calls, if known.
    pub tool_uses: Option<u64>,
    /// The number of tokens it used, if known.
    pub tokens: Option<u64>,
    /// Its last activity.
    pub activity: Option<String>,
    /// When that activity happened.
    pub seen: Option<Timestamp>,
    /// When it joined the team; `None` if it is not in a team.
    pub joined: Option<Timestamp>,
}

/// A task that an agent holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTask {
    /// The task.
    pub task: TaskId,
    /// The title of the task.
    pub subject: String,
    /// Its owner.
    pub owner: String,
    /// Since when it is held, if known.
    pub since: Option<Timestamp>,
    /// The state of its lease.
    pub lease: LeaseShown,
}

/// The state of a lease, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseShown {
    /// There is no lease; only the owner's name is on the task.
    None,
    /// The lease is alive until this moment, or as long as its holder is alive if there is none.
    Lives(Option<Timestamp>),
    /// The lease has expired.
    Ended,
}

impl AgentRow {
    /// Returns whether a person must act: a plan awaits approval, or a dead agent holds tasks.
    pub fn needs_a_person(&self) -> bool {
        match self.state {
            MemberState::AwaitingApproval => true,
            MemberState::Ghost => !self.holds.is_empty(),
            MemberState::Running | MemberState::Idle | MemberState::Stopping => false,
        }
    }
}

/// Returns the members of a team in order, each with the tasks it holds, followed by all other owners. Tasks that are
/// already in the `holds` of a member stay there.
pub fn agent_rows(members: Vec<AgentRow>, held: Vec<HeldTask>) -> Vec<AgentRow> {
    let mut rows = members;
    for task in held {
        let is_its = |row: &&mut AgentRow| {
            is_same_agent(&task.owner, &row.name) || row.holds.iter().any(|known| known.task == task.task)
        };
        let place = match rows.iter_mut().find(is_its) {
            Some(row) => row,
            None => {
                rows.push(stranger(&task));
                let last = rows.len() - 1;
                &mut rows[last]
            }
        };
        match place.holds.iter_mut().find(|known| known.task == task.task) {
            Some(known) => *known = task,
            None => place.holds.push(task),
        }
    }
    rows
}

/// Returns the held open tasks, ordered by number: those with a lease, and those in progress with an owner.
pub fn held_tasks<'a>(tasks: impl Iterator<Item = &'a Task>, leases: &[(Lease, LeaseState)]) -> Vec<HeldTask> {
    let leases: HashMap<&TaskId, &(Lease, LeaseState)> = leases.iter().map(|lease| (&lease.0.task, lease)).collect();
    let mut held: Vec<HeldTask> = tasks
        .filter(|task| task.status.is_open())
        .filter_map(|task| {
            let lease = leases.get(&task.id);
            let named = task.owner().filter(|_| task.status == Status::InProgress).map(str::to_owned);
            Some(HeldTask {
                task: task.id.clone(),
                subject: task.subject.clone(),
                owner: lease.map(|(lease, _)| lease.agent.to_string()).or(named)?,
                since: lease.map(|(lease, _)| lease.taken),
                lease: match lease {
                    None => LeaseShown::None,
                    Some((lease, state)) if state.is_alive() => {
                        LeaseShown::Lives(lease.ends.as_ref().map(|end| end.wall))
                    }
                    Some(_) => LeaseShown::Ended,
                },
            })
        })
        .collect();
    held.sort_by_cached_key(|held| (held.task.as_number(), held.task.as_str().to_owned()));
    held
}

fn stranger(task: &HeldTask) -> AgentRow {
    AgentRow {
        name: task.owner.clone(),
        colour: None,
        state: if task.lease == LeaseShown::Ended { MemberState::Ghost } else { MemberState::Running },
        holds: Vec::new(),
        unread: None,
        tool_uses: None,
        tokens: None,
        activity: None,
        seen: None,
        joined: None,
    }
}

/// Formats an agent on one line, with its name in `name_width` columns.
pub fn agent_line(row: &AgentRow, name_width: usize, look: &Look) -> Line {
    let (tone, mark) = match row.state {
        MemberState::Running => (Tone::Active, look.either("●", "*")),
        MemberState::Idle => (Tone::Dim, look.either("○", "o")),
        MemberState::Stopping => (Tone::Warning, look.either("◌", "~")),
        MemberState::AwaitingApproval => (Tone::Error, look.either("▲", "!")),
        MemberState::Ghost => (Tone::Error, look.either("✘", "x")),
    };
    let mut line = Line::new().with(tone, mark).with(Tone::Plain, " ");
    let name = Line::new().with(Tone::member(row.colour.as_deref()), &row.name);
    line.append(name.cut(name_width, look.ellipsis()).padded(name_width));
    let state = if row.state == MemberState::Ghost { "gone" } else { row.state.as_str() };
    line.push(tone, &format!("  {state:9}"));
    for held in &row.holds {
        line.push(Tone::Id, &format!(" #{}", held.task));
        line.push(Tone::Plain, &format!(" {}", shown_subject(&held.task, &held.subject)));
        line.append(held_for(held, look));
    }
    let mut more: Vec<String> = Vec::new();
    more.extend(row.activity.as_ref().zip(row.seen).map(|(activity, seen)| format!("{activity} {}", look.time(seen))));
    more.extend(row.unread.filter(|unread| *unread > 0).map(|unread| format!("{unread} unread")));
    more.extend(row.tool_uses.map(|uses| format!("{uses} tool uses")));
    more.extend(row.tokens.map(|tokens| format!("{} tokens", grouped(tokens))));
    more.extend(row.joined.map(|joined| format!("joined {}", look.time(joined))));
    for fact in more {
        line.push(Tone::Dim, &format!("{}{fact}", look.dot()));
    }
    line
}

fn held_for(held: &HeldTask, look: &Look) -> Line {
    let mut line = Line::new();
    let Some(now) = look.now else { return line };
    if let Some(since) = held.since {
        line.push(Tone::Dim, &format!(" for {}", short_span(now.0.saturating_sub(since.0))));
    }
    match held.lease {
        LeaseShown::Lives(Some(ends)) => {
            line.push(Tone::Dim, &format!(", lease {} left", short_span(ends.0.saturating_sub(now.0))));
        }
        LeaseShown::Ended => line.push(Tone::Error, ", its lease has ended"),
        LeaseShown::Lives(None) | LeaseShown::None => {}
    }
    line
}

/// Formats a number with thousands separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A background command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// Its id.
    pub id: JobId,
    /// A description for people.
    pub description: String,
    /// The command line.
    pub command: String,
    /// The state.
    pub state: JobState,
    /// How it ended, in words; `None` if the state says it all.
    pub how: Option<String>,
    /// When it was started.
    pub started: Timestamp,
    /// When it ended; for a lost job, when it was last known to be alive.
    pub ended: Option<Timestamp>,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// The host name of the machine it runs on; `None` for a job of this machine.
    pub machine: Option<String>,
    /// Whether it failed or was lost and that has not been reported to an agent.
    pub needs_a_person: bool,
}

impl JobRow {
    /// Creates the row of a job.
    pub fn of(job: &Job) -> Self {
        let state = job.state();
        let ended = match &job.fate {
            JobFate::Ended { at, .. } => Some(*at),
            JobFate::Lost { .. } => Some(job.last_seen),
            JobFate::Pending | JobFate::Running { .. } => None,
        };
        Self {
            id: job.id.clone(),
            description: job.description.clone(),
            command: job.command_line(),
            state,
            how: how_job_ended(job),
            started: job.started,
            ended,
            task: job.task.clone(),
            machine: job.machine.clone(),
            needs_a_person: matches!(state, JobState::Failed | JobState::Lost) && !job.notified,
        }
    }

    /// Returns whether it is pending or running.
    pub fn is_going_on(&self) -> bool {
        !self.state.is_over()
    }
}

/// Formats a job on one line: state, description, run time and task.
pub fn job_row_line(row: &JobRow, look: &Look) -> Line {
    let tone = job_tone(row.state);
    let mut line = Line::new().with(tone, job_mark(row.state, look)).with(Tone::Plain, " ");
    line.push(Tone::Id, &format!("{:<9}", row.id.as_str()));
    line.push(tone, &format!(" {:<9} ", row.state.as_str()));
    line.push(Tone::Plain, &row.description);
    let mut facts: Vec<String> = row.how.clone().into_iter().collect();
    facts.push(match (row.ended, row.state) {
        (Some(seen), JobState::Lost) => format!("last seen {}", look.time(seen)),
        (Some(ended), _) => format!("{} after {}", look.time(ended), super::short_span(ended.0 - row.started.0)),
        (None, _) => look.now.map_or_else(
            || format!("since {}", look.time(row.started)),
            |now| format!("for {}", super::short_span(now.0.saturating_sub(row.started.0))),
        ),
    });
    facts.extend(row.task.as_ref().map(|task| format!("for #{task}")));
    facts.extend(row.machine.as_ref().map(|machine| format!("on {machine}")));
    facts.iter().for_each(|fact| line.push(Tone::Dim, &format!("{}{fact}", look.dot())));
    look.fitted(line)
}

/// The todo list of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodosShown {
    /// The agent.
    pub agent: String,
    /// The items of the list.
    pub todos: Vec<Todo>,
}

impl TodosShown {
    /// Returns the item in progress.
    pub fn doing(&self) -> Option<&Todo> {
        self.todos.iter().find(|todo| todo.status == Status::InProgress)
    }

    /// Returns how many items are completed.
    pub(crate) fn progress(&self) -> Progress {
        let done = self.todos.iter().filter(|todo| todo.status == Status::Completed).count();
        Progress { done, total: self.todos.len() }
    }
}

/// Formats a todo list on one line: spinner, item in progress, progress and agent. Returns `None` if no item is in
/// progress.
pub fn todos_line(shown: &TodosShown, spinner: &str, look: &Look) -> Option<Line> {
    let doing = shown.doing()?;
    let text = [&doing.active_form, &doing.content].into_iter().find(|text| !text.trim().is_empty())?;
    let text = escaping::one_line(text.trim_end_matches('…').trim_end_matches("..."));
    let mut line = Line::new().with(Tone::Active, &format!("{spinner} {text}{}", look.ellipsis()));
    line.push(Tone::Dim, &format!("  {} of its todos{}{}", shown.progress(), look.dot(), shown.agent));
    Some(look.fitted(line))
}

#[cfg(test)]
mod tests {
    use super::{AgentRow, HeldTask, LeaseShown, agent_line, agent_rows, stranger};
    use crate::render::Look;
    use crate::rules::teams::membership::MemberState;
    use crate::{TaskId, Timestamp};

    const LOOK: Look = Look { now: Some(Timestamp(720_000)), ..Look::PIPE };

    fn held(number: u64, owner: &str, lease: LeaseShown) -> HeldTask {
        let (subject, since) = ("Parser".to_owned(), Some(Timestamp(0)));
        HeldTask { task: TaskId::number(number), subject, owner: owner.to_owned(), since, lease }
    }

    fn member(name: &str, state: MemberState) -> AgentRow {
        AgentRow { state, ..stranger(&held(1, name, LeaseShown::None)) }
    }

    #[test]
    fn members_come_first_and_other_owners_of_tasks_behind_them() {
        let members = vec![member("ana", MemberState::Idle), member("bo", MemberState::Running)];
        let lives = LeaseShown::Lives(Some(Timestamp(3_600_000)));
        let rows = agent_rows(members, vec![held(7, "bo", lives), held(8, "stray", LeaseShown::Ended)]);
        let names: Vec<(&str, usize)> = rows.iter().map(|row| (row.name.as_str(), row.holds.len())).collect();
        assert_eq!(names, [("ana", 0), ("bo", 1), ("stray", 1)]);
        assert!(rows[2].needs_a_person() && !rows[1].needs_a_person());
        let line = agent_line(&rows[1], 4, &LOOK).to_string();
        assert_eq!(line, "● bo    running   #7 Parser for 12m, lease 48m left");
        let line = agent_line(&rows[2], 4, &LOOK).to_string();
        assert_eq!(line, "✘ str…  gone      #8 Parser for 12m, its lease has ended");
    }

    #[test]
    fn what_is_known_of_an_agent_is_told() {
        let row = AgentRow {
            unread: Some(2),
            tool_uses: Some(41),
            tokens: Some(1_090_210),
            activity: Some("TaskUpdate".into()),
            seen: Some(Timestamp(660_000)),
            joined: Some(Timestamp(0)),
            ..member("bo", MemberState::AwaitingApproval)
        };
        assert_eq!(
            agent_line(&row, 2, &LOOK).to_string(),
            "▲ bo  awaiting approval · TaskUpdate 1 min ago · 2 unread · 41 tool uses · 1,090,210 tokens · joined 12 min ago"
        );
        assert!(row.needs_a_person());
    }
}

#[cfg(test)]
mod jobs_tests {
    use super::{JobRow, job_row_line};
    use crate::Job;
    use crate::job_samples::running;
    use crate::render::Look;

    #[test]
    fn only_other_machines_are_shown() {
        let line = |job: &Job| job_row_line(&JobRow::of(job), &Look::PIPE).to_string();
        assert!(!line(&running()).contains(" on "));
        assert!(line(&Job { machine: Some("atlas".into()), ..running() }).ends_with(" · on atlas"));
    }
}

#[cfg(test)]
mod todos_tests {
    use super::{TodosShown, todos_line};
    use crate::render::Look;
    use crate::{Status, Todo};

    fn todo(content: &str, status: Status) -> Todo {
        Todo { content: content.into(), status, active_form: format!("{content}ing") }
    }

    #[test]
    fn what_is_being_done_is_told_with_how_far_it_is() {
        let todos =
            vec![todo("read", Status::Completed), todo("test", Status::InProgress), todo("ship", Status::Pending)];
        let shown = TodosShown { agent: "ana".into(), todos };
        assert_eq!(todos_line(&shown, "⠋", &Look::PIPE).unwrap().to_string(), "⠋ testing…  1/3 of its todos · ana");
        let idle = TodosShown { todos: vec![todo("read", Status::Completed)], ..shown };
        assert_eq!(todos_line(&idle, "⠋", &Look::PIPE), None);
    }
}
