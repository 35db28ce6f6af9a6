//! Random queries on random lists, held against a filter that is as plain as can be.

use std::collections::HashMap;

use jiff::tz::{TimeZone, offset};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ListSurroundings, Query, Times};
use crate::{Priority, Rules, Status, Task, TaskId, Timestamp};

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const HOUR: i64 = 3_600_000;
/// When the day of `NOW` began in the zone of the queries, two hours ahead of UTC.
const DAY_BEGINS: i64 = 1_799_964_000_000;
const WORDS: [&str; 6] = ["parser", "Parse", "ÜBER", "ready", "or", "a:b"];
const TAGS: [&str; 3] = ["db", "old", "two words"];
const AGENTS: [&str; 2] = ["ana", "ben"];

/// A query as it was thought of, before it is written down.
#[derive(Clone, Debug)]
enum Thought {
    All(Vec<Thought>),
    Any(Vec<Thought>),
    Not(Box<Thought>),
    Status(Status),
    Open,
    WithoutDue,
    WithOwner,
    Priority(Priority),
    AbovePriority(Priority),
    Tag(&'static str),
    OneTagOf(&'static str, &'static str),
    Owner(&'static str),
    Parent(u64),
    Ids(u64, u64),
    Ready,
    Blocked,
    Overdue,
    Deferred,
    Older(i64),
    YoungerThan(i64),
    Changed(i64),
    DueWithin(i64),
    DueToday,
    DueBeforeTomorrow,
    Text(&'static str),
}

impl Thought {
    fn written(&self) -> String {
        let several = |thoughts: &[Self], between: &str| {
            let parts: Vec<String> = thoughts.iter().map(Self::written).collect();
            format!("({})", parts.join(between))
        };
        match self {
            Self::All(thoughts) => several(thoughts, " "),
            Self::Any(thoughts) if thoughts.len() == 2 => several(thoughts, " || "),
            Self::Any(thoughts) => several(thoughts, " or "),
            Self::Not(thought) => format!("!{}", thought.written()),
            Self::Status(status) => status.to_string(),
            Self::Open => "status!=done".into(),
            Self::WithoutDue => "no:due".into(),
            Self::WithOwner => "has:owner".into(),
            Self::Priority(priority) => format!("priority:{priority}"),
            Self::AbovePriority(priority) => format!("priority>{priority}"),
            Self::Tag(tag) => format!("tag:\"{tag}\""),
            Self::OneTagOf(one, two) => format!("tag:{one},{two}"),
            Self::Owner(owner) => format!("owner:{owner}"),
            Self::Parent(parent) => format!("parent:{parent}"),
            Self::Ids(first, last) => format!("id:{first}-{last}"),
            Self::Ready => "ready".into(),
            Self::Blocked => "blocked".into(),
            Self::Overdue => "overdue".into(),
            Self::Deferred => "deferred".into(),
            Self::Older(hours) => format!("older:{hours}h"),
            Self::YoungerThan(hours) => format!("age<{hours}h"),
            Self::Changed(hours) => format!("changed:{hours}h"),
            Self::DueWithin(hours) => format!("due:{hours}h"),
            Self::DueToday => "due:today".into(),
            Self::DueBeforeTomorrow => "due<tomorrow".into(),
            Self::Text(text) => format!("\"{text}\""),
        }
    }

    /// Tells whether a status is asked for. Then closed tasks are due like others.
    fn asks_for_status(&self) -> bool {
        match self {
            Self::All(thoughts) | Self::Any(thoughts) => thoughts.iter().any(Self::asks_for_status),
            Self::Not(thought) => thought.asks_for_status(),
            Self::Status(_) | Self::Open => true,
            _ => false,
        }
    }

    /// Tells what the thought says of a task, in the plainest way, looking at the whole list every time.
    fn naive(&self, task: &Task, tasks: &[Task], times: &HashMap<TaskId, Times>, counts_closed: bool) -> bool {
        let meta = |key: &str| task.metadata.as_ref().and_then(|metadata| metadata.get(key)).cloned();
        let moment = |key: &str| meta(key).and_then(|value| Timestamp::parse(value.as_str().unwrap()));
        let is_open = task.status != Status::Completed;
        let find = |id: &TaskId| tasks.iter().find(|other| other.id == *id);
        let parent = meta("parent").map(|value| TaskId::stored(value.as_str().unwrap()));
        // The lists below are one level deep, so that no task is a part of a part.
        let above = parent.as_ref().and_then(find).filter(|above| above.status != Status::Completed);
        let mut waits_for: Vec<&TaskId> = task.blocked_by.iter().collect();
        if is_open {
            waits_for.extend(above.iter().flat_map(|above| &above.blocked_by).filter(|id| {
                let blocker = find(id).and_then(|task| task.metadata.as_ref()?.get("parent")).and_then(Value::as_str);
                // A task that waits for its own part holds up none of them.
                blocker != Some(above.unwrap().id.as_str())
            }));
        }
        let is_blocked = waits_for.iter().any(|id| find(id).is_some_and(|other| other.status != Status::Completed));
        let is_part = |other: &&Task| {
            let parent = other.metadata.as_ref().and_then(|metadata| metadata.get("parent")).and_then(Value::as_str);
            parent == Some(task.id.as_str()) && other.status != Status::Completed
        };
        let tags: Vec<String> = meta("tags").map_or(Vec::new(), |tags| {
            tags.as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned()).collect()
        });
        let due = moment("due").filter(|_| is_open || counts_closed);
        let hours = |since: Timestamp| (NOW.0 - since.0) as f64 / HOUR as f64;
        match self {
            Self::All(thoughts) => thoughts.iter().all(|thought| thought.naive(task, tasks, times, counts_closed)),
            Self::Any(thoughts) => thoughts.iter().any(|thought| thought.naive(task, tasks, times, counts_closed)),
            Self::Not(thought) => !thought.naive(task, tasks, times, counts_closed),
            Self::Status(status) => task.status == *status,
            Self::Open => is_open,
            Self::WithoutDue => moment("due").is_none(),
            Self::WithOwner => task.owner.is_some(),
            Self::Priority(priority) => task.priority() == *priority,
            Self::AbovePriority(priority) => task.priority() > *priority,
            Self::Tag(tag) => tags.iter().any(|other| other == tag),
            Self::OneTagOf(one, two) => tags.iter().any(|other| other == one || other == two),
            Self::Owner(owner) => task.owner.as_deref() == Some(owner),
            Self::Parent(number) => parent == Some(TaskId::number(*number)),
            Self::Ids(first, last) => (*first..=*last).any(|number| task.id == TaskId::number(number)),
            Self::Ready => {
                // Parts of a deferred task are deferred with it.
                let moment_above =
                    above.and_then(|above| Timestamp::parse(above.metadata.as_ref()?.get("defer")?.as_str()?));
                let is_deferred = moment("defer").max(moment_above).is_some_and(|defer| defer.0 > NOW.0);
                task.status == Status::Pending
                    && task.owner.is_none()
                    && !is_blocked
                    && !is_deferred
                    && tasks.iter().filter(is_part).count() == 0
            }
            Self::Blocked => is_open && is_blocked,
            Self::Overdue => is_open && moment("due").is_some_and(|due| due.0 < NOW.0),
            Self::Deferred => is_open && moment("defer").is_some_and(|defer| defer.0 > NOW.0),
            Self::Older(span) => times.get(&task.id).is_some_and(|times| hours(times.created) > *span as f64),
            Self::YoungerThan(span) => times.get(&task.id).is_some_and(|times| hours(times.created) < *span as f64),
            Self::Changed(span) => times.get(&task.id).is_some_and(|times| hours(times.updated) <= *span as f64),
            Self::DueWithin(span) => due.is_some_and(|due| due.0 - NOW.0 <= span * HOUR),
            Self::DueToday => due.is_some_and(|due| (DAY_BEGINS..DAY_BEGINS + 24 * HOUR).contains(&due.0)),
            Self::DueBeforeTomorrow => due.is_some_and(|due| due.0 < DAY_BEGINS + 24 * HOUR),
            Self::Text(text) => {
                let mut texts = vec![task.subject.clone(), task.description.clone(), task.status.to_string()];
                texts.extend(task.owner.clone());
                texts.extend(tags);
                texts.extend(task.metadata.iter().flatten().map(|(key, _)| key.clone()));
                texts.extend(meta("priority").and_then(|value| value.as_str().map(str::to_owned)));
                texts.iter().any(|other| other.to_lowercase().contains(&text.to_lowercase()))
            }
        }
    }
}

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(vec![Status::Pending, Status::InProgress, Status::Completed])
}

fn thought() -> impl Strategy<Value = Thought> {
    let priority = || prop::sample::select(Priority::ALL.to_vec());
    let tag = || prop::sample::select(TAGS.to_vec());
    let hours = || 0..60_i64;
    let smallest = prop_oneof![
        status().prop_map(Thought::Status),
        Just(Thought::Open),
        Just(Thought::WithoutDue),
        Just(Thought::WithOwner),
        priority().prop_map(Thought::Priority),
        priority().prop_map(Thought::AbovePriority),
        tag().prop_map(Thought::Tag),
        Just(Thought::OneTagOf("db", "old")),
        prop::sample::select(AGENTS.to_vec()).prop_map(Thought::Owner),
        (1..9_u64).prop_map(Thought::Parent),
        (1..9_u64, 1..9_u64).prop_map(|(one, two)| Thought::Ids(one.min(two), one.max(two))),
        Just(Thought::Ready),
        Just(Thought::Blocked),
        Just(Thought::Overdue),
        Just(Thought::Deferred),
        hours().prop_map(Thought::Older),
        hours().prop_map(Thought::YoungerThan),
        hours().prop_map(Thought::Changed),
        hours().prop_map(Thought::DueWithin),
        Just(Thought::DueToday),
        Just(Thought::DueBeforeTomorrow),
        prop::sample::select(WORDS.to_vec()).prop_map(Thought::Text),
    ];
    smallest.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Thought::All),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Thought::Any),
            inner.prop_map(|thought| Thought::Not(Box::new(thought))),
        ]
    })
}

