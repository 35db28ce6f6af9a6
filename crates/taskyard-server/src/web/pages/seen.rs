//! The data that a page shows, collected once per request.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::PoisonError;

use taskyard::Yard;
use taskyard::core::dialect::inbox::read_protocol;
use taskyard::core::rules::health::may_be_of_ended_session;
use taskyard::core::rules::looking::past::{BurnUp, burn_up};
use taskyard::core::view::{AgentRow, HeldTask, JobRow, ListRow, NeedKind, Thread, threads};
use taskyard::core::{ListId, Message, Protocol, Task, TaskId, Timestamp};
use taskyard::operations::{Mistake, PastAndPresent, Query, SortOrder, Survey};
use taskyard::teams::{Correspondence, Seat};
use taskyard_jobs::Jobs;

use super::job_output::{plain, tail_of};
use super::page_address::{PageAddress, View};
use crate::tokens::Scope;
use crate::web::api::session_of_owner;
use crate::web::call::Call;
use crate::web::letters::Letters;
use crate::web::pasts::Pasts;
use crate::web::site::Site;
use taskyard::core::problem::Problem;

/// Maximum number of tasks shown per agent.
const HELD: usize = 500;
/// Maximum number of running jobs whose last line is shown.
const RUNNING: usize = 12;
/// Maximum number of lists searched for tasks that need a person.
const LISTS_LOOKED_INTO: usize = 24;
/// Number of points in the burn-up chart of a list among others.
const SPARK_MOMENTS: usize = 40;
/// Bytes read from the end of a job's output to find its last line.
const LAST_LINE: u64 = 4096;
/// Maximum number of sent messages shown.
const SENT: usize = 100;

pub(super) struct Seen {
    pub(super) address: PageAddress,
    /// The browser's scope. A read-only page has no controls.
    pub(super) scope: Scope,
    /// Whether the browser may start commands.
    pub(super) may_run_commands: bool,
    pub(super) yard: Yard,
    pub(super) jobs: Option<Jobs>,
    pub(super) survey: Survey,
    /// The error in the query, if any.
    pub(super) mistake: Option<Mistake>,
    pub(super) agents: Vec<AgentRow>,
    pub(super) job_rows: Vec<JobRow>,
    /// The last line of running jobs, keyed by the task they were started for: the job's description and the line.
    pub(super) last_lines: HashMap<TaskId, (String, String)>,
    /// The transcripts of the owners, keyed by task; empty if the page does not show agents.
    pub(super) transcripts: HashMap<TaskId, PathBuf>,
    /// How many tasks need a person, for the most recently changed lists; empty if the page does not show this.
    pub(super) needs_of_lists: HashMap<ListId, usize>,
    /// How the same lists went on, as far as their journals can be read.
    pub(super) burn_ups: HashMap<ListId, BurnUp>,
    pub(super) mail: Mail,
    /// The list's past, or why it is unavailable; `None` if the page does not show it.
    pub(super) past: Option<Result<PastAndPresent, String>>,
    /// All lists; `None` if the page does not show them.
    pub(super) lists: Option<Vec<ListRow>>,
    /// The colours that teams assign to agents, by name.
    colours: HashMap<String, String>,
    /// The index of each task.
    positions: OnceCell<HashMap<TaskId, usize>>,
}

/// The user's messages.
#[derive(Debug, Default)]
pub(super) struct Mail {
    /// The user's name in the team of the list; `None` if the user is not in it.
    pub(super) name: Option<String>,
    pub(super) team: Option<String>,
    /// The conversations, one per correspondent.
    pub(super) threads: Vec<Thread>,
    /// The newest request for plan approval of each member.
    pub(super) plans: HashMap<String, String>,
    /// Why the messages are unavailable.
    pub(super) problem: Option<String>,
}

impl Mail {
    /// Returns the number of unacknowledged messages.
    pub(super) fn unread(&self) -> usize {
        self.threads.iter().map(Thread::unread).sum()
    }
}

