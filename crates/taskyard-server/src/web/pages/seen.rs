//! What a page shows, found out once for each request.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::PoisonError;

use taskyard::Yard;
use taskyard::core::rules::health::may_be_of_ended_session;
use taskyard::core::view::{AgentRow, HeldTask, JobRow, ListRow, NeedKind, Thread, threads};
use taskyard::core::{Task, TaskId, Timestamp};
use taskyard::operations::{Mistake, PastAndPresent, Query, SortOrder, Survey};
use taskyard::teams::{Correspondence, Seat};
use taskyard_jobs::Jobs;

use super::page_address::{PageAddress, View};
use crate::tokens::Scope;
use crate::web::call::Call;
use crate::web::letters::Letters;
use crate::web::pasts::Pasts;
use crate::web::site::Site;
use taskyard::core::problem::Problem;

/// So many tasks that an agent has are told of.
const HELD: usize = 500;
/// So many sent messages are shown.
const SENT: usize = 100;

/// What a page shows.
pub(super) struct Seen {
    pub(super) address: PageAddress,
    /// What the browser may do: a page that only reads has no controls.
    pub(super) scope: Scope,
    pub(super) yard: Yard,
    pub(super) jobs: Option<Jobs>,
    pub(super) survey: Survey,
    /// What is wrong with the query.
    pub(super) mistake: Option<Mistake>,
    pub(super) agents: Vec<AgentRow>,
    pub(super) job_rows: Vec<JobRow>,
    pub(super) mail: Mail,
    /// What became of the list over time, or why that cannot be told; none where the page does not show it.
    pub(super) past: Option<Result<PastAndPresent, String>>,
    /// Every list; none where the page does not show them.
    pub(super) lists: Option<Vec<ListRow>>,
    /// The colour of agents, by name, where a team gives them one.
    colours: HashMap<String, String>,
    /// Where each task stands among the tasks.
    positions: OnceCell<HashMap<TaskId, usize>>,
}

/// The messages of the user who looks.
#[derive(Debug, Default)]
pub(super) struct Mail {
    /// The name that the user has in the team of the list; none where it is in none.
    pub(super) name: Option<String>,
    /// The team of the list.
    pub(super) team: Option<String>,
    /// One conversation with each.
    pub(super) threads: Vec<Thread>,
    /// Why they cannot be read.
    pub(super) problem: Option<String>,
}

impl Mail {
    /// Returns how many messages wait to be acknowledged.
    pub(super) fn unread(&self) -> usize {
        self.threads.iter().map(Thread::unread).sum()
    }
}

impl Seen {
    /// Looks at everything that the page of an address shows; at every list only where that is asked for.
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
        // An unknown key sorts nothing.
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
            yard,
            jobs,
            survey,
            mistake,
            agents: Vec::new(),
            job_rows,
            colours: HashMap::new(),
            positions: OnceCell::new(),
        };
        seen.look_at_agents();
        Ok(seen)
    }

    fn look_at_agents(&mut self) {
        self.agents = self.yard.agents_on(&self.survey.tasks, &self.survey.leases, HELD);
        let colour = |row: &AgentRow| Some((row.name.clone(), row.colour.clone()?));
        self.colours = self.agents.iter().filter_map(colour).collect();
    }

    /// Tells whether the person who looks may change tasks.
    pub(super) fn may_change(&self) -> bool {
        self.scope >= Scope::Work
    }

    /// Returns the moment at which it was looked.
    pub(super) fn now(&self) -> Timestamp {
        self.survey.now
    }

    /// Returns a task of the list.
    pub(super) fn task(&self, id: &TaskId) -> Option<&Task> {
        let tasks = &self.survey.tasks;
        let positions = self
            .positions
            .get_or_init(|| tasks.iter().enumerate().map(|(address, task)| (task.id.clone(), address)).collect());
        positions.get(id).map(|position| &tasks[*position])
    }

    /// Returns the tasks that are shown, in their order.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Task> {
        let chosen = self.survey.chosen.as_ref();
        self.survey.tasks.iter().filter(move |task| chosen.is_none_or(|chosen| chosen.contains(&task.id)))
    }

    /// Returns the open tasks that hold a task up.
    pub(super) fn blockers(&self, task: &Task) -> &[TaskId] {
        let blockers = self.survey.blockers.get(&task.id).map(Vec::as_slice).unwrap_or_default();
        if task.status.is_open() { blockers } else { &[] }
    }

    /// Returns why a task needs a person.
    pub(super) fn need(&self, task: &Task) -> Option<NeedKind> {
        let of_list = || self.survey.glance.needs.iter().find(|need| need.task == task.id).map(|need| need.kind);
        let of_task = NeedKind::of(task, self.now());
        of_task.or_else(|| if may_be_of_ended_session(task) { of_list() } else { None })
    }

    /// Returns the colour of an agent.
    pub(super) fn colour(&self, name: &str) -> Option<&str> {
        self.colours.get(name).map(String::as_str)
    }

    /// Returns who holds a task, and since when.
    pub(super) fn holder(&self, id: &TaskId) -> Option<(&AgentRow, &HeldTask)> {
        self.agents.iter().find_map(|row| Some((row, row.holds.iter().find(|held| held.task == *id)?)))
    }

    /// Returns how much needs a person: tasks, agents, jobs, and messages.
    pub(super) fn needs(&self) -> usize {
        let agents = self.agents.iter().filter(|row| row.needs_a_person()).count();
        let jobs = self.job_rows.iter().filter(|row| row.needs_a_person).count();
        let others = usize::from(self.mail.unread() > 0) + usize::from(!self.survey.problems.is_empty());
        self.survey.glance.needs.len() + agents + jobs + others
    }

    /// Returns the address of a task beside what is shown.
    pub(super) fn href(&self, id: &TaskId) -> String {
        self.address.with_task(Some(id)).href()
    }

    /// Returns what a task is called.
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

/// Returns the messages of the user who looks. If they are on the screen, those that were there before stay, and senders can see that theirs were
/// shown.
fn mail(yard: &Yard, shown: Option<&Letters>) -> Mail {
    let look = || -> Result<Mail, Problem> {
        let Some(teams) = yard.teams() else { return Ok(Mail::default()) };
        let team = teams.team_of(yard.list_id())?.map(|team| team.name.as_str().to_owned());
        let Some(seat): Option<Seat> = yard.seat()? else { return Ok(Mail { team, ..Mail::default() }) };
        if shown.is_some() {
            teams.receive(&seat)?;
        }
        let Correspondence { waiting, had, sent } = teams.correspondence(&seat, SENT)?;
        let mut threads = threads(&waiting, &had, sent);
        shown.iter().for_each(|letters| letters.complete(yard.list_id(), yard.actor(), &mut threads));
        Ok(Mail { threads, name: Some(seat.name), team, problem: None })
    };
    look().unwrap_or_else(|problem| Mail { problem: Some(problem.report().message.clone()), ..Mail::default() })
}
