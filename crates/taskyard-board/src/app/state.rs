//! The state of the board: views, settings and everything it remembers while it is open.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::layout::Rect;
use taskyard::config::NoticeKind;
use taskyard::core::render::Look;
use taskyard::core::rules::agents::is_same_agent;
use taskyard::core::rules::health::may_be_of_ended_session;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::rules::looking::query::Times;
use taskyard::core::timing::Clock;
use taskyard::core::view::{
    Action, AgentRow, Arrangement, GraphPicture, JobRow, ListRow, LiveFilter, Need, NeedKind, Step, Tally, TodosShown,
    Wanted, WatchedList,
};
use taskyard::core::{AgentName, JobId, Lease, ListId, Revision, Status, TaskId, Timestamp};
use taskyard::operations::Gone;
use taskyard::teams::TeamShown;

use super::{Picker, Prompt};
use crate::keymap::Keymap;
use crate::messages::{AgentOutput, Answer, Mail, Operation, PageFacts, PaneEnd, ReadRequest, Resource, WriteRequest};
use crate::theme::Theme;

/// The user's settings, fixed while the board is open.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The key bindings.
    pub keymap: Keymap,
    /// The colours.
    pub theme: Theme,
    /// Whether to draw characters beyond ASCII.
    pub unicode: bool,
    /// How many completed tasks to show before the rest is summarised as `+N completed`.
    pub completed_after: usize,
    /// The release of the client whose line format the list uses; `None` for our own.
    pub style: Option<ClientStyle>,
    /// How often to read todo lists, in milliseconds; `None` if there are none to read.
    pub todo_period: Option<i64>,
    /// The time zone for input and display.
    pub zone: &'static TimeZone,
    /// The length of a day in estimates.
    pub working_day: Duration,
    /// The commands of the CLI, each with a description.
    pub commands: Vec<(String, String)>,
}

/// A release of the client with a line format of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientStyle {
    /// With numbers: `#3. [pending] Deploy`.
    V2_1_19,
    /// Without numbers: `◻ Deploy`.
    V2_1_20,
}

/// An effect requested by the state in response to a key, an event or the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Write(WriteRequest),
    Read(ReadRequest),
    /// Follow another list.
    Follow(ListId),
    /// Edit tasks in the user's editor, one after the other.
    Edit(Vec<TaskId>),
    /// Run a `taskyard` command with these arguments.
    Run(String),
    /// Show a desktop notice.
    Notify {
        kind: NoticeKind,
        title: String,
        text: String,
    },
    /// Stop the command in the pane.
    StopCommand,
    Suspend,
    Quit,
}

/// What keyboard input is used for.
#[derive(Debug, Default)]
pub(crate) enum Mode {
    #[default]
    Browsing,
    Typing(Prompt),
    Picking(Box<Picker>),
    Help,
    Pane(Pane),
}

/// The output of a command that the user typed.
#[derive(Debug)]
pub(crate) struct Pane {
    pub(crate) command: String,
    pub(crate) lines: Vec<String>,
    /// How it ended; `None` while it runs.
    pub(crate) end: Option<PaneEnd>,
    /// How many lines the pane is scrolled back from the end.
    pub(crate) scroll: usize,
}

/// Where the cursor was before it moved to a new task.
#[derive(Debug)]
pub(super) struct BeforeCreation {
    pub(super) created: TaskId,
    pub(super) at_task: Option<TaskId>,
    /// Whether the list has shown the new task yet.
    pub(super) is_shown: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusMessage {
    pub(crate) kind: MessageKind,
    pub(crate) text: String,
    pub(crate) hint: Option<String>,
    /// When the message expires; `None` if it stays until the next key press.
    pub(crate) until: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Done,
    Refused,
}

/// What is at a position on the screen, for the mouse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    View(View),
    Row(usize),
    Card(Status, usize),
    Column(Status),
    Choice(usize),
    Detail,
    Node(TaskId),
}

/// The visible part of the graph.
#[derive(Debug, Default)]
pub(crate) struct GraphViewport {
    pub(crate) picture: Box<GraphPicture>,
    /// The tasks whose dependents are folded.
    pub(crate) folded: BTreeSet<TaskId>,
    pub(crate) first_rank: usize,
    pub(crate) first_row: usize,
    /// How many ranks to show side by side; `None` for as many as fit.
    pub(crate) ranks: Option<usize>,
    /// How many ranks were shown when it was last drawn.
    pub(crate) drawn_ranks: usize,
}