impl Seen {
    /// Collects the data for a page; `asks_for_lists` includes all lists.
    pub(super) fn look(
        address: PageAddress,
        call: &Call,
        site: &Site,
        asks_for_lists: bool,
        scope: Scope,
    ) -> Result<Self, Problem> {
        let yard = call.yard.clone();
        let (query, mistake) = match Query::parse(&address.query) {
            Ok(query) => (call.as_meant(query), None),
            Err(mistake) => (Query::default(), Some(mistake)),
        };
        // Unknown keys are ignored.
        let sort: Vec<SortOrder> = address.sort.split(',').filter_map(|key| key.parse().ok()).collect();
        let mut survey = yard.survey(&query, &sort)?;
        if address.needs {
            let needed = survey.glance.needs.iter().map(|need| need.task.clone());
            survey.chosen = Some(needed.collect());
        }
        let jobs = Some(call.shared_jobs()).filter(Jobs::may_be_any);
        let job_rows = jobs.as_ref().map(|jobs| job_rows(jobs, &address)).transpose()?.unwrap_or_default();
        let mut seen = Self {
            lists: if asks_for_lists { Some(yard.every_list()?) } else { None },
            past: (address.view == View::Charts).then(|| past(&yard, site.pasts())),
            mail: mail(&yard, (address.view == View::Messages).then(|| site.letters())),
            address,
            scope,
            may_run_commands: site.runs_commands() && scope == Scope::All,
            yard,
            jobs,
            survey,
            mistake,
            agents: Vec::new(),
            last_lines: HashMap::new(),
            transcripts: HashMap::new(),
            needs_of_lists: HashMap::new(),
            burn_ups: HashMap::new(),
            job_rows,
            colours: HashMap::new(),
            positions: OnceCell::new(),
        };
        seen.look_at_agents();
        if seen.address.view.has_tasks() || seen.address.view == View::Agents {
            seen.look_at_running_jobs();
        }
        match seen.address.view {
            View::Agents => seen.look_at_transcripts(call),
            View::Lists => seen.look_into_lists(site.pasts()),
            _ => {}
        }
        Ok(seen)
    }

    fn look_at_transcripts(&mut self, call: &Call) {
        let held: Vec<TaskId> = self.agents.iter().flat_map(|row| &row.holds).map(|held| held.task.clone()).collect();
        for id in held.into_iter().take(RUNNING) {
            if let Some(session) = self.task(&id).and_then(|task| session_of_owner(call, task)) {
                self.transcripts.insert(id, session.transcript);
            }
        }
    }

    fn look_into_lists(&mut self, pasts: &Pasts) {
        let mut rows: Vec<&ListRow> = self.lists.iter().flatten().collect();
        rows.sort_by_key(|row| Reverse(row.changed));
        for row in rows.into_iter().take(LISTS_LOOKED_INTO) {
            let yard = self.yard.on(row.list.clone());
            // An unreadable list is still shown.
            if let Ok(survey) = yard.survey(&Query::default(), &[]) {
                self.needs_of_lists.insert(row.list.clone(), survey.glance.needs.len());
            }
            if let Ok(known) = past(&yard, pasts) {
                let begun = known.past.begun().unwrap_or(known.now);
                self.burn_ups.insert(row.list.clone(), burn_up(&known.past, begun, known.now, SPARK_MOMENTS));
            }
        }
    }

