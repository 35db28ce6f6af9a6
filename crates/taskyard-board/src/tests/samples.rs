//! Sample boards, and helpers that type on them.

use std::collections::BTreeMap;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use taskyard::core::dialect::native;
use taskyard::core::live::LiveList;
use taskyard::core::render::Look;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::view::WatchedList;
use taskyard::core::{
    AgentName, ClientVersion, Entry, Event, Job, JobFate, JobKind, JobOutput, Lease, ListId, Member, Moment, Op,
    ProcessMark, Remark, Revision, Rules, Status, Task, TaskId, Team, TeamName, Timestamp, Token,
};
use taskyard::teams::{MemberShown, MemberState, PlanState, TeamShown};

use crate::app::{App, Effect, Settings, View};
use crate::draw::draw;
use crate::keymap::Keymap;
use crate::messages::{AppEvent, Loaded};
use crate::messages::{Operation, WriteRequest};
use crate::theme::{Theme, ThemeChoice};

/// A fixed time.
pub(super) const NOW: Timestamp = Timestamp(1_794_704_520_000);

pub(super) fn task(number: u64, subject: &str, status: Status) -> Task {
    Task { status, ..Task::new(TaskId::number(number), subject) }
}

pub(super) fn list() -> ListId {
    ListId::new("rocket").unwrap()
}

pub(super) fn ana() -> AgentName {
    AgentName::new("ana").unwrap()
}

/// A list with an example of everything.
pub(super) fn rocket() -> Vec<Task> {
    let mut parser = task(7, "Parser", Status::InProgress);
    parser.owner = Some("bo".into());
    parser.active_form = Some("Writing tests".into());
    let mut docs = task(12, "Write the docs", Status::Pending);
    docs.description = "All of **it**, with\n\n- a tour\n- a reference".into();
    docs.metadata = json!({
        "tags": ["docs"], "priority": "high",
        "notes": [{"at": "2026-11-14T10:02:00.000Z", "author": "ana", "text": "numbers are from the first run"}],
    })
    .as_object()
    .cloned();
    let mut tour = task(13, "The tour", Status::Completed);
    tour.metadata = json!({"parent": "12"}).as_object().cloned();
    let mut reference = task(14, "The reference", Status::Pending);
    reference.metadata = json!({"parent": "12", "due": "2026-01-01T00:00:00Z"}).as_object().cloned();
    let mut ship = task(15, "Ship it", Status::Pending);
    ship.blocked_by = vec![TaskId::number(7), TaskId::number(12)];
    let mut hidden = task(16, "Nobody sees this", Status::Pending);
    hidden.metadata = json!({"_internal": true}).as_object().cloned();
    let mut dropped = task(2, "An idea", Status::Completed);
    dropped.metadata = json!({"cancelled": true}).as_object().cloned();
    let done = (3..=6).map(|number| task(number, &format!("Step {number}"), Status::Completed));
    [parser, docs, tour, reference, ship, hidden, dropped].into_iter().chain(done).collect()
}

pub(super) fn loaded(tasks: &[Task]) -> AppEvent {
    let mut live = LiveList::new(Rules::Strict);
    for task in tasks {
        live.put_read(task, native::write(None, task, Rules::Strict).unwrap());
    }
    let watched = WatchedList::at(live, Revision(9), NOW);
    AppEvent::Loaded(Box::new(Loaded { list: list(), watched, exists: true, gone: None, unreadable: BTreeMap::new() }))
}

pub(super) fn settings() -> Settings {
    let keymap = Keymap::with(&BTreeMap::new()).unwrap();
    Settings {
        keymap,
        theme: Theme::of(ThemeChoice::Terminal),
        unicode: true,
        completed_after: 3,
        style: None,
        todo_period: Some(3000),
        zone: Look::PIPE.zone,
        working_day: taskyard::core::timing::WORKING_DAY,
        commands: vec![("merge".into(), "Put a list into another".into()), ("done".into(), "Complete tasks".into())],
    }
}

pub(super) fn app_with(tasks: &[Task], view: View) -> App {
    let mut app = App::new(settings(), ana(), list(), view, NOW);
    app.on_event(loaded(tasks), NOW);
    let lease = Lease {
        task: TaskId::number(7),
        agent: AgentName::new("bo").unwrap(),
        token: Token(1),
        taken: Timestamp(NOW.0 - 720_000),
        ttl: None,
        ends: Some(Moment { wall: Timestamp(NOW.0 + 2_880_000), boot: String::new(), since_boot: 0 }),
        holder: None,
    };
    app.on_event(AppEvent::Leases(list(), vec![(lease, LeaseState::Live)], Default::default()), NOW);
    app
}