/// The part of the history that has been loaded.
#[derive(Debug, Default)]
pub(crate) struct LoadedHistory {
    pub(crate) steps: Vec<Step>,
    /// Whether the history is loaded completely.
    pub(crate) is_all: bool,
    /// Whether more has been requested.
    pub(crate) is_asked: bool,
}

#[derive(Debug)]
pub(crate) struct App {
    pub(crate) settings: Settings,
    pub(crate) actor: AgentName,
    pub(crate) list: ListId,
    pub(crate) view: View,
    pub(crate) mode: Mode,
    pub(crate) now: Timestamp,
    pub(crate) size: (u16, u16),

    /// `None` until it has been read for the first time.
    pub(crate) watched: Option<WatchedList>,
    pub(crate) exists: bool,
    pub(crate) gone: Option<Gone>,
    /// Why task files cannot be read, keyed by task.
    pub(crate) unreadable: BTreeMap<TaskId, String>,
    /// Why the list cannot be followed at the moment.
    pub(crate) lost: Option<String>,
    pub(crate) arrangement: Arrangement,
    pub(crate) tally: Tally,
    pub(crate) needs: Vec<Need>,
    pub(crate) leases: HashMap<TaskId, (Lease, LeaseState)>,
    /// Tasks in progress whose sessions have ended.
    pub(crate) abandoned: BTreeSet<TaskId>,

    /// The task under the cursor; `None` if the cursor is on something else.
    pub(crate) at_task: Option<TaskId>,
    /// The row of the cursor in the current view.
    pub(crate) row: usize,
    /// The first visible row.
    pub(crate) top: usize,
    pub(crate) column: Status,
    pub(crate) column_tops: [usize; 3],
    pub(crate) selected: BTreeSet<TaskId>,
    pub(crate) folded: HashSet<TaskId>,
    pub(crate) shows_all_done: bool,
    pub(crate) filter_text: String,
    pub(crate) filter: Option<LiveFilter>,
    /// What is wrong with the filter that was last typed.
    pub(crate) filter_mistake: Option<String>,

    /// Whether the item under the cursor fills the screen.
    pub(crate) is_open: bool,
    pub(crate) page: Option<Box<PageFacts>>,
    pub(crate) page_scroll: usize,
    pub(crate) help_scroll: usize,

    pub(crate) jobs: Vec<JobRow>,
    pub(crate) output: Option<(JobId, Vec<String>)>,
    pub(crate) team: Option<Box<TeamShown>>,
    /// The agents that work here, whether or not they are in the team.
    pub(crate) agents: Vec<AgentRow>,
    /// The output of agents that run jobs.
    pub(crate) agent_outputs: Vec<AgentOutput>,
    pub(crate) mail: Mail,
    pub(crate) lists: Option<Vec<ListRow>>,
    pub(crate) history: LoadedHistory,
    pub(crate) graph: GraphViewport,
    /// The todo lists that have an item in progress.
    pub(crate) todos: Vec<TodosShown>,
    /// When tasks were created and changed; `None` until the user asks for it.
    pub(crate) times: Option<HashMap<TaskId, Times>>,

    pub(crate) message: Option<StatusMessage>,
    /// Until when recently changed tasks are highlighted.
    pub(crate) flashes: HashMap<TaskId, Timestamp>,
    /// The refused operation that F repeats with force.
    pub(crate) forcible: Option<Operation>,
    /// The task that was created last, and where the cursor was before.
    pub(super) before_creation: Option<BeforeCreation>,
    /// The number of items that need a person and of unread messages, when last counted.
    pub(super) counted: Option<(usize, usize)>,
    /// The number of write requests in progress.
    pub(crate) under_way: usize,
    /// Answers that the followed list has not caught up with, and until when each is held back.
    pub(super) answers: Vec<(Timestamp, Answer)>,
    /// The revisions made by undos on this board, which redo reverts.
    pub(crate) undone: Vec<Revision>,
    /// The revisions made by each operation on this board, newest last, without undos.
    pub(crate) made: Vec<Vec<Revision>>,
    /// Whether the tasks were already brought to the front because an agent worked on them.
    pub(crate) was_brought_to_front: bool,
    /// When data that the stream does not report was last requested.
    pub(crate) asked_at: Timestamp,
    /// When todo lists were last requested.
    pub(crate) todos_asked_at: Timestamp,
    /// Where items were drawn, for the mouse.
    pub(crate) hits: Vec<(Rect, Hit)>,
    /// How many rows the view had when it was last drawn.
    pub(crate) page_rows: usize,
    pub(crate) dragged: Option<TaskId>,

