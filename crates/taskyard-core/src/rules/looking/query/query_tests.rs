//! Tests of queries, by example and against a naive filter.

use std::collections::HashMap;
use std::time::Duration;

use jiff::tz::{TimeZone, offset};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ListSurroundings, Needle, Query, SortOrder, Times};
use crate::rules::looking::query::query_condition::{Comparison, Condition, Property, StateTerm, Term};
use crate::timing::{When, WorkSpan};
use crate::{Priority, Rules, Status, Task, TaskId, Timestamp};

fn said(text: &str) -> Condition {
    Query::parse(text).unwrap_or_else(|mistake| panic!("{text}: {mistake:?}")).condition().clone()
}

fn text(word: &str) -> Condition {
    Condition::Is(Term::Text(Needle::new(word)))
}

fn tag(word: &str) -> Condition {
    Condition::Is(Term::Tag(word.to_owned()))
}

#[test]
fn words_side_by_side_mean_all_of_them_and_or_binds_less() {
    assert_eq!(said("tag:a b"), Condition::All(vec![tag("a"), text("b")]));
    assert_eq!(said("tag:a b or c"), Condition::Any(vec![Condition::All(vec![tag("a"), text("b")]), text("c")]));
    assert_eq!(said("a and b"), Condition::All(vec![text("a"), text("b")]));
    assert_eq!(said("not tag:a b"), Condition::All(vec![Condition::Not(Box::new(tag("a"))), text("b")]));
    assert_eq!(said("+a b"), said("tag:a b"));
    assert_eq!(said("-tag:a"), said("not tag:a"));
    assert_eq!(said("-(tag:a or b)"), Condition::Not(Box::new(Condition::Any(vec![tag("a"), text("b")]))));
    assert_eq!(said("(tag:a)"), tag("a"));
    assert!(Query::parse("  ").unwrap().is_empty());
}

#[test]
fn every_field_is_understood() {
    let day = Duration::from_secs(86_400);
    for (written, term) in [
        ("status:In-Progress", Term::State(StateTerm::Is(Status::InProgress))),
        ("status:open", Term::State(StateTerm::Open)),
        ("Priority:HIGH", Term::Priority(Comparison::Same, Priority::High)),
        ("priority>=medium", Term::Priority(Comparison::AtLeast, Priority::Medium)),
        ("tag:\"two words\"", Term::Tag("two words".into())),
        ("owner:ana@team", Term::Owner("ana@team".into())),
        ("parent:#3", Term::Parent(TaskId::number(3))),
        ("id:3-7", Term::Id(TaskId::number(3), TaskId::number(7))),
        ("older:1d", Term::Age(Comparison::More, day)),
        ("age>1d", Term::Age(Comparison::More, day)),
        ("age<=1d", Term::Age(Comparison::AtMost, day)),
        ("changed:1d", Term::Changed(Comparison::AtMost, day)),
        ("changed<1d", Term::Changed(Comparison::Less, day)),
        ("estimate>1d", Term::Estimate(Comparison::More, WorkSpan::parse("1d").unwrap())),
        ("OVERDUE", Term::Overdue),
        ("due:2d", Term::Due(Comparison::AtMost, When::parse("2d").unwrap())),
        ("due:today", Term::Due(Comparison::Same, When::parse("today").unwrap())),
        ("due:this-week", Term::Due(Comparison::Same, When::parse("this week").unwrap())),
        ("due:\"20 nov\"", Term::Due(Comparison::Same, When::parse("20 nov").unwrap())),
        ("due<2026-12-01", Term::Due(Comparison::Less, When::parse("2026-12-01").unwrap())),
        ("defer>=mon", Term::Defer(Comparison::AtLeast, When::parse("mon").unwrap())),
        ("has:notes", Term::Has(Property::Note)),
        ("tag=ops", Term::Tag("ops".into())),
    ] {
        assert_eq!(said(written), Condition::Is(term), "{written}");
    }
    assert_eq!(said("tag:a,b"), Condition::Any(vec![tag("a"), tag("b")]));
    assert_eq!(said("no:due"), said("not has:due"));
    assert_eq!(said("tag!=a,b"), said("not tag:a,b"));
}

