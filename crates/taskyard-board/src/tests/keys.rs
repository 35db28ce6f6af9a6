//! Keys and the mouse.

use std::collections::HashSet;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use taskyard::core::view::{Action, GraphPicture, ListRow, Property, actions};
use taskyard::core::{Event, ListId, Op, Revision, Rules, Status, Task, TaskId, Timestamp};
use taskyard::operations::UndoRange;

use super::samples::{NOW, app_with, by_client, deeds, drawn, entry, list, press, rocket, screen, task};
use crate::app::{App, Choice, Effect, Hit, View};
use crate::messages::{Answer, AppEvent, Operation, PaneEnd, ReadRequest, Refused, Resource, WriteRequest};

#[test]
fn a_refusal_is_told_where_the_cursor_is() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "js");
    assert_eq!(deeds(&mut app), [Operation::Start(vec![TaskId::number(12)])]);
    let refused =
        Refused { code: "", message: "task 12 is blocked by #7".into(), hint: Some("finish #7 first".into()) };
    app.on_event(AppEvent::Answered(Box::new(Answer { answer: Err(refused), ..Answer::without_changes() })), NOW);
    insta::assert_snapshot!(drawn(&mut app, 70, 10).backend());
    press(&mut app, "j");
    assert!(!drawn(&mut app, 70, 10).backend().to_string().contains("is blocked by #7"));
}

#[test]
fn keys_ask_for_one_deed_each_on_what_is_meant() {
    let id = TaskId::number;
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "d");
    assert_eq!(deeds(&mut app), [Operation::Done(vec![id(7)])]);
    press(&mut app, "jxjjxC");
    assert_eq!(deeds(&mut app), [Operation::Cancel(vec![id(12), id(15)])]);
    press(&mut app, "Xgnhello there\n");
    assert_eq!(deeds(&mut app), [Operation::Note { tasks: vec![id(7)], text: "hello there".into() }]);
    press(&mut app, "cWrite more\n");
    assert_eq!(deeds(&mut app), [Operation::Create { line: "Write more".into(), parent: None }]);
    press(&mut app, "b#15\n");
    assert_eq!(deeds(&mut app), [Operation::BlockedBy { tasks: vec![id(7)], on: id(15) }]);
    press(&mut app, "acara\n");
    assert_eq!(deeds(&mut app), [Operation::Assign { tasks: vec![id(7)], to: Some("cara".into()) }]);
    press(&mut app, "u");
    assert_eq!(deeds(&mut app), [Operation::Undo(vec![UndoRange::OwnNewest])]);
    let undone = Answer { answer: Ok("Took back r9".into()), undone: vec![Revision(10)], ..Answer::without_changes() };
    app.on_event(AppEvent::Answered(Box::new(undone)), NOW);
    press(&mut app, "U");
    assert_eq!(deeds(&mut app), [Operation::Undo(vec![UndoRange::One(Revision(10))])]);
    press(&mut app, "2>");
    assert_eq!(deeds(&mut app), [Operation::Move { tasks: vec![id(7)], to: Status::Completed }]);
    press(&mut app, "q");
    assert!(app.take_effects().contains(&Effect::Quit));
}

#[test]
fn undo_takes_back_exactly_what_was_done_from_here() {
    let mut app = app_with(&rocket(), View::List);
    let did = |revisions: &[u64]| {
        let revisions = revisions.iter().copied().map(Revision).collect();
        AppEvent::Answered(Box::new(Answer { revisions, ..Answer::without_changes() }))
    };
    app.on_event(did(&[11]), NOW);
    app.on_event(did(&[13, 14]), NOW);
    press(&mut app, "u");
    let revision = |number| UndoRange::One(Revision(number));
    assert_eq!(deeds(&mut app), [Operation::Undo(vec![revision(14), revision(13)])]);
    press(&mut app, "u");
    assert_eq!(deeds(&mut app), [Operation::Undo(vec![revision(11)])]);
    press(&mut app, "u");
    assert_eq!(deeds(&mut app), [Operation::Undo(vec![UndoRange::OwnNewest])]);
}

