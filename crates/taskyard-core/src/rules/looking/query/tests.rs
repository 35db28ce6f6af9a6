//! What queries mean, one thing at a time.

use std::time::Duration;

use jiff::tz::{TimeZone, offset};

use super::condition::{Comparison, Condition, Property, StateTerm, Term};
use super::{ListSurroundings, Needle, Query, SortOrder};
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
    // Two hours ahead of UTC it is Thursday the 19th already.
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
fn arguments_may_be_one_query_or_many_pieces_and_what_a_shell_unquoted_is_a_text() {
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
        ("tag:a prio:high", "      ^^^^ did you mean `priority`?", "`prio` is no field of a query"),
        ("status:pendign b", "       ^^^^^^^ did you mean `pending`?", "`pendign` is no status"),
        ("status:pending,x", "               ^", "`x` is no status"),
        ("priority:hihg", "         ^^^^ did you mean `high`?", "`hihg` is no priority"),
        ("older:2", "      ^ did you mean `2d`?", "`2` is no span of time; write 90s, 30m, 2h, 3d or 1w"),
        ("is:ready", "^^^^^^^^ did you mean `ready`?", "`ready` needs no field before it"),
        ("status:ready", "^^^^^^^^^^^^ did you mean `ready`?", "`ready` needs no field before it"),
        ("age:2d", "^^^^^^ did you mean `older:2d`?", "an age is compared"),
        ("tag: db", "^^^^", "`tag:` stands without what it is to be"),
        ("a or", "  ^^", "there is nothing after this `or`"),
        ("or a", "^^", "there is nothing before this `or`"),
        ("a or or b", "  ^^", "there is nothing after this `or`"),
        ("a not", "  ^^^", "there is nothing after this `not`"),
        ("a !", "  ^", "there is nothing after this `!`"),
        ("a - b", "  ^", "there is nothing after this `-`"),
        ("a -", "  ^", "there is nothing after this `-`"),
        ("a ||", "  ^^", "there is nothing after this `||`"),
        ("&& a", "^^", "`&&` stands between two statements"),
        (
            "tag:a|tag:b",
            "^^^^^^^^^^^ did you mean `tag:a | tag:b`?",
            "`|` needs a space before it, or quotes if it is a part of the text",
        ),
        (
            "tag:a|b",
            "^^^^^^^ did you mean `tag:a,b`?",
            "`|` needs a space before it, or quotes if it is a part of the text",
        ),
        ("R&D", "^^^ did you mean `R & D`?", "`&` needs a space before it, or quotes if it is a part of the text"),
        ("done!", "    ^", "`!` does not stand inside a word or value"),
        ("1<2", " ^", "`<` does not stand inside a word or value"),
        ("f(x)", " ^", "`(` does not stand inside a word or value"),
        ("tag:a(b)", "     ^", "`(` does not stand inside a word or value"),
        ("Vec<u8>", "      ^", "`>` does not stand inside a word or value"),
        ("blocked-by=3", "^^^^^^^^^^", "`blocked-by` is no field of a query"),
        ("tag<3", "^^^^^", "`tag` cannot be compared"),
        ("due:<2d", "^^^^^^^ did you mean `due<2d`?", "`<` does not stand behind `due:`"),
        ("tag:!old", "^^^^^^^^ did you mean `not tag:old`?", "`!` does not stand behind `tag:`"),
        ("auth*", "    ^", "there are no wildcards: a word finds every text that contains it"),
        ("+", "^", "there is no tag after this `+`"),
        ("a +1", "  ^^", "there is no tag after this `+`"),
        ("~blocked", "^", "`~` does not stand inside a word or value"),
        ("\"\"", "^^", "there is nothing between these quotes"),
        ("has:nose", "    ^^^^ did you mean `note`?", "`has:` does not know `nose`"),
        ("due:none", "^^^^^^^^ did you mean `no:due`?", &When::parse("none").unwrap_err().to_string()),
        ("(a or b", "^", "this bracket is never closed"),
        ("(a or b", "^", "this bracket is never closed"),
        ("a )", "  ^", "this bracket closes nothing"),
        ("a ()", "  ^^", "there is nothing between these brackets"),
        ("a \"b", "  ^", "this quote is never closed"),
        ("and a", "^^^", "`and` stands between two statements"),
        ("id:7-3", "   ^^^ did you mean `3-7`?", "the range runs backwards"),
        ("parent:../x", "       ^^^^", "`../x` is no task id: it may hold letters, digits, `_` and `-` only"),
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
fn tasks_are_sorted_by_several_keys_and_what_has_none_comes_last() {
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