#[test]
fn status_words_are_statuses_and_text_in_quotes() {
    for (written, field) in [
        ("open", "status:open"),
        ("Pending", "status:pending"),
        ("in_progress", "status:in_progress"),
        ("in-progress", "status:in_progress"),
        ("done", "status:completed"),
        ("closed", "status:completed"),
        ("cancelled", "status:cancelled"),
        ("not open", "not status:open"),
        ("!done", "not status:done"),
        ("NOT(open)", "not status:open"),
    ] {
        assert_eq!(said(written), said(field), "{written}");
        assert_eq!(Query::of_arguments(&[written]).unwrap().condition(), &said(field), "{written}");
    }
    assert_eq!(said("\"open\""), text("open"));
    assert_eq!(said("'open'"), text("open"));
    assert_eq!(said("opened"), text("opened"));
}

#[test]
fn operators_of_other_languages_mean_the_same_here() {
    for (written, ours) in [
        ("!blocked", "not blocked"),
        ("! blocked", "not blocked"),
        ("a && b", "a and b"),
        ("a & b", "a and b"),
        ("a || b", "a or b"),
        ("a | b", "a or b"),
        ("(a)|(b)", "a or b"),
        ("tag:x &&!(a or b)", "tag:x not (a or b)"),
        ("a Or b AND Not c", "a or b not c"),
        ("tag:'two words'", "tag:\"two words\""),
    ] {
        assert_eq!(said(written), said(ours), "{written}");
    }
}

#[test]
fn due_days_are_those_of_the_zone_and_of_open_tasks() {
    let now = Timestamp::parse("2026-11-18T23:30:00Z").unwrap();
    let task = |number: u64, status, due: &str| Task {
        status,
        metadata: serde_json::json!({ "due": due }).as_object().cloned(),
        ..Task::new(TaskId::number(number), "x")
    };
    // Two hours ahead of UTC it is already Thursday the 19th.
    let tasks = [
        task(1, Status::Pending, "2026-11-18T12:00:00Z"),
        task(2, Status::Pending, "2026-11-19T12:00:00Z"),
        task(3, Status::Completed, "2026-11-19T12:00:00Z"),
        task(4, Status::InProgress, "2026-11-20T12:00:00Z"),
        task(5, Status::Pending, "2026-11-24T12:00:00Z"),
        Task::new(TaskId::number(6), "x"),
    ];
    let around = ListSurroundings::of(&tasks, now, Rules::Strict);
    let chosen = |written: &str| {
        let query = Query::parse(written).unwrap().in_zone(TimeZone::fixed(offset(2)));
        let chosen = tasks.iter().filter(|task| query.is_true_of(task, &around));
        chosen.filter_map(|task| task.id.as_number()).collect::<Vec<_>>()
    };
    assert_eq!(chosen("due:today"), [2]);
    assert_eq!(chosen("due:today done"), [3]);
    assert_eq!(chosen("due:thu"), [2]);
    assert_eq!(chosen("due:fri"), [4]);
    assert_eq!(chosen("due:this-week"), [1, 2, 4]);
    assert_eq!(chosen("due:next-week"), [5]);
    assert_eq!(chosen("due<2026-11-19"), [1]);
    assert_eq!(chosen("due<=2026-11-19"), [1, 2]);
    assert_eq!(chosen("due>today"), [4, 5]);
    assert_eq!(chosen("due>=today"), [2, 4, 5]);
    assert_eq!(chosen("due:2d"), [1, 2, 4]);
    assert_eq!(chosen("no:due"), [6]);
    assert_eq!(chosen("has:due"), [1, 2, 3, 4, 5]);
}