#[test]
fn what_another_does_moves_the_rows_and_glows_once() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "jj");
    let at = app.at_task.clone();
    let new = task(17, "Just made", Status::InProgress);
    let commit = Event { list: list(), revision: Revision(10), entries: vec![entry(10, Op::Create, &new)] };
    app.on_event(AppEvent::Commits(vec![commit]), NOW);
    let screen = drawn(&mut app, 150, 14).backend().to_string();
    assert!(screen.contains("#17 Just made") && screen.contains("2 in progress"), "{screen}");
    // The cursor stays on its task.
    assert_eq!(app.at_task, at);
    assert!(app.flashes.contains_key(&new.id));
    app.on_tick(Timestamp(NOW.0 + 1300));
    assert!(app.flashes.is_empty());
}

#[test]
fn a_user_who_reads_that_a_task_was_made_has_the_cursor_on_it() {
    let mut app = app_with(&rocket(), View::List);
    let made = |number| Answer { made: Some(TaskId::number(number)), ..Answer::without_changes() };
    app.on_event(AppEvent::Answered(Box::new(made(17))), NOW);
    assert!(app.message.is_none(), "the list does not show it yet");
    let new = task(17, "Just made", Status::Pending);
    let commit = Event { list: list(), revision: Revision(10), entries: vec![entry(10, Op::Create, &new)] };
    app.on_event(AppEvent::Commits(vec![commit]), NOW);
    assert!(app.message.is_some());
    app.arrange();
    assert_eq!(app.at_task, Some(TaskId::number(17)));
    // If the list does not come to show it, the answer is applied anyway.
    app.on_event(AppEvent::Answered(Box::new(made(18))), NOW);
    app.message = None;
    assert!(app.next_tick().is_some_and(|wait| wait <= 2000));
    app.on_tick(Timestamp(NOW.0 + 2000));
    assert!(app.message.is_some());
}

#[test]
fn nothing_is_due_while_nothing_is_in_progress() {
    let mut app = app_with(&[task(1, "One", Status::Pending)], View::List);
    drawn(&mut app, 70, 14);
    app.is_dirty = false;
    // Todo lists are polled, because the stream does not report them; nothing is drawn for that.
    assert_eq!(app.next_tick(), Some(3000));
    app.on_tick(Timestamp(NOW.0 + 60_000));
    assert!(!app.is_dirty);
    app.settings.todo_period = None;
    assert_eq!(app.next_tick(), None);
    let busy = Event {
        list: list(),
        revision: Revision(10),
        entries: vec![entry(10, Op::Update, &task(1, "One", Status::InProgress))],
    };
    app.on_event(AppEvent::Commits(vec![busy]), NOW);
    drawn(&mut app, 70, 14);
    assert!(app.next_tick().is_some_and(|span| span <= 1200));
}

#[test]
fn a_task_tool_call_brings_the_tasks_to_the_front_once() {
    let mut app = app_with(&rocket(), View::Jobs);
    let made = |revision, number| by_client(revision, Op::CreatedElsewhere, &task(number, "New", Status::Pending));
    app.on_event(made(10, 20), NOW);
    assert_eq!(app.view, View::List);
    app.perform(Action::ShowJobs);
    app.on_event(made(11, 21), NOW);
    assert_eq!(app.view, View::Jobs);
}

fn three() -> App {
    let tasks = [1, 2, 3, 4].map(|number| task(number, &format!("Task {number}"), Status::Pending));
    let mut app = app_with(&tasks, View::List);
    press(&mut app, "gxx");
    app
}

fn both() -> Vec<TaskId> {
    vec![TaskId::number(1), TaskId::number(2)]
}

#[test]
fn bulk_action_applies_to_all_selected_tasks() {
    let number = TaskId::number;
    for (keys, what) in [
        ("s", Operation::Start(both())),
        ("d", Operation::Done(both())),
        ("C", Operation::Cancel(both())),
        ("t", Operation::Claim(both())),
        ("nsee below\n", Operation::Note { tasks: both(), text: "see below".into() }),
        ("acara\n", Operation::Assign { tasks: both(), to: Some("cara".into()) }),
        ("anobody\n", Operation::Assign { tasks: both(), to: None }),
        ("b#3\n", Operation::BlockedBy { tasks: both(), on: number(3) }),
        (">", Operation::Move { tasks: both(), to: Status::InProgress }),
    ] {
        let mut app = three();
        press(&mut app, keys);
        assert_eq!(deeds(&mut app), [what], "{keys}");
    }
    let mut app = three();
    press(&mut app, "E");
    assert!(app.take_effects().contains(&Effect::Edit(both())));
}