pub(super) fn entry(revision: u64, op: Op, task: &Task) -> Entry {
    Entry {
        revision: Revision(revision),
        at: Timestamp(NOW.0 - 3_600_000),
        actor: ana(),
        op,
        task: task.id.clone(),
        before: None,
        after: Some(native::write(None, task, Rules::Strict).unwrap()),
        undoes: Vec::new(),
        remark: Remark::default(),
        attempt: None,
        db_user: None,
    }
}

/// Returns a commit by another program.
pub(super) fn by_client(revision: u64, op: Op, task: &Task) -> AppEvent {
    let entry = Entry { actor: AgentName::new("client").unwrap(), ..entry(revision, op, task) };
    AppEvent::Commits(vec![Event { list: list(), revision: Revision(revision), entries: vec![entry] }])
}

/// Returns the screen as text.
pub(super) fn screen(app: &mut App, columns: u16, rows: u16) -> String {
    drawn(app, columns, rows).backend().to_string()
}

pub(super) fn drawn(app: &mut App, columns: u16, rows: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    terminal
}

/// Draws a board at three sizes, one below the other.
pub(super) fn at_three_sizes(mut make: impl FnMut() -> App) -> String {
    [(80, 24), (120, 40), (40, 15)].map(|(columns, rows)| screen(&mut make(), columns, rows)).join("\n")
}

pub(super) fn press(app: &mut App, keys: &str) {
    for letter in keys.chars() {
        let code = match letter {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            letter => KeyCode::Char(letter),
        };
        app.on_key(&KeyEvent::new(code, KeyModifiers::NONE), NOW);
    }
}

pub(super) fn deeds(app: &mut App) -> Vec<Operation> {
    let deed = |effect| match effect {
        Effect::Write(WriteRequest { operation, .. }) => Some(operation),
        _ => None,
    };
    app.take_effects().into_iter().filter_map(deed).collect()
}

/// Returns a running job.
pub(super) fn job() -> Job {
    let supervisor = ProcessMark { pid: 1, started: 1, boot: "b".into(), ..ProcessMark::default() };
    Job {
        id: "b3f0874".parse().unwrap(),
        kind: JobKind::LocalBash,
        description: "the long test".into(),
        name: None,
        fate: JobFate::Running { pid: 2, supervisor },
        started: Timestamp(NOW.0 - 300_000),
        output_file: "/tmp/x/b3f0874.output".into(),
        form: ClientVersion::V2_1_34,
        output: JobOutput::default(),
        output_offset: 0,
        notified: false,
        task: Some(TaskId::number(7)),
        reopens_task: false,
        command: ["make", "test"].map(str::to_owned).to_vec(),
        directory: "/tmp".into(),
        agent: ana(),
        list: list(),
        store: "claude:".into(),
        tool_use: None,
        time_limit: None,
        max_output: 1000,
        last_seen: NOW,
        machine: None,
    }
}

/// Returns a team of two: one at work, one whose process has ended.
pub(super) fn team() -> TeamShown {
    let member = |name: &str, color: &str| Member {
        name: name.into(),
        agent_id: format!("{name}@rocket"),
        agent_type: None,
        model: None,
        prompt: None,
        color: Some(color.into()),
        plan_mode_required: false,
        joined_at: Timestamp(NOW.0 - 7_200_000),
        cwd: None,
        backend_type: None,
        pane: None,
    };
    let members = vec![member("bo", "blue"), member("cleo", "green")];
    let shown = |member: &Member, state| MemberShown {
        member: member.clone(),
        state,
        standing: None,
        process: None,
        tasks: Vec::new(),
        unread: None,
        inbox_problem: None,
        plan: PlanState::default(),
        seen: None,
        activity: None,
        tool_uses: None,
        tokens: None,
    };
    let busy = MemberShown {
        tasks: vec![(TaskId::number(7), "Parser".into())],
        unread: Some(2),
        tool_uses: Some(41),
        tokens: Some(90_210),
        activity: Some("TaskUpdate".into()),
        seen: Some(Timestamp(NOW.0 - 60_000)),
        ..shown(&members[0], MemberState::Running)
    };
    let gone = shown(&members[1], MemberState::Ghost);
    let team = Team {
        name: TeamName::new("rocket").unwrap(),
        description: None,
        created_at: Timestamp(0),
        lead_session: None,
        lead_process: None,
        members,
    };
    TeamShown { team, members: vec![busy, gone] }
}