    pub(crate) is_dirty: bool,
    pub(super) is_arranged: bool,
    pub(super) effects: Vec<Effect>,
}

impl App {
    pub(crate) fn new(settings: Settings, actor: AgentName, list: ListId, view: View, now: Timestamp) -> Self {
        let mut app = Self {
            settings,
            actor,
            list,
            view,
            mode: Mode::default(),
            now,
            size: (80, 24),
            watched: None,
            exists: true,
            gone: None,
            unreadable: BTreeMap::new(),
            lost: None,
            arrangement: Arrangement::default(),
            tally: Tally::default(),
            needs: Vec::new(),
            leases: HashMap::new(),
            abandoned: BTreeSet::new(),
            at_task: None,
            row: 0,
            top: 0,
            column: Status::Pending,
            column_tops: [0; 3],
            selected: BTreeSet::new(),
            folded: HashSet::new(),
            shows_all_done: false,
            filter_text: String::new(),
            filter: None,
            filter_mistake: None,
            is_open: false,
            page: None,
            page_scroll: 0,
            help_scroll: 0,
            jobs: Vec::new(),
            output: None,
            team: None,
            agents: Vec::new(),
            agent_outputs: Vec::new(),
            mail: Mail::default(),
            lists: None,
            history: LoadedHistory::default(),
            graph: GraphViewport::default(),
            todos: Vec::new(),
            times: None,
            message: None,
            flashes: HashMap::new(),
            forcible: None,
            before_creation: None,
            counted: None,
            under_way: 0,
            answers: Vec::new(),
            undone: Vec::new(),
            made: Vec::new(),
            was_brought_to_front: false,
            asked_at: now,
            todos_asked_at: now,
            hits: Vec::new(),
            page_rows: 20,
            dragged: None,
            is_dirty: true,
            is_arranged: false,
            effects: Vec::new(),
        };
        app.request_all();
        app
    }

    /// Takes the pending effects.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Returns how to render lines of `width` columns.
    pub(crate) fn look(&self, width: usize) -> Look {
        Look {
            unicode: self.settings.unicode,
            width: Some(width),
            now: Some(self.now),
            zone: self.settings.zone,
            by_clock: false,
        }
    }

    /// Computes the rows if something has changed since.
    pub(crate) fn arrange(&mut self) {
        let Some(watched) = self.watched.as_ref().filter(|_| !self.is_arranged) else { return };
        let wanted = Wanted {
            completed_after: (!self.shows_all_done && self.filter.is_none()).then_some(self.settings.completed_after),
            folded: Some(&self.folded),
            chosen: self.filter.as_ref().map(LiveFilter::chosen),
        };
        self.arrangement = Arrangement::of(watched.live(), &wanted);
        self.tally = watched.tally();
        self.needs = watched.needs(self.now);
        let live = watched.live();
        let still = self.abandoned.iter().filter(|id| live.task(id).is_some_and(|task| may_be_of_ended_session(&task)));
        self.needs.extend(still.map(|id| Need { task: id.clone(), kind: NeedKind::StaleOwner }));
        let known = self.unreadable.keys().filter(|id| live.contains(id));
        self.needs.extend(known.map(|id| Need { task: id.clone(), kind: NeedKind::Unreadable }));
        self.needs.sort_by(|one, two| one.task.cmp(&two.task));
        self.needs.dedup_by(|two, one| one.task == two.task);
        self.is_arranged = true;
        if self.view == View::Agents {
            self.note_agents();
        }
        self.keep_the_cursor();
    }

    /// Marks the rows as out of date.
    pub(super) fn disarrange(&mut self) {
        self.is_arranged = false;
        self.is_dirty = true;
    }

    /// Repeats the refused operation with force.
    pub(super) fn force(&mut self) {
        if let Some(operation) = self.forcible.take() {
            self.under_way += 1;
            self.effects.push(Effect::Write(WriteRequest { list: self.list.clone(), operation, is_forced: true }));
            self.is_dirty = true;
        }
    }

