//! Everything the board remembers while it is open.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::tz::TimeZone;
use ratatui::layout::Rect;
use taskyard::core::render::Look;
use taskyard::core::rules::health::may_be_of_ended_session;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::rules::looking::query::Times;
use taskyard::core::view::{
    Action, AgentRow, Arrangement, GraphPicture, JobRow, ListRow, LiveFilter, Need, NeedKind, Step, Tally, TodosShown,
    Wanted, WatchedList,
};
use taskyard::core::{AgentName, JobId, Lease, ListId, Revision, Status, TaskId, Timestamp};
use taskyard::operations::Gone;
use taskyard::teams::TeamShown;

use super::{Picker, Prompt, View};
use crate::deed::{About, Ask, Deed, What};
use crate::keymap::Keymap;
use crate::news::{Did, Mail, PageFacts};
use crate::theme::Theme;

/// What the user chose before the board was opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What each key does.
    pub keymap: Keymap,
    /// The colours.
    pub theme: Theme,
    /// Whether more than ASCII is shown.
    pub unicode: bool,
    /// How many completed tasks are shown before the rest becomes `+N completed`.
    pub completed_after: usize,
    /// The release of the client whose lines are shown in the list; ours where none is.
    pub style: Option<ClientStyle>,
    /// How often todo lists are looked at, in milliseconds; none where there are none to look at.
    pub todo_period: Option<i64>,
    /// The zone in which days are meant and times are shown.
    pub zone: &'static TimeZone,
    /// The commands of the command line, each with what it does.
    pub commands: Vec<(String, String)>,
}

/// A release of the client that had lines of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientStyle {
    /// With numbers: `#3. [pending] Deploy`.
    V2_1_19,
    /// Without numbers: `◻ Deploy`.
    V2_1_20,
}

/// What is to be done because of a key, news, or time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Do(Deed),
    Ask(Ask),
    /// Follow another list.
    Follow(ListId),
    /// Edit tasks in the user's editor, one after the other.
    Edit(Vec<TaskId>),
    /// Run a command of ours with these arguments.
    Run(String),
    Suspend,
    Quit,
}

/// What the keyboard is for at the moment.
#[derive(Debug, Default)]
pub(crate) enum Mode {
    #[default]
    Browsing,
    Typing(Prompt),
    Picking(Box<Picker>),
    Help,
}

/// What was said last, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) kind: SaidKind,
    pub(crate) text: String,
    pub(crate) hint: Option<String>,
    /// Until when it is shown; none: until the next key.
    pub(crate) until: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaidKind {
    Done,
    Refused,
}

/// What lies under a place of the screen.
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

/// Where the graph is looked at.
#[derive(Debug, Default)]
pub(crate) struct GraphSight {
    pub(crate) picture: Box<GraphPicture>,
    /// The tasks behind which everything is folded away.
    pub(crate) folded: BTreeSet<TaskId>,
    pub(crate) first_rank: usize,
    pub(crate) first_row: usize,
    /// How many ranks stand side by side; none where as many as there is room for.
    pub(crate) ranks: Option<usize>,
    /// How many stood side by side when it was last drawn.
    pub(crate) drawn_ranks: usize,
}

/// What happened on the list, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) steps: Vec<Step>,
    /// Whether there is nothing older.
    pub(crate) is_all: bool,
    /// Whether more of it is on its way.
    pub(crate) is_asked: bool,
}

/// The board.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) settings: Settings,
    pub(crate) actor: AgentName,
    pub(crate) list: ListId,
    pub(crate) view: View,
    pub(crate) mode: Mode,
    pub(crate) now: Timestamp,
    pub(crate) size: (u16, u16),

    /// None until it was read for the first time.
    pub(crate) watched: Option<WatchedList>,
    pub(crate) exists: bool,
    pub(crate) gone: Option<Gone>,
    /// Why files among the tasks cannot be read, by the name of the task.
    pub(crate) unreadable: BTreeMap<TaskId, String>,
    /// Why the list is not followed at the moment.
    pub(crate) lost: Option<String>,
    pub(crate) arrangement: Arrangement,
    pub(crate) tally: Tally,
    pub(crate) needs: Vec<Need>,
    pub(crate) leases: HashMap<TaskId, (Lease, LeaseState)>,
    /// The tasks in progress for sessions that have ended.
    pub(crate) abandoned: BTreeSet<TaskId>,

    /// The task under the cursor; none where it stands on something else.
    pub(crate) at_task: Option<TaskId>,
    /// The row of the cursor in the view that is shown.
    pub(crate) row: usize,
    /// The first row that is seen.
    pub(crate) top: usize,
    pub(crate) column: Status,
    pub(crate) column_tops: [usize; 3],
    pub(crate) selected: BTreeSet<TaskId>,
    pub(crate) folded: HashSet<TaskId>,
    pub(crate) shows_all_done: bool,
    pub(crate) filter_text: String,
    pub(crate) filter: Option<LiveFilter>,
    /// What is wrong with what was typed last to filter by.
    pub(crate) filter_mistake: Option<String>,

    /// Whether what is under the cursor fills the screen.
    pub(crate) is_open: bool,
    pub(crate) page: Option<Box<PageFacts>>,
    pub(crate) page_scroll: usize,
    pub(crate) help_scroll: usize,

    pub(crate) jobs: Vec<JobRow>,
    pub(crate) output: Option<(JobId, Vec<String>)>,
    pub(crate) team: Option<Box<TeamShown>>,
    /// The agents that work here, in the team or not.
    pub(crate) agents: Vec<AgentRow>,
    pub(crate) mail: Mail,
    pub(crate) lists: Option<Vec<ListRow>>,
    pub(crate) past: Past,
    pub(crate) graph: GraphSight,
    /// The todo lists of which something is in progress.
    pub(crate) todos: Vec<TodosShown>,
    /// When tasks were made and changed; none until the user asks for it.
    pub(crate) times: Option<HashMap<TaskId, Times>>,

    pub(crate) said: Option<Said>,
    /// Until when tasks glow that have just changed.
    pub(crate) flashes: HashMap<TaskId, Timestamp>,
    /// How many deeds are under way.
    pub(crate) under_way: usize,
    /// Answers that the list is behind, and until when each waits for it.
    pub(super) answers: Vec<(Timestamp, Did)>,
    /// The undos of this board, which redoing takes back.
    pub(crate) undone: Vec<Revision>,
    /// The revisions that each deed of this board made, the newest deed last, without undos.
    pub(crate) made: Vec<Vec<Revision>>,
    /// Whether the tasks were brought to the front already because an agent worked on them.
    pub(crate) was_brought_to_front: bool,
    /// When we last asked for what is shown and the stream does not tell of.
    pub(crate) asked_at: Timestamp,
    /// When todo lists were last asked for.
    pub(crate) todos_asked_at: Timestamp,
    /// Where things were drawn, for the mouse.
    pub(crate) hits: Vec<(Rect, Hit)>,
    /// How many rows the view had room for when it was last drawn.
    pub(crate) page_rows: usize,
    pub(crate) dragged: Option<TaskId>,

    pub(crate) is_dirty: bool,
    pub(super) is_arranged: bool,
    pub(super) effects: Vec<Effect>,
}