#[test]
fn what_is_closed_is_reopened_and_edges_are_taken_away_together() {
    let mut tasks = [1, 2, 3].map(|number| task(number, "x", Status::Completed));
    let mut app = app_with(&tasks, View::List);
    press(&mut app, "gxxo");
    assert_eq!(deeds(&mut app), [Operation::Reopen(both())]);
    tasks = [1, 2, 3].map(|number| task(number, "x", Status::Pending));
    (tasks[0].blocked_by, tasks[1].blocked_by) = (vec![TaskId::number(3)], vec![TaskId::number(3)]);
    let mut app = app_with(&tasks, View::List);
    press(&mut app, "gxxB\n");
    assert_eq!(deeds(&mut app), [Operation::Unblock { tasks: both(), from: TaskId::number(3) }]);
}

#[test]
fn a_selection_is_let_go_by_a_key_and_once_something_is_done() {
    let mut app = three();
    press(&mut app, "X");
    assert!(app.selected.is_empty());
}

#[test]
fn everything_that_can_be_done_is_found_there() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, ":");
    let shown = &app.picker().unwrap().shown;
    for info in actions() {
        assert!(shown.contains(&Choice::Action(info.action)), "{}", info.name);
    }
    let commands: Vec<&Choice> = shown.iter().filter(|choice| matches!(choice, Choice::Command(..))).collect();
    assert_eq!(commands.len(), 1, "what has a key of its own is not listed twice: {commands:?}");
}

#[test]
fn what_is_chosen_there_is_done() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, ":done\n");
    assert_eq!(deeds(&mut app).len(), 1);
    press(&mut app, ":columns\n");
    assert_eq!(app.view, View::Columns);
}

#[test]
fn any_command_can_be_typed_with_its_arguments() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, ":done 3 --force\n");
    assert!(app.take_effects().contains(&Effect::Run("done 3 --force".into())));
    press(&mut app, ":merge\n");
    assert!(screen(&mut app, 80, 10).contains("taskyard merge"));
    press(&mut app, "moon rocket\n");
    assert!(app.take_effects().contains(&Effect::Run("merge moon rocket".into())));
}

#[test]
fn what_cannot_be_done_here_says_why() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, ":stop-job\n");
    assert!(screen(&mut app, 80, 12).contains("there is no running job under the cursor"));
    assert_eq!(deeds(&mut app), Vec::<Operation>::new());
}

fn waiting(number: u64, on: &[u64]) -> Task {
    let blocked_by = on.iter().copied().map(TaskId::number).collect();
    Task { blocked_by, ..task(number, &format!("Task {number}"), Status::Pending) }
}

/// A chain of eight tasks with a branch, so that not all ranks are visible at once.
fn chain() -> Vec<Task> {
    let mut tasks: Vec<Task> = (2..=8).map(|number| waiting(number, &[number - 1])).collect();
    tasks.extend([waiting(1, &[]), waiting(9, &[1])]);
    tasks
}

fn graph(tasks: &[Task]) -> App {
    let mut app = app_with(tasks, View::Graph);
    send(&mut app, tasks, &[]);
    app
}

fn send(app: &mut App, tasks: &[Task], folded: &[u64]) {
    let folded: HashSet<TaskId> = folded.iter().copied().map(TaskId::number).collect();
    app.on_event(AppEvent::Graph(list(), Box::new(GraphPicture::of(tasks, &folded, Rules::Strict))), NOW);
}

fn at(app: &App) -> &str {
    app.at_task.as_ref().map_or("", TaskId::as_str)
}

