//! Finding out what is to be shown, on a thread of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use taskyard::Yard;
use taskyard::core::render::escaping;
use taskyard::core::view::{GraphPicture, JobRow, steps, threads};
use taskyard::core::{JobId, ListId, Revision, TaskId};
use taskyard::store::HistoryQuery;
use taskyard::teams::Correspondence;
use taskyard_jobs::Jobs;

use super::deed::{About, Ask};
use super::news::{Mail, News, PageFacts, Teller};
use super::todo_sources::TodoSources;
use taskyard::core::problem::Problem;

/// So many revisions are read at once.
const STEPS: usize = 200;
/// So many entries of one task are shown.
const ENTRIES: usize = 20;
/// So many sent messages are shown.
const SENT: usize = 50;
/// So much of the end of a job's output is shown.
const TAIL: u64 = 32 * 1024;

/// What is needed to find things out.
#[derive(Debug)]
pub(super) struct Eyes {
    pub(super) yard: Yard,
    pub(super) jobs: Option<Jobs>,
    pub(super) todos: Option<TodoSources>,
}

/// The thread that finds things out.
#[derive(Debug)]
pub(super) struct Asker {
    asks: Sender<Ask>,
}

impl Asker {
    /// Starts the thread.
    pub(super) fn start(eyes: Eyes, teller: Teller) -> Self {
        let (asks, received) = channel();
        let work = move || eyes.answer_all(&received, &teller);
        if let Err(error) = thread::Builder::new().name("taskyard-asking".to_owned()).spawn(work) {
            tracing::error!(%error, "nothing but tasks is shown");
        }
        Self { asks }
    }

    /// Asks for something; the answer comes as news.
    pub(super) fn ask(&self, ask: Ask) {
        let _ = self.asks.send(ask);
    }
}

impl Eyes {
    fn answer_all(&self, asks: &Receiver<Ask>, teller: &Teller) {
        while let Ok(first) = asks.recv() {
            // What was asked for several times meanwhile is answered once.
            let mut waiting = vec![first];
            for ask in asks.try_iter() {
                waiting.retain(|other| *other != ask);
                waiting.push(ask);
            }
            for ask in waiting {
                let yard = self.yard.on(ask.list).for_one_call();
                match self.answer(&yard, &ask.about) {
                    Ok(Some(news)) => teller.tell(news),
                    Ok(None) => {}
                    Err(problem) => tracing::debug!(problem = problem.report().message, "cannot be found out"),
                }
            }
        }
    }

    fn answer(&self, yard: &Yard, about: &About) -> Result<Option<News>, Problem> {
        let list = yard.list_id().clone();
        Ok(Some(match about {
            About::Jobs => News::Jobs(list.clone(), self.jobs_of(&list)?),
            About::Output(id) => News::Output(id.clone(), self.output(id)?),
            About::Team => {
                let Some(teams) = yard.teams() else { return Ok(Some(News::Team(list, None))) };
                let team = teams.team_of(&list)?;
                let shown = team.map(|team| yard.show_team(teams, &team)).transpose()?;
                News::Team(list, shown.map(Box::new))
            }
            About::Mail => News::Mail(list, Box::new(mail(yard, false))),
            About::ShownMail => News::Mail(list, Box::new(mail(yard, true))),
            About::Gone => News::Gone(list, yard.gone()?),
            About::Lists => News::Lists(yard.every_list()?),
            About::History(before) => {
                let until = before.map(|before| Revision(before.0.saturating_sub(1)));
                let query = HistoryQuery { until, newest: Some(STEPS), ..HistoryQuery::default() };
                News::History { list, before: *before, steps: steps(yard.history(&query)?) }
            }
            About::Page(task) => News::Page(Box::new(self.page(yard, task)?)),
            About::Graph(folded) => {
                let picture = GraphPicture::of(&yard.graph()?.tasks, &folded.iter().cloned().collect(), yard.rules());
                News::Graph(list, Box::new(picture))
            }
            About::Times => News::Times(list, yard.known_times()?),
            About::Todos(agents) => {
                let Some(sources) = &self.todos else { return Ok(None) };
                let found = sources.in_progress(list.as_str(), agents);
                News::Todos(list, found)
            }
        }))
    }

    fn jobs_of(&self, list: &ListId) -> Result<Vec<JobRow>, Problem> {
        let Some(jobs) = self.jobs.as_ref().filter(|jobs| jobs.may_be_any()) else { return Ok(Vec::new()) };
        Ok(jobs.of_list(list)?.iter().rev().map(JobRow::of).collect())
    }

    /// Returns the last lines of what a job wrote.
    fn output(&self, id: &JobId) -> Result<Vec<String>, Problem> {
        let Some(jobs) = &self.jobs else { return Ok(Vec::new()) };
        let reader = jobs.output(&jobs.get(id)?)?;
        let from = reader.output()?.written.saturating_sub(TAIL);
        let part = reader.read(from, TAIL)?;
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

/// Returns the messages of the user who looks; where they are on the screen, their senders can see that they were shown.
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