#[test]
fn quotes_keep_words_from_meaning_anything() {
    assert_eq!(said("\"ready or not\""), text("ready or not"));
    assert_eq!(said(r#""a \"b\" \c""#), text(r#"a "b" \c"#));
    assert_eq!(
        said("\"f(x)\" 'Vec<u8>' 12:30 don't"),
        Condition::All(["f(x)", "Vec<u8>", "12:30", "don't"].map(text).to_vec())
    );
}

#[test]
fn query_may_be_one_argument_or_many() {
    let of = |arguments: &[&str]| Query::of_arguments(arguments).unwrap().condition().clone();
    assert_eq!(of(&["tag:a", "or", "b"]), said("tag:a or b"));
    assert_eq!(of(&["tag:a or b"]), said("tag:a or b"));
    assert_eq!(of(&["tag:a", "exact words"]), said("tag:a \"exact words\""));
    assert_eq!(of(&["not", "exact words"]), said("not \"exact words\""));
    assert_eq!(of(&["ready now"]), said("ready now"));
    let of_words = Query::of_words(&["exact words"]).unwrap();
    assert_eq!(*of_words.condition(), said("exact words"));
}

#[test]
fn a_mistake_is_marked_and_says_what_was_meant() {
    for (written, marks, what) in [
        ("tag:a prio:high", "      ^^^^ did you mean `priority`?", "unknown query field `prio`"),
        ("status:pendign b", "       ^^^^^^^ did you mean `pending`?", "invalid status `pendign`"),
        ("status:pending,x", "               ^", "invalid status `x`"),
        ("priority:hihg", "         ^^^^ did you mean `high`?", "invalid priority `hihg`"),
        ("older:2", "      ^ did you mean `2d`?", "invalid duration `2`: write 90s, 30m, 2h, 3d or 1w"),
        ("is:ready", "^^^^^^^^ did you mean `ready`?", "write `ready` without a field"),
        ("status:ready", "^^^^^^^^^^^^ did you mean `ready`?", "write `ready` without a field"),
        ("age:2d", "^^^^^^ did you mean `older:2d`?", "`age` needs a comparison"),
        ("tag: db", "^^^^", "`tag:` has no value"),
        ("a or", "  ^^", "a term is missing after this `or`"),
        ("or a", "^^", "a term is missing before this `or`"),
        ("a or or b", "  ^^", "a term is missing after this `or`"),
        ("a not", "  ^^^", "a term is missing after this `not`"),
        ("a !", "  ^", "a term is missing after this `!`"),
        ("a - b", "  ^", "a term is missing after this `-`"),
        ("a -", "  ^", "a term is missing after this `-`"),
        ("a ||", "  ^^", "a term is missing after this `||`"),
        ("&& a", "^^", "`&&` needs a term on each side"),
        (
            "tag:a|tag:b",
            "^^^^^^^^^^^ did you mean `tag:a | tag:b`?",
            "`|` needs a space before it, or quotes if it is part of the text",
        ),
        (
            "tag:a|b",
            "^^^^^^^ did you mean `tag:a,b`?",
            "`|` needs a space before it, or quotes if it is part of the text",
        ),
        ("R&D", "^^^ did you mean `R & D`?", "`&` needs a space before it, or quotes if it is part of the text"),
        ("done!", "    ^", "`!` is not allowed inside a word or value"),
        ("1<2", " ^", "`<` is not allowed inside a word or value"),
        ("f(x)", " ^", "`(` is not allowed inside a word or value"),
        ("tag:a(b)", "     ^", "`(` is not allowed inside a word or value"),
        ("Vec<u8>", "      ^", "`>` is not allowed inside a word or value"),
        ("blocked-by=3", "^^^^^^^^^^", "unknown query field `blocked-by`"),
        ("tag<3", "^^^^^", "`tag` cannot be compared"),
        ("due:<2d", "^^^^^^^ did you mean `due<2d`?", "`<` is not allowed after `due:`"),
        ("tag:!old", "^^^^^^^^ did you mean `not tag:old`?", "`!` is not allowed after `tag:`"),
        ("auth*", "    ^", "there are no wildcards: a word finds every text that contains it"),
        ("+", "^", "a tag is missing after this `+`"),
        ("a +1", "  ^^", "a tag is missing after this `+`"),
        ("~blocked", "^", "`~` is not allowed inside a word or value"),
        ("\"\"", "^^", "these quotes are empty"),
        ("has:nose", "    ^^^^ did you mean `note`?", "invalid value `nose` for `has:`"),
        ("due:none", "^^^^^^^^ did you mean `no:due`?", &When::parse("none").unwrap_err().to_string()),
        ("(a or b", "^", "this bracket is never closed"),
        ("(a or b", "^", "this bracket is never closed"),
        ("a )", "  ^", "this closing bracket has no match"),
        ("a ()", "  ^^", "these brackets are empty"),
        ("a \"b", "  ^", "this quote is never closed"),
        ("and a", "^^^", "`and` needs a term on each side"),
        ("id:7-3", "   ^^^ did you mean `3-7`?", "the range is reversed"),
        ("parent:../x", "       ^^^^", "invalid task id `../x`: only letters, digits, `_` and `-` are allowed"),
    ] {
        let mistake = Query::parse(written).expect_err(written);
        let [line, found] = mistake.marked();
        assert_eq!((line.as_str(), found.as_str(), mistake.what.as_str()), (written, marks, what));
        if let Some(mended) = mistake.mended() {
            Query::parse(&mended).unwrap_or_else(|mistake| panic!("{mended}: {mistake}"));
        }
    }
}

#[test]
fn nothing_that_is_nested_deeply_overflows_the_stack() {
    for deep in ["(".repeat(100_000), "-".repeat(100_000) + "a", "not ".repeat(100_000) + "a"] {
        assert!(Query::parse(&deep).is_err());
    }
}

#[test]
fn tasks_sort_by_several_keys_with_missing_values_last() {
    let task = |number: u64, metadata: serde_json::Value| Task {
        metadata: metadata.as_object().cloned(),
        ..Task::new(TaskId::number(number), format!("Title {}", 9 - number))
    };
    let mut tasks = vec![
        task(1, serde_json::json!({"priority": "low", "due": "2026-11-20"})),
        task(2, serde_json::json!({"priority": "high"})),
        task(3, serde_json::json!({"priority": "high", "due": "2026-11-18"})),
    ];
    let around = ListSurroundings::of(&tasks, Timestamp(0), Rules::Strict);
    let mut sorted = |keys: &str| {
        let orders: Vec<SortOrder> = keys.split(',').map(|key| key.parse().unwrap()).collect();
        SortOrder::sort(&orders, &mut tasks, &around);
        tasks.iter().filter_map(|task| task.id.as_number()).collect::<Vec<_>>()
    };
    assert_eq!(sorted("priority,due"), [3, 2, 1]);
    assert_eq!(sorted("due"), [3, 1, 2]);
    assert_eq!(sorted("-due"), [1, 3, 2]);
    assert_eq!(sorted("subject"), [3, 2, 1]);
    assert_eq!(sorted("id"), [1, 2, 3]);
    assert_eq!(
        "prority".parse::<SortOrder>().unwrap_err().to_string(),
        "tasks cannot be sorted by `prority`; did you mean `priority`?"
    );
}

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const HOUR: i64 = 3_600_000;
/// The start of the day of `NOW` in the time zone of the queries, two hours ahead of UTC.
const DAY_BEGINS: i64 = 1_799_964_000_000;
const WORDS: [&str; 6] = ["parser", "Parse", "ÜBER", "ready", "or", "a:b"];
const TAGS: [&str; 3] = ["db", "old", "two words"];
const AGENTS: [&str; 2] = ["ana", "ben"];

/// The model of a query, from which its text is generated.
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

    /// Returns whether the query asks for a status. Closed tasks then match by due date too.
    fn asks_for_status(&self) -> bool {
        match self {
            Self::All(thoughts) | Self::Any(thoughts) => thoughts.iter().any(Self::asks_for_status),
            Self::Not(thought) => thought.asks_for_status(),
            Self::Status(_) | Self::Open => true,
            _ => false,
        }
    }

    /// Evaluates the query in the simplest way, searching the whole list every time.
    fn naive(&self, task: &Task, tasks: &[Task], times: &HashMap<TaskId, Times>, counts_closed: bool) -> bool {
        let meta = |key: &str| task.metadata.as_ref().and_then(|metadata| metadata.get(key)).cloned();
        let moment = |key: &str| meta(key).and_then(|value| Timestamp::parse(value.as_str().unwrap()));
        let is_open = task.status != Status::Completed;
        let find = |id: &TaskId| tasks.iter().find(|other| other.id == *id);
        let parent = meta("parent").map(|value| TaskId::stored(value.as_str().unwrap()));
        // The lists below are only one level deep.
        let above = parent.as_ref().and_then(find).filter(|above| above.status != Status::Completed);
        let mut waits_for: Vec<&TaskId> = task.blocked_by.iter().collect();
        if is_open {
            waits_for.extend(above.iter().flat_map(|above| &above.blocked_by).filter(|id| {
                let blocker = find(id).and_then(|task| task.metadata.as_ref()?.get("parent")).and_then(Value::as_str);
                // A task that waits for its own part does not block its parts.
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
                // Parts of a deferred task are deferred too.
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
        // Tasks 1 to 3 are parents and have no parent themselves.
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