#[test]
fn the_cursor_follows_the_lines_and_the_picture_scrolls_with_it() {
    let mut app = graph(&chain());
    press(&mut app, "g");
    assert_eq!(at(&app), "1");
    press(&mut app, "l");
    assert_eq!(at(&app), "2");
    press(&mut app, "j");
    assert_eq!(at(&app), "9");
    press(&mut app, "kllll");
    assert_eq!(at(&app), "6");
    let shown = screen(&mut app, 100, 12);
    assert!(shown.contains("#6 Task 6") && !shown.contains("#1 Task 1"), "{shown}");
    assert!(shown.contains("critical path: 8 tasks"), "{shown}");
    press(&mut app, "hhhhhh");
    assert!(screen(&mut app, 100, 12).contains("#1 Task 1"));
}

#[test]
fn more_or_fewer_ranks_are_seen_at_once() {
    let mut app = graph(&chain());
    let ranks = |app: &mut App| {
        let shown = screen(app, 100, 12);
        (1..=8).filter(|number| shown.contains(&format!("#{number} "))).count()
    };
    press(&mut app, "g");
    let before = ranks(&mut app);
    press(&mut app, "--");
    assert_eq!(ranks(&mut app), before + 2);
    press(&mut app, "+++");
    assert_eq!(ranks(&mut app), before - 1);
}

#[test]
fn what_waits_for_a_task_is_folded_away_and_shown_again() {
    let mut app = graph(&chain());
    press(&mut app, "gl");
    app.take_effects();
    press(&mut app, " ");
    let asked = app.take_effects();
    let folded = Resource::Graph(vec![TaskId::number(2)]);
    assert!(asked.contains(&Effect::Read(ReadRequest { list: list(), resource: folded })), "{asked:?}");
    send(&mut app, &chain(), &[2]);
    let shown = screen(&mut app, 100, 12);
    assert!(shown.contains("#2 Task 2 +6") && !shown.contains("#3"), "{shown}");
    app.take_effects();
    press(&mut app, " ");
    assert!(
        app.take_effects().contains(&Effect::Read(ReadRequest { list: list(), resource: Resource::Graph(Vec::new()) }))
    );
}

#[test]
fn tasks_are_worked_on_from_the_graph_too() {
    let mut app = graph(&chain());
    press(&mut app, "gs");
    assert_eq!(deeds(&mut app), [Operation::Start(vec![TaskId::number(1)])]);
    press(&mut app, "l\n");
    assert!(screen(&mut app, 80, 12).contains("Task 2"));
}

/// Sends a mouse event to the middle of an item on the screen.
fn mouse(app: &mut App, kind: MouseEventKind, on: &Hit) {
    screen(app, 120, 20);
    let (place, _) = app.hits.iter().find(|(_, hit)| hit == on).unwrap_or_else(|| panic!("{on:?} is not drawn"));
    let (column, row) = (place.x + place.width / 2, place.y);
    app.on_mouse(&MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }, NOW);
}

fn click(app: &mut App, on: &Hit) {
    mouse(app, MouseEventKind::Down(MouseButton::Left), on);
    // The item that was clicked may no longer be on the screen.
    let kind = MouseEventKind::Up(MouseButton::Left);
    app.on_mouse(&MouseEvent { kind, column: 0, row: 0, modifiers: KeyModifiers::NONE }, NOW);
}

#[test]
fn click_selects_view_or_row_and_second_click_opens() {
    let mut app = app_with(&rocket(), View::List);
    click(&mut app, &Hit::Row(1));
    assert_eq!((app.at_task.clone(), app.is_open), (Some(TaskId::number(12)), false));
    click(&mut app, &Hit::Row(1));
    assert!(app.is_open);
    click(&mut app, &Hit::View(View::Columns));
    assert_eq!((app.view, app.is_open), (View::Columns, false));
}

#[test]
fn a_card_is_dragged_to_another_column() {
    let mut app = app_with(&rocket(), View::Columns);
    mouse(&mut app, MouseEventKind::Down(MouseButton::Left), &Hit::Card(Status::Pending, 0));
    mouse(&mut app, MouseEventKind::Up(MouseButton::Left), &Hit::Column(Status::InProgress));
    assert_eq!(deeds(&mut app), [Operation::Move { tasks: vec![TaskId::number(12)], to: Status::InProgress }]);
    mouse(&mut app, MouseEventKind::Down(MouseButton::Left), &Hit::Card(Status::Pending, 0));
    mouse(&mut app, MouseEventKind::Up(MouseButton::Left), &Hit::Card(Status::Pending, 1));
    assert_eq!(deeds(&mut app), Vec::<Operation>::new());
}