    fn look_at_running_jobs(&mut self) {
        let Some(jobs) = &self.jobs else { return };
        for row in self.job_rows.iter().filter(|row| row.is_going_on()).take(RUNNING) {
            let Some(task) = row.task.clone() else { continue };
            if let Ok((text, _)) = tail_of(jobs, &row.id, LAST_LINE)
                && let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty())
            {
                self.last_lines.entry(task).or_insert_with(|| (row.description.clone(), plain(line.trim())));
            }
        }
    }

    fn look_at_agents(&mut self) {
        self.agents = self.yard.agents_on(&self.survey.tasks, &self.survey.leases, HELD);
        let colour = |row: &AgentRow| Some((row.name.clone(), row.colour.clone()?));
        self.colours = self.agents.iter().filter_map(colour).collect();
    }

    /// Returns whether the user may change tasks.
    pub(super) fn may_change(&self) -> bool {
        self.scope >= Scope::Work
    }

    /// Returns when the data was collected.
    pub(super) fn now(&self) -> Timestamp {
        self.survey.now
    }

    pub(super) fn task(&self, id: &TaskId) -> Option<&Task> {
        let tasks = &self.survey.tasks;
        let positions = self
            .positions
            .get_or_init(|| tasks.iter().enumerate().map(|(address, task)| (task.id.clone(), address)).collect());
        positions.get(id).map(|position| &tasks[*position])
    }

    /// Returns the tasks shown, in order.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Task> {
        let chosen = self.survey.chosen.as_ref();
        self.survey.tasks.iter().filter(move |task| chosen.is_none_or(|chosen| chosen.contains(&task.id)))
    }

    /// Returns the open blockers of a task.
    pub(super) fn blockers(&self, task: &Task) -> &[TaskId] {
        let blockers = self.survey.blockers.get(&task.id).map(Vec::as_slice).unwrap_or_default();
        if task.status.is_open() { blockers } else { &[] }
    }

    /// Returns why a task needs a person, if it does.
    pub(super) fn need(&self, task: &Task) -> Option<NeedKind> {
        let of_list = || self.survey.glance.needs.iter().find(|need| need.task == task.id).map(|need| need.kind);
        let of_task = NeedKind::of(task, self.now());
        of_task.or_else(|| if may_be_of_ended_session(task) { of_list() } else { None })
    }

    pub(super) fn colour(&self, name: &str) -> Option<&str> {
        self.colours.get(name).map(String::as_str)
    }

    /// Returns the agent that holds a task, and the holding.
    pub(super) fn holder(&self, id: &TaskId) -> Option<(&AgentRow, &HeldTask)> {
        self.agents.iter().find_map(|row| Some((row, row.holds.iter().find(|held| held.task == *id)?)))
    }

    /// Returns how many tasks, agents, jobs and other matters need a person.
    pub(super) fn needs(&self) -> usize {
        let agents = self.agents.iter().filter(|row| row.needs_a_person()).count();
        let jobs = self.job_rows.iter().filter(|row| row.needs_a_person).count();
        let others = usize::from(self.mail.unread() > 0) + usize::from(!self.survey.problems.is_empty());
        self.survey.glance.needs.len() + agents + jobs + others
    }

    /// Returns the URL of this page with a task opened.
    pub(super) fn href(&self, id: &TaskId) -> String {
        self.address.with_task(Some(id)).href()
    }

    pub(super) fn title(task: &Task) -> String {
        super::texts::one_line(&task.shown_subject())
    }
}

fn past(yard: &Yard, pasts: &Pasts) -> Result<PastAndPresent, String> {
    let known = pasts.of(yard.list_id());
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    yard.past(&mut known).map_err(|error| error.to_string())
}

fn job_rows(jobs: &Jobs, address: &PageAddress) -> Result<Vec<JobRow>, Problem> {
    Ok(jobs.of_list(&address.list)?.iter().rev().map(JobRow::of).collect())
}

/// Returns the user's messages. If they are shown on the page, earlier ones are kept, and senders are notified that
/// theirs were shown.
fn mail(yard: &Yard, shown: Option<&Letters>) -> Mail {
    let look = || -> Result<Mail, Problem> {
        let Some(teams) = yard.teams() else { return Ok(Mail::default()) };
        let team = teams.team_of(yard.list_id())?.map(|team| team.name.as_str().to_owned());
        let Some(seat): Option<Seat> = yard.seat()? else { return Ok(Mail { team, ..Mail::default() }) };
        if shown.is_some() {
            teams.receive(&seat)?;
        }
        let Correspondence { waiting, had, sent } = teams.correspondence(&seat, SENT)?;
        let messages = had.iter().chain(waiting.iter().map(|delivery| &delivery.message));
        let plan = |message: &Message| match read_protocol(&message.text) {
            Some(Protocol::PlanApprovalRequest { request, .. }) => Some((message.from.clone(), request)),
            _ => None,
        };
        let plans = messages.filter_map(plan).collect();
        let mut threads = threads(&waiting, &had, sent);
        shown.iter().for_each(|letters| letters.complete(yard.list_id(), yard.actor(), &mut threads));
        Ok(Mail { threads, name: Some(seat.name), team, plans, problem: None })
    };
    look().unwrap_or_else(|problem| Mail { problem: Some(problem.report().message.clone()), ..Mail::default() })
}
