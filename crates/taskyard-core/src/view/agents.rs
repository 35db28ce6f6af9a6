//! The agents that work on a list: the members of its team, and every other owner of a task.

use std::collections::HashMap;

use crate::render::{Line, Look, Tone, shown_subject};
use crate::rules::agents::naming::is_same_agent;
use crate::rules::leases::leasing::LeaseState;
use crate::rules::teams::membership::MemberState;
use crate::{Lease, Status, Task, TaskId, Timestamp};

use super::short_span;

/// An agent that works on a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRow {
    /// The name.
    pub name: String,
    /// The name of its colour, where a team gives it one.
    pub colour: Option<String>,
    /// What it is doing.
    pub state: MemberState,
    /// The tasks it has.
    pub holds: Vec<HeldTask>,
    /// How many messages it has not acknowledged, where that is known.
    pub unread: Option<usize>,
    /// How many tools it called, where that is known.
    pub tool_uses: Option<u64>,
    /// How many tokens it used, where that is known.
    pub tokens: Option<u64>,
    /// What it did last.
    pub activity: Option<String>,
    /// When that was.
    pub seen: Option<Timestamp>,
    /// When it joined the team; none for one that is in none.
    pub joined: Option<Timestamp>,
}

/// A task that an agent has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTask {
    /// The task.
    pub task: TaskId,
    /// What it is about.
    pub subject: String,
    /// Its owner.
    pub owner: String,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
    /// How the lease on it stands.
    pub lease: LeaseShown,
}

/// How a lease stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseShown {
    /// There is none: a program wrote its name on the task, and that is all.
    None,
    /// It lives until a moment, or for as long as its holder does.
    Lives(Option<Timestamp>),
    /// It has ended.
    Ended,
}

impl AgentRow {
    /// Tells whether a person has to do something: a plan waits for approval, or a dead agent has tasks.
    pub fn needs_a_person(&self) -> bool {
        match self.state {
            MemberState::AwaitingApproval => true,
            MemberState::Ghost => !self.holds.is_empty(),
            MemberState::Running | MemberState::Idle | MemberState::Stopping => false,
        }
    }
}

/// Returns the members of a team, in its order, each with what it has; and behind them every other owner. What members
/// have by `holds` already stays.
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

/// Returns the open tasks that an agent has, by number: those with a lease, and those in progress with a name on them.
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

/// Returns an agent on one line, its name in so many columns.
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

/// Returns a number with its digits in threes.
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