#[test]
fn a_task_of_the_graph_is_clicked() {
    let mut app = app_with(&rocket(), View::Graph);
    app.on_event(AppEvent::Graph(list(), Box::new(GraphPicture::of(&rocket(), &HashSet::new(), Rules::Strict))), NOW);
    click(&mut app, &Hit::Node(TaskId::number(15)));
    assert_eq!(app.at_task, Some(TaskId::number(15)));
    click(&mut app, &Hit::Node(TaskId::number(15)));
    assert!(app.is_open);
}

#[test]
fn the_wheel_moves_the_cursor_and_a_click_chooses_from_a_list() {
    let mut app = app_with(&rocket(), View::List);
    mouse(&mut app, MouseEventKind::ScrollDown, &Hit::Row(0));
    assert_eq!(app.row, 3);
    mouse(&mut app, MouseEventKind::ScrollUp, &Hit::Row(0));
    assert_eq!(app.row, 0);
    press(&mut app, ":columns");
    click(&mut app, &Hit::Choice(0));
    assert_eq!(app.view, View::Columns);
}

#[test]
fn every_property_has_a_key_on_the_selection_too() {
    let set = |property, value: &str| Operation::Set { tasks: both(), property, value: value.into() };
    for (keys, operation) in [
        ("P\n", set(Property::Priority, "high")),
        ("Plow\n", set(Property::Priority, "low")),
        ("Dfri\n", set(Property::Due, "fri")),
        ("D2026-12-24\n", set(Property::Due, "2026-12-24")),
        ("Wnone\n", set(Property::Defer, "none")),
        ("Tops -docs\n", set(Property::Tags, "ops -docs")),
        ("Z90m\n", set(Property::Estimate, "90m")),
        ("O#3\n", set(Property::Parent, "3")),
        ("Ibug\n", set(Property::Kind, "bug")),
    ] {
        let mut app = three();
        press(&mut app, keys);
        assert_eq!(deeds(&mut app), [operation], "{keys}");
    }
    // Invalid input is refused where it is typed.
    let mut app = three();
    press(&mut app, "Dfreitag\n");
    assert_eq!(deeds(&mut app), Vec::<Operation>::new());
    assert!(screen(&mut app, 100, 14).contains("invalid time `freitag`"));
}

#[test]
fn tag_that_all_tasks_have_is_offered_for_removal() {
    let mut tagged = task(1, "One", Status::Pending);
    tagged.metadata = serde_json::json!({"tags": ["ops"]}).as_object().cloned();
    let mut app = app_with(&[tagged], View::List);
    press(&mut app, "T");
    assert!(screen(&mut app, 80, 10).contains("-ops"));
    press(&mut app, "\n");
    let tags = Operation::Set { tasks: vec![TaskId::number(1)], property: Property::Tags, value: "-ops".into() };
    assert_eq!(deeds(&mut app), [tags]);
}

#[test]
fn mistake_in_a_new_task_is_corrected_where_it_is_typed() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "cfix login +ops due:freitag\n");
    let shown = screen(&mut app, 100, 12);
    assert!(shown.contains("`due:freitag`") && shown.contains("fix login"), "{shown}");
    assert_eq!(deeds(&mut app), Vec::<Operation>::new());
    for _ in 0..7 {
        app.on_key(&KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE), NOW);
    }
    press(&mut app, "fri");
    let shown = screen(&mut app, 100, 12);
    assert!(shown.contains("due Fri") && shown.contains("+ops"), "{shown}");
    press(&mut app, "\n");
    let line = "fix login +ops due:fri".to_owned();
    assert_eq!(deeds(&mut app), [Operation::Create { line, parent: None }]);
}