prop_compose! {
    fn task(number: u64)(
        status in status(),
        words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..3),
        description in prop::sample::select(vec!["", "the PARSER fails", "überfällig", "x"]),
        owner in prop::option::weighted(0.3, prop::sample::select(AGENTS.to_vec())),
        blocked_by in prop::collection::vec(1..12_u64, 0..3),
        priority in prop::option::of(prop::sample::select(Priority::ALL.to_vec())),
        tags in prop::collection::vec(prop::sample::select(TAGS.to_vec()), 0..3),
        parent in prop::option::weighted(0.3, 1..4_u64),
        due in prop::option::weighted(0.4, -50..50_i64),
        defer in prop::option::weighted(0.3, -50..50_i64),
    ) -> Task {
        let mut metadata = json!({ "tags": tags });
        if let Some(priority) = priority {
            metadata["priority"] = priority.as_str().into();
        }
        // Parents are 1 to 3, and no parts themselves.
        if let Some(parent) = parent.filter(|_| number > 3) {
            metadata["parent"] = parent.to_string().into();
        }
        for (key, hours) in [("due", due), ("defer", defer)] {
            if let Some(hours) = hours {
                metadata[key] = Timestamp(NOW.0 + hours * HOUR).to_string().into();
            }
        }
        Task {
            status,
            description: description.into(),
            owner: owner.map(str::to_owned),
            blocked_by: blocked_by.into_iter().filter(|id| *id != number).map(TaskId::number).collect(),
            metadata: metadata.as_object().cloned(),
            ..Task::new(TaskId::number(number), words.join(" "))
        }
    }
}

