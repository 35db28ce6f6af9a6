//! The thread that reads what no stream reports.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use taskyard::Yard;
use taskyard::core::problem::Problem;
use taskyard::core::render::escaping;
use taskyard::core::view::{GraphPicture, JobRow, TodosShown, steps, threads};
use taskyard::core::{Job, JobId, ListId, Revision, TaskId};
use taskyard::operations::recent_sessions;
use taskyard::store::HistoryQuery;
use taskyard::teams::Correspondence;
use taskyard::todos::{TodoOwner, Todos};
use taskyard_jobs::Jobs;

use super::messages::{AgentOutput, AppEvent, EventSender, Mail, PageFacts};
use super::messages::{ReadRequest, Resource};

/// The number of revisions that are read at once.
const STEPS: usize = 200;
/// The number of journal entries that are shown for a task.
const ENTRIES: usize = 20;
/// The number of sent messages that are shown.
const SENT: usize = 50;
/// The number of bytes of the end of a job's output that are read.
const TAIL: u64 = 32 * 1024;
/// The number of bytes of the end of each agent's output that are read.
const AGENT_TAIL: u64 = 8 * 1024;

/// What the thread needs to answer requests.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) yard: Yard,
    pub(super) jobs: Option<Jobs>,
    pub(super) todos: Option<TodoSources>,
}

/// The thread that answers read requests.
#[derive(Debug)]
pub(super) struct ReadThread {
    asks: Sender<ReadRequest>,
}

impl ReadThread {
    pub(super) fn start(reader: Reader, events: EventSender) -> Self {
        let (asks, received) = channel();
        let work = move || reader.answer_all(&received, &events);
        if let Err(error) = thread::Builder::new().name("taskyard-asking".to_owned()).spawn(work) {
            tracing::error!(%error, "nothing but tasks is shown");
        }
        Self { asks }
    }

    /// Requests something; the answer arrives as an event.
    pub(super) fn request(&self, ask: ReadRequest) {
        let _ = self.asks.send(ask);
    }
}

impl Reader {
    fn answer_all(&self, asks: &Receiver<ReadRequest>, events: &EventSender) {
        while let Ok(first) = asks.recv() {
            // Requests that were repeated in the meantime are answered once.
            let mut waiting = vec![first];
            for ask in asks.try_iter() {
                waiting.retain(|other| *other != ask);
                waiting.push(ask);
            }
            for ask in waiting {
                let yard = self.yard.on(ask.list).for_one_call();
                match self.answer(&yard, &ask.resource) {
                    Ok(Some(news)) => events.send(news),
                    Ok(None) => {}
                    Err(problem) => tracing::debug!(problem = problem.report().message, "cannot be found out"),
                }
            }
        }
    }

    fn answer(&self, yard: &Yard, resource: &Resource) -> Result<Option<AppEvent>, Problem> {
        let list = yard.list_id().clone();
        Ok(Some(match resource {
            Resource::Jobs => AppEvent::Jobs(list.clone(), self.jobs_of(&list)?),
            Resource::AgentOutputs => AppEvent::AgentOutputs(list.clone(), self.agent_outputs(&list)?),
            Resource::Output(id) => AppEvent::Output(id.clone(), self.output(id)?),
            Resource::Team => {
                let Some(teams) = yard.teams() else { return Ok(Some(AppEvent::Team(list, None))) };
                let team = teams.team_of(&list)?;
                let shown = team.map(|team| yard.show_team(teams, &team)).transpose()?;
                AppEvent::Team(list, shown.map(Box::new))
            }
            Resource::Mail => AppEvent::Mail(list, Box::new(mail(yard, false))),
            Resource::ShownMail => AppEvent::Mail(list, Box::new(mail(yard, true))),
            Resource::Gone => AppEvent::Gone(list, yard.gone()?),
            Resource::Lists => AppEvent::Lists(yard.every_list()?),
            Resource::History(before) => {
                let until = before.map(|before| Revision(before.0.saturating_sub(1)));
                let query = HistoryQuery { until, newest: Some(STEPS), ..HistoryQuery::default() };
                AppEvent::History { list, before: *before, steps: steps(yard.history(&query)?) }
            }
            Resource::Page(task) => AppEvent::Page(Box::new(self.page(yard, task)?)),
            Resource::Graph(folded) => {
                let picture = GraphPicture::of(&yard.graph()?.tasks, &folded.iter().cloned().collect(), yard.rules());
                AppEvent::Graph(list, Box::new(picture))
            }
            Resource::Times => AppEvent::Times(list, yard.known_times()?),
            Resource::Todos(agents) => {
                let Some(sources) = &self.todos else { return Ok(None) };
                let found = sources.in_progress(list.as_str(), agents);
                AppEvent::Todos(list, found)
            }
        }))
    }

    fn jobs_of(&self, list: &ListId) -> Result<Vec<JobRow>, Problem> {
        let Some(jobs) = self.jobs.as_ref().filter(|jobs| jobs.may_be_any()) else { return Ok(Vec::new()) };
        Ok(jobs.of_list(list)?.iter().rev().map(JobRow::of).collect())
    }