#[test]
fn palette_finds_tasks_lists_and_agents() {
    let mut app = app_with(&rocket(), View::Jobs);
    press(&mut app, ":the docs\n");
    assert_eq!((app.view, app.at_task.clone()), (View::List, Some(TaskId::number(12))));
    press(&mut app, ":#15\n");
    assert_eq!(app.at_task, Some(TaskId::number(15)));
    // A completed task is shown, although the others are folded.
    press(&mut app, ":step 3\n");
    assert_eq!(app.at_task, Some(TaskId::number(3)));
    press(&mut app, ":bo\n");
    assert_eq!(app.view, View::Agents);
    press(&mut app, ":moon");
    let row = |name: &str| ListRow {
        list: ListId::new(name).unwrap(),
        counts: [0; 3],
        changed: None,
        gone: None,
        alive: Vec::new(),
    };
    app.on_event(AppEvent::Lists(vec![row("moon"), row("rocket")]), NOW);
    press(&mut app, "\n");
    assert!(app.take_effects().contains(&Effect::Follow(ListId::new("moon").unwrap())));
}

#[test]
fn refusal_names_the_key_that_resolves_it() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "d");
    let done = Operation::Done(vec![TaskId::number(7)]);
    assert_eq!(deeds(&mut app), std::slice::from_ref(&done));
    let hint = Some("take another task with `taskyard claim --next`; a person can override this with --force".into());
    let refused = Refused { code: "leased", message: "bo has #7".into(), hint };
    let answer = Answer { answer: Err(refused), forcible: Some(done.clone()), ..Answer::without_changes() };
    app.on_event(AppEvent::Answered(Box::new(answer)), NOW);
    let shown = screen(&mut app, 100, 12);
    assert!(shown.contains("press F to do it anyway") && !shown.contains("--force"), "{shown}");
    press(&mut app, "F");
    let forced = WriteRequest { list: list(), operation: done, is_forced: true };
    assert!(app.take_effects().contains(&Effect::Write(forced)));
    press(&mut app, "F");
    assert!(screen(&mut app, 100, 12).contains("no refused action"));
    // Commands in other hints are written with `:`.
    let refused = Refused { code: "x", message: "no".into(), hint: Some("see `taskyard history 7`".into()) };
    app.on_event(AppEvent::Answered(Box::new(Answer { answer: Err(refused), ..Answer::without_changes() })), NOW);
    assert!(screen(&mut app, 100, 12).contains("see `:history 7`"));
}

#[test]
fn cursor_returns_when_a_creation_is_undone() {
    let mut app = app_with(&rocket(), View::List);
    press(&mut app, "j");
    assert_eq!(app.at_task, Some(TaskId::number(12)));
    let new = task(17, "Just made", Status::Pending);
    let commit = |revision, entry| AppEvent::Commits(vec![Event { list: list(), revision, entries: vec![entry] }]);
    app.on_event(commit(Revision(10), entry(10, Op::Create, &new)), NOW);
    let made = Answer { made: Some(new.id.clone()), revisions: vec![Revision(10)], ..Answer::without_changes() };
    app.on_event(AppEvent::Answered(Box::new(made)), NOW);
    app.arrange();
    assert_eq!(app.at_task, Some(new.id.clone()));
    let mut gone = entry(11, Op::Undo, &new);
    (gone.before, gone.after) = (gone.after.take(), None);
    app.on_event(commit(Revision(11), gone), NOW);
    app.arrange();
    assert_eq!(app.at_task, Some(TaskId::number(12)));
}

#[test]
fn typed_command_runs_in_a_pane() {
    let mut app = app_with(&rocket(), View::List);
    app.open_pane("stats".into());
    app.on_event(AppEvent::PaneLines(vec!["10 tasks".into()]), NOW);
    let shown = screen(&mut app, 80, 16);
    assert!(shown.contains("taskyard stats") && shown.contains("10 tasks") && shown.contains("Parser"), "{shown}");
    app.on_event(AppEvent::PaneEnded(PaneEnd::Code(3)), NOW);
    assert!(screen(&mut app, 80, 16).contains("exit code 3"));
    press(&mut app, "\x1b");
    assert!(!screen(&mut app, 80, 16).contains("10 tasks"));
    // Closing the pane stops a running command, and a command without output leaves a message.
    app.open_pane("job wait".into());
    app.take_effects();
    press(&mut app, "\x1b");
    assert!(app.take_effects().contains(&Effect::StopCommand));
    app.open_pane("start 7".into());
    app.on_event(AppEvent::PaneEnded(PaneEnd::Code(0)), NOW);
    assert!(screen(&mut app, 80, 16).contains("taskyard start 7"));
}