fn list() -> impl Strategy<Value = Vec<Task>> {
    (task(1), task(2), task(3), task(4), task(5), task(6), task(7), task(8))
        .prop_map(|(a, b, c, d, e, f, g, h)| vec![a, b, c, d, e, f, g, h])
}

fn times() -> impl Strategy<Value = HashMap<TaskId, Times>> {
    let moment = |hours: i64| Timestamp(NOW.0 - hours * HOUR);
    let one = (1..9_u64, 0..60_i64, 0..60_i64).prop_map(move |(number, created, updated)| {
        (TaskId::number(number), Times { created: moment(created), updated: moment(updated) })
    });
    prop::collection::hash_map(one.clone().prop_map(|(id, _)| id), one.prop_map(|(_, times)| times), 0..9)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn a_query_chooses_what_a_plain_filter_chooses(thought in thought(), tasks in list(), times in times()) {
        let written = thought.written();
        let query = Query::parse(&written).unwrap_or_else(|mistake| panic!("{written}: {mistake}"));
        let query = query.in_zone(TimeZone::fixed(offset(2)));
        let around = ListSurroundings::of(&tasks, NOW, Rules::Strict).with_times(times.clone());
        for task in &tasks {
            let naive = thought.naive(task, &tasks, &times, thought.asks_for_status());
            prop_assert_eq!(query.is_true_of(task, &around), naive, "{} of {:?}", written, task);
        }
    }

    #[test]
    fn whatever_is_typed_is_a_query_or_a_mistake_that_stands_in_it(text in "[a-z:<>()\"\\-!&|=*+'~ é名]{0,24}") {
        if let Err(mistake) = Query::parse(&text) {
            prop_assert!(mistake.span.end <= text.len() && mistake.span.start <= mistake.span.end);
            let [line, marks] = mistake.marked();
            prop_assert!(!line.contains('\n') && marks.contains('^'));
            let _ = mistake.mended();
        }
    }
}