    /// Returns the last lines of output of each agent's newest job, preferring running jobs.
    fn agent_outputs(&self, list: &ListId) -> Result<Vec<AgentOutput>, Problem> {
        let Some(jobs) = self.jobs.as_ref().filter(|jobs| jobs.may_be_any()) else { return Ok(Vec::new()) };
        let mut newest: BTreeMap<String, Job> = BTreeMap::new();
        for job in jobs.of_list(list)? {
            let is_older = |known: &Job| !known.state().is_over() && job.state().is_over();
            if !newest.get(job.agent.as_str()).is_some_and(is_older) {
                newest.insert(job.agent.to_string(), job);
            }
        }
        let outputs = newest.into_iter().map(|(agent, job)| {
            let lines = self.end_of_output(jobs, &job, AGENT_TAIL).unwrap_or_default();
            AgentOutput { agent, job: JobRow::of(&job), lines }
        });
        Ok(outputs.collect())
    }

    /// Returns the last lines of a job's output.
    fn output(&self, id: &JobId) -> Result<Vec<String>, Problem> {
        let Some(jobs) = &self.jobs else { return Ok(Vec::new()) };
        self.end_of_output(jobs, &jobs.get(id)?, TAIL)
    }

    fn end_of_output(&self, jobs: &Jobs, job: &Job, bytes: u64) -> Result<Vec<String>, Problem> {
        let reader = jobs.output(job)?;
        let from = reader.output()?.written.saturating_sub(bytes);
        let part = reader.read(from, bytes)?;
        let text = String::from_utf8_lossy(&part.bytes);
        let text = escaping::program_output(&text).replace('\t', "    ");
        Ok(text.lines().skip(usize::from(from > 0)).map(str::to_owned).collect())
    }

    fn page(&self, yard: &Yard, task: &TaskId) -> Result<PageFacts, Problem> {
        let key = TaskId::stored(task.file_stem());
        let query = HistoryQuery { task: Some(key), newest: Some(ENTRIES), ..HistoryQuery::default() };
        let mut journal = yard.history(&query)?;
        journal.reverse();
        let jobs = self.jobs.as_ref().filter(|jobs| jobs.may_be_any());
        let jobs = jobs.map(|jobs| jobs.of_task(yard.list_id(), task)).transpose()?.unwrap_or_default();
        Ok(PageFacts { list: yard.list_id().clone(), task: task.clone(), made: yard.making_of(task)?, journal, jobs })
    }
}

/// Returns the messages of the user. If they are on the screen, they are recorded as shown to their senders.
fn mail(yard: &Yard, are_shown: bool) -> Mail {
    let look = || -> Result<Mail, Problem> {
        let (Some(teams), Some(seat)) = (yard.teams(), yard.seat()?) else { return Ok(Mail::default()) };
        if are_shown {
            teams.receive(&seat)?;
        }
        let Correspondence { waiting, had, sent } = teams.correspondence(&seat, SENT)?;
        Ok(Mail { threads: threads(&waiting, &had, sent), name: Some(seat.name), problem: None })
    };
    look().unwrap_or_else(|problem| Mail { problem: Some(problem.report().message.clone()), ..Mail::default() })
}

/// The maximum number of the directory's sessions that are read, most recently used first.
const SESSIONS: usize = 4;

/// How often sessions are looked up.
const SESSIONS_APART: Duration = Duration::from_secs(30);

/// The sources of todo lists.
#[derive(Debug)]
pub struct TodoSources {
    todos: Arc<dyn Todos>,
    /// Our own session, if any.
    session: Option<String>,
    /// The client's directory and the working directory: the client records which sessions were in the latter.
    places: Option<(PathBuf, PathBuf)>,
    found: Mutex<Option<(Instant, Vec<String>)>>,
}

impl TodoSources {
    /// Returns sources in a store: a session, if given, and the client's sessions in a directory, if given.
    pub fn new(todos: Arc<dyn Todos>, session: Option<String>, places: Option<(PathBuf, PathBuf)>) -> Self {
        Self { todos, session, places, found: Mutex::default() }
    }

    /// Returns the todo lists with an item in progress: those of the directory's sessions, of the session that the list
    /// is named after, and of the agents that work on the list.
    pub(super) fn in_progress(&self, list: &str, agents: &[String]) -> Vec<TodosShown> {
        let mut sessions = self.sessions();
        sessions.extend(self.session.iter().cloned());
        sessions.push(list.to_owned());
        sessions.sort();
        sessions.dedup();
        let mut owners: Vec<(String, TodoOwner)> = Vec::new();
        for session in &sessions {
            let short: String = session.chars().take(8).collect();
            owners.push((short, TodoOwner { session: session.clone(), agent: session.clone() }));
            let of_agent =
                |agent: &String| (agent.clone(), TodoOwner { session: session.clone(), agent: agent.clone() });
            owners.extend(agents.iter().map(of_agent));
        }
        // An agent outside of a client session is its own session.
        let alone = |agent: &String| (agent.clone(), TodoOwner { session: agent.clone(), agent: agent.clone() });
        owners.extend(agents.iter().map(alone));
        let shown = |(agent, owner): (String, TodoOwner)| {
            let todos = self.todos.read(&owner).ok().flatten()?;
            Some(TodosShown { agent, todos }).filter(|shown| shown.doing().is_some())
        };
        owners.into_iter().filter_map(shown).collect()
    }

    fn sessions(&self) -> Vec<String> {
        let Some((client, directory)) = &self.places else { return Vec::new() };
        let Ok(mut found) = self.found.lock() else { return Vec::new() };
        if let Some((at, sessions)) = &*found
            && at.elapsed() < SESSIONS_APART
        {
            return sessions.clone();
        }
        let sessions = recent_sessions(client, directory, SESSIONS).unwrap_or_default();
        *found = Some((Instant::now(), sessions.clone()));
        sessions
    }
}