    /// Returns the clock by which typed times are interpreted.
    pub(crate) fn clock(&self) -> Clock {
        Clock { working_day: self.settings.working_day, ..Clock::new(self.now, self.settings.zone.clone()) }
    }

    /// Submits a write operation on the list.
    pub(super) fn submit(&mut self, operation: Operation) {
        self.forcible = None;
        self.under_way += 1;
        self.effects.push(Effect::Write(WriteRequest { list: self.list.clone(), operation, is_forced: false }));
        self.is_dirty = true;
    }

    pub(super) fn request(&mut self, resource: Resource) {
        self.effects.push(Effect::Read(ReadRequest { list: self.list.clone(), resource }));
    }

    /// Requests everything that is shown besides tasks.
    pub(super) fn request_all(&mut self) {
        for resource in [Resource::Mail, Resource::Jobs, Resource::Team] {
            self.request(resource);
        }
        self.request_todos();
        self.request_view();
    }

    /// Requests the todo lists of the agents that work here.
    pub(super) fn request_todos(&mut self) {
        self.todos_asked_at = self.now;
        let mut names: BTreeSet<String> = self.agents.iter().map(|agent| agent.name.clone()).collect();
        names.insert(self.actor.to_string());
        self.request(Resource::Todos(names.into_iter().collect()));
    }

    pub(super) fn show_message(&mut self, kind: MessageKind, text: impl Into<String>, hint: Option<String>) {
        const SHOWN: i64 = 4_000;
        let until = (kind == MessageKind::Done).then_some(Timestamp(self.now.0 + SHOWN));
        self.message = Some(StatusMessage { kind, text: text.into(), hint, until });
        self.is_dirty = true;
    }

    pub(crate) fn lease(&self, id: &TaskId) -> Option<&(Lease, LeaseState)> {
        self.leases.get(id)
    }

    /// Returns the key of an action, as displayed.
    pub(crate) fn key(&self, action: Action) -> Option<&str> {
        self.settings.keymap.key(action)
    }

    /// Returns the output of the agent under the cursor, in the agents view.
    pub(crate) fn output_of_agent(&self) -> Option<&AgentOutput> {
        let agent = self.agents.get(self.row).filter(|_| self.view == View::Agents)?;
        self.agent_outputs.iter().find(|output| is_same_agent(&output.agent, &agent.name))
    }

    pub(crate) fn need_of(&self, id: &TaskId) -> Option<NeedKind> {
        let found = self.needs.binary_search_by(|need| need.task.cmp(id)).ok()?;
        Some(self.needs[found].kind)
    }

    /// Returns how many items need a person.
    pub(crate) fn count_needs(&self) -> usize {
        let jobs = self.jobs.iter().filter(|job| job.needs_a_person).count();
        let agents = self.agents.iter().filter(|agent| agent.needs_a_person()).count();
        let others = usize::from(self.mail.unread() > 0) + self.unreadable_rows().len();
        self.needs.len() + jobs + agents + others
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum View {
    /// The tasks, one per line.
    #[default]
    List,
    /// Pending, in progress and completed side by side.
    Columns,
    /// The dependencies.
    Graph,
    /// The agents of a list, and what each is doing.
    Agents,
    /// Background jobs and their output.
    Jobs,
    Mail,
    History,
    /// Every list of the store.
    Lists,
}

impl View {
    /// Every view, in the order of its number key.
    pub(crate) const ALL: [Self; 8] =
        [Self::List, Self::Columns, Self::Graph, Self::Agents, Self::Jobs, Self::Mail, Self::History, Self::Lists];

    /// Returns the action that shows this view.
    pub(crate) const fn action(self) -> Action {
        match self {
            Self::List => Action::ShowList,
            Self::Columns => Action::ShowColumns,
            Self::Graph => Action::ShowGraph,
            Self::Agents => Action::ShowAgents,
            Self::Jobs => Action::ShowJobs,
            Self::Mail => Action::ShowMail,
            Self::History => Action::ShowHistory,
            Self::Lists => Action::ShowLists,
        }
    }

    /// Returns the view that an action shows.
    pub(crate) fn shown_by(action: Action) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.action() == action)
    }

    /// Returns whether the cursor is on tasks in this view.
    pub(crate) const fn has_tasks(self) -> bool {
        matches!(self, Self::List | Self::Columns | Self::Graph)
    }
}