impl App {
    /// Opens the board on a list.
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
            mail: Mail::default(),
            lists: None,
            past: Past::default(),
            graph: GraphSight::default(),
            todos: Vec::new(),
            times: None,
            said: None,
            flashes: HashMap::new(),
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
        app.ask_around();
        app
    }

    /// Returns what is to be done now.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Returns how lines look, in so many columns.
    pub(crate) fn look(&self, width: usize) -> Look {
        Look {
            unicode: self.settings.unicode,
            width: Some(width),
            now: Some(self.now),
            zone: self.settings.zone,
            by_clock: false,
        }
    }

    /// Works out the rows, where something has changed since.
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
        self.needs.sort_by(|one, two| one.task.cmp(&two.task));
        self.needs.dedup_by(|two, one| one.task == two.task);
        self.is_arranged = true;
        if self.view == View::Agents {
            self.note_agents();
        }
        self.keep_the_cursor();
    }

    /// Says that the rows are no longer true.
    pub(super) fn disarrange(&mut self) {
        self.is_arranged = false;
        self.is_dirty = true;
    }

    /// Has something done on the list.
    pub(super) fn have_done(&mut self, what: What) {
        self.under_way += 1;
        self.effects.push(Effect::Do(Deed { list: self.list.clone(), what }));
        self.is_dirty = true;
    }

    /// Asks for something about the list.
    pub(super) fn ask(&mut self, about: About) {
        self.effects.push(Effect::Ask(Ask { list: self.list.clone(), about }));
    }

    /// Asks for everything that is shown and is no task.
    pub(super) fn ask_around(&mut self) {
        for about in [About::Mail, About::Jobs, About::Team] {
            self.ask(about);
        }
        self.ask_for_todos();
        self.ask_for_view();
    }

    /// Asks for the todo lists of the agents that work here.
    pub(super) fn ask_for_todos(&mut self) {
        self.todos_asked_at = self.now;
        let mut names: BTreeSet<String> = self.agents.iter().map(|agent| agent.name.clone()).collect();
        names.insert(self.actor.to_string());
        self.ask(About::Todos(names.into_iter().collect()));
    }

    /// Says something to the user.
    pub(super) fn say(&mut self, kind: SaidKind, text: impl Into<String>, hint: Option<String>) {
        const SHOWN: i64 = 4_000;
        let until = (kind == SaidKind::Done).then_some(Timestamp(self.now.0 + SHOWN));
        self.said = Some(Said { kind, text: text.into(), hint, until });
        self.is_dirty = true;
    }

    /// Returns the lease on a task.
    pub(crate) fn lease(&self, id: &TaskId) -> Option<&(Lease, LeaseState)> {
        self.leases.get(id)
    }

    /// Returns the key of something as the display shows it.
    pub(crate) fn key(&self, action: Action) -> Option<&str> {
        self.settings.keymap.key(action)
    }

    /// Returns why a task needs a person.
    pub(crate) fn need_of(&self, id: &TaskId) -> Option<NeedKind> {
        let found = self.needs.binary_search_by(|need| need.task.cmp(id)).ok()?;
        Some(self.needs[found].kind)
    }

    /// Returns how many things need a person.
    pub(crate) fn count_needs(&self) -> usize {
        let jobs = self.jobs.iter().filter(|job| job.needs_a_person).count();
        let agents = self.agents.iter().filter(|agent| agent.needs_a_person()).count();
        let others = usize::from(self.mail.unread() > 0) + usize::from(!self.unreadable.is_empty());
        self.needs.len() + jobs + agents + others
    }
}
