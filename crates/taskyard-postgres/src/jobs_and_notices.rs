//! Jobs of all machines, notices and todo lists on PostgreSQL.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use taskyard::core::dialect::native::stringify;
use taskyard::core::json_text::from_slice;
use taskyard::core::rules::leases::leasing::{LivingRecord, Verdict, judge_job};
use taskyard::core::rules::leases::liveness::ProcessSeen;
use taskyard::core::rules::teams::mailing::is_told_of;
use taskyard::core::tools::todo_write::{read_kept, shape};
use taskyard::core::{AgentName, Job, JobFate, JobId, ListId, Timestamp, Todo};
use taskyard::jobs::{
    JobNews, JobReport, JobRequests, JobWatch, OutputPart, OutputRequest, SharedJobs, SharedJobsQuery, SharedTail,
};
use taskyard::liveness::{liveness_on_shared_store, longest_silence, own_mark};
use taskyard::notices::{Notice, NoticeError, NoticeWatch, Notices, job_from_text, job_to_text};
use taskyard::store::{Moved, StoreError};
use taskyard::todos::{TodoError, TodoOwner, Todos};
use tokio_postgres::Row;

use crate::connecting::{Failure, Statement};
use crate::database::Database;
use crate::heartbeats::{BEATS_IN_A_SILENCE, name_of};
use crate::listening::Following;
use crate::seldom::SeldomFollower;
use crate::server_clock::{NOW, moment};
use crate::store::{Waiting, making, storable};
use crate::versions::Kind;

/// How long a request for output stays valid, in milliseconds: one minute.
const ASKED_FOR: i64 = 60 * 1000;
/// Jobs that ended, or whose supervisor was last seen, this long ago are removed. In milliseconds: seven days.
const SWEPT_AFTER: i64 = 7 * 24 * 3600 * 1000;
/// Channel kinds: a supervisor has reported or answered something, and something has been requested of it.
const REPORTS: &str = "job";
const REQUESTS: &str = "job-requests";
/// The columns that a job is read from.
const COLUMNS: &str = "j.body, j.host, greatest(j.changed_at, a.seen_at)";
const TABLES: &str = "@.jobs j LEFT JOIN @.alive a ON a.process = j.process";

/// The jobs of all machines that share a database.
#[derive(Debug)]
pub(crate) struct PostgresJobs {
    database: Arc<Database>,
    /// When this process, as a job's supervisor, last sent a heartbeat.
    sent: Mutex<Option<Instant>>,
    /// Keeps the listening connection open between waits for jobs, each of which follows anew.
    lasting: OnceLock<Following>,
}

impl PostgresJobs {
    pub(crate) fn over(database: Arc<Database>) -> Self {
        Self { database, sent: Mutex::default(), lasting: OnceLock::new() }
    }

    /// Returns the query for the pending requests to a job's supervisor.
    fn question(&self, job: &JobId) -> Statement {
        let sql = format!(
            "SELECT id, starts_at, length FROM @.output_requests
            WHERE job = $1 AND answered_at IS NULL AND asked_at > {NOW} - $2 ORDER BY id"
        );
        self.database.statement(&sql).text(job.as_str()).number(ASKED_FOR)
    }

    /// Notifies the followers of a job.
    fn tell(&self, kind: &str, job: &str) {
        self.database.tell(&self.database.schema.channel(kind, job), "");
    }

    fn note_heartbeat(&self) {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.database.bring_signs_back();
    }

    /// Removes jobs that ended long ago, and expired requests.
    fn sweep(&self) {
        let jobs = format!(
            "DELETE FROM @.jobs WHERE job IN (SELECT j.job FROM {TABLES}
                WHERE greatest(j.changed_at, a.seen_at) < {NOW} - $1 ORDER BY j.job FOR UPDATE OF j SKIP LOCKED)"
        );
        let requests = format!(
            "DELETE FROM @.output_requests WHERE id IN (SELECT id FROM @.output_requests
                WHERE asked_at < {NOW} - $1 ORDER BY id FOR UPDATE SKIP LOCKED)"
        );
        let swept = self.database.change("sweep jobs", || {
            let jobs = self.database.statement(&jobs).number(SWEPT_AFTER);
            vec![jobs, self.database.statement(&requests).number(ASKED_FOR)]
        });
        if let Err(error) = swept {
            tracing::debug!(%error, "old jobs are swept another time");
        }
    }

    fn failed(&self, doing: &str) -> impl Fn(tokio_postgres::Error) -> StoreError {
        move |error| Failure::from(error).into_store_error(self.database.shown(), doing)
    }

    /// Reads a job and judges it by its supervisor's heartbeats. Returns `None` if the row is unreadable.
    fn job(&self, row: &Row) -> Option<Job> {
        let mut job =
            job_from_text(row.get(0)).inspect_err(|error| tracing::warn!(%error, "a job is passed over")).ok()?;
        job.machine = Some(row.get(1));
        job.last_seen = Timestamp(row.get(2));
        if let JobFate::Running { supervisor, .. } = &job.fate {
            let seen = ProcessSeen {
                liveness: liveness_on_shared_store(supervisor),
                last_sign: Some(moment(job.last_seen.0)),
                longest_silence: longest_silence(),
                must_show_life: true,
            };
            let now = self.database.clock.now_in_transaction();
            let living = LivingRecord::Running { supervisor: supervisor.clone() };
            if judge_job(&living, job.last_seen, &now, seen) != Verdict::Stands {
                job.fate = JobFate::Lost { at: now.wall };
            }
        }
        Some(job)
    }
}

impl SharedJobs for PostgresJobs {
    fn report(&self, report: &JobReport<'_>) -> Result<Option<JobRequests>, StoreError> {
        let doing = "report a job";
        let (job, own) = (report.job, own_mark());
        let is_over = job.state().is_over();
        // A row with the same id but another machine or start belongs to another job.
        let sql = format!(
            "INSERT INTO @.jobs AS j (job, list, agent, task, name, machine, host, process, state, began, ended,
                output_size, tail, body, changed_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, {NOW})
            ON CONFLICT (job) DO UPDATE SET state = excluded.state, ended = excluded.ended, body = excluded.body,
                output_size = excluded.output_size, tail = excluded.tail, changed_at = excluded.changed_at
            WHERE j.machine = excluded.machine AND j.began = excluded.began
            RETURNING stop_requested_at IS NOT NULL"
        );
        let row = || {
            let row = self.database.statement(&sql).text(job.id.as_str()).text(job.list.directory());
            let row = row.text(storable(job.agent.as_str()));
            let row = row.some_text(job.task.as_ref().map(|task| storable(task.as_str())));
            let row = row.some_text(job.name.as_deref().map(storable)).text(storable(&own.machine));
            let row = row.text(storable(report.host)).text(name_of(&own)).text(job.state().as_str());
            let row = row.number(job.started.0).some_number(job.ended().map(|at| at.0));
            let row = row.number(job.output.written.cast_signed()).bytes(report.tail.to_vec());
            row.text(storable(&job_to_text(job)))
        };
        let rows = self.database.change(doing, || {
            let sign = if is_over {
                let sql = "DELETE FROM @.alive WHERE process = (SELECT process FROM @.jobs
                    WHERE job = $1 AND machine = $2 AND began = $3)";
                let end = self.database.statement(sql).text(job.id.as_str()).text(storable(&own.machine));
                end.number(job.started.0)
            } else {
                self.database.heartbeat(Some(&job.agent))
            };
            vec![row(), self.question(&job.id), sign]
        })?;
        self.note_heartbeat();
        let Some(found) = rows[0].first() else { return Ok(None) };
        self.tell(REPORTS, job.id.as_str());
        if is_over {
            self.sweep();
        }
        let stop = found.try_get(0).map_err(self.failed(doing))?;
        Ok(Some(JobRequests { stop, output: output_requests(&rows[1]).map_err(self.failed(doing))? }))
    }

    fn requests(&self, job: &JobId) -> Result<Option<JobRequests>, StoreError> {
        let doing = "ask what is wanted of a job";
        let sql = "SELECT stop_requested_at IS NOT NULL FROM @.jobs WHERE job = $1 AND process = $2";
        let row = || self.database.statement(sql).text(job.as_str()).text(name_of(&own_mark()));
        // Without notifications this runs every second, which need not send a heartbeat each time.
        let sent = *self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = sent.is_none_or(|sent| sent.elapsed() > between_heartbeats() / 2);
        let rows = if is_due {
            let rows =
                self.database.change(doing, || vec![row(), self.question(job), self.database.heartbeat(None)])?;
            self.note_heartbeat();
            rows
        } else {
            self.database
                .read(doing, || vec![row(), self.question(job)])?
                .unwrap_or_else(|| vec![Vec::new(), Vec::new()])
        };
        let Some(found) = rows[0].first() else { return Ok(None) };
        let stop = found.try_get(0).map_err(self.failed(doing))?;
        Ok(Some(JobRequests { stop, output: output_requests(&rows[1]).map_err(self.failed(doing))? }))
    }

    fn answer(&self, job: &JobId, request: &OutputRequest, part: &OutputPart) -> Result<(), StoreError> {
        let sql = format!("UPDATE @.output_requests SET found_at = $2, answer = $3, answered_at = {NOW} WHERE id = $1");
        let from = if part.bytes.is_empty() { request.offset } else { part.from };
        self.database.change("answer a request for output", || {
            let statement = self.database.statement(&sql).number(request.number).number(from.cast_signed());
            vec![statement.bytes(part.bytes.clone())]
        })?;
        self.tell(REPORTS, job.as_str());
        Ok(())
    }

    fn list(&self, which: &SharedJobsQuery<'_>) -> Result<Vec<Job>, StoreError> {
        let condition = match which {
            SharedJobsQuery::All => "true",
            SharedJobsQuery::List(_) => "j.list = $1",
            SharedJobsQuery::Task(..) => "j.list = $1 AND j.task = $2",
            SharedJobsQuery::Id(_) => "j.job = $1",
            SharedJobsQuery::Named(_) => "j.name = $1",
        };
        let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE {condition} ORDER BY j.began, j.job");
        let rows = self.database.read("read jobs", || {
            let question = self.database.statement(&sql);
            vec![match which {
                SharedJobsQuery::All => question,
                SharedJobsQuery::List(list) => question.text(list.directory()),
                SharedJobsQuery::Task(list, task) => question.text(list.directory()).text(storable(task.as_str())),
                SharedJobsQuery::Id(id) => question.text(id.as_str()),
                SharedJobsQuery::Named(name) => question.text(storable(name)),
            }]
        })?;
        Ok(rows.map(|rows| rows[0].iter().filter_map(|row| self.job(row)).collect()).unwrap_or_default())
    }

    fn tail(&self, job: &JobId, offset: u64) -> Result<Option<SharedTail>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, j.output_size, substr(j.tail, 1 + least(octet_length(j.tail),
                greatest(0, $2 - (j.output_size - octet_length(j.tail))))::integer)
            FROM {TABLES} WHERE j.job = $1"
        );
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        let question = || vec![self.database.statement(&sql).text(job.as_str()).number(offset)];
        let Some(rows) = self.database.read("read the output of a job", question)? else { return Ok(None) };
        Ok(rows[0].first().and_then(|row| {
            let mut job = self.job(row)?;
            let (written, bytes): (i64, Vec<u8>) = (row.get(3), row.get(4));
            job.output.written = written.cast_unsigned();
            Some(SharedTail { job, from: written.cast_unsigned() - bytes.len() as u64, bytes })
        }))
    }

    fn request_stop(&self, job: &JobId, by: &AgentName) -> Result<(), StoreError> {
        let sql = format!(
            "UPDATE @.jobs SET stop_requested_at = {NOW}, stop_requested_by = $2
            WHERE job = $1 AND stop_requested_at IS NULL"
        );
        self.database.change("ask for the end of a job", || {
            vec![self.database.statement(&sql).text(job.as_str()).text(storable(by.as_str()))]
        })?;
        self.tell(REQUESTS, job.as_str());
        Ok(())
    }

    fn request_output(&self, job: &JobId, offset: u64, length: u64) -> Result<i64, StoreError> {
        let doing = "ask for the output of a job";
        let sql = format!(
            "INSERT INTO @.output_requests (job, starts_at, length, asked_at) VALUES ($1, $2, $3, {NOW}) RETURNING id"
        );
        let rows = self.database.change(doing, || {
            let statement = self.database.statement(&sql).text(job.as_str()).number(offset.cast_signed());
            vec![statement.number(length.cast_signed())]
        })?;
        self.tell(REQUESTS, job.as_str());
        rows[0][0].try_get(0).map_err(self.failed(doing))
    }

    fn take_output(&self, request: i64) -> Result<Option<OutputPart>, StoreError> {
        let sql = "SELECT found_at, answer FROM @.output_requests WHERE id = $1 AND answered_at IS NOT NULL";
        let question = || vec![self.database.statement(sql).number(request)];
        let rows = self.database.read("read the output of a job", question)?;
        let Some(row) = rows.as_ref().and_then(|rows| rows[0].first()) else { return Ok(None) };
        let (from, bytes): (i64, Vec<u8>) = (row.get(0), row.get(1));
        let removal = || vec![self.database.statement("DELETE FROM @.output_requests WHERE id = $1").number(request)];
        if let Err(error) = self.database.change("forget a request for output", removal) {
            tracing::debug!(%error, "a request is left to be swept");
        }
        let from = from.cast_unsigned();
        Ok(Some(OutputPart { from, next: from + bytes.len() as u64, gap: None, bytes }))
    }

    fn forget(&self, jobs: &[JobId]) -> Result<(), StoreError> {
        if jobs.is_empty() {
            return Ok(());
        }
        let sql = "DELETE FROM @.jobs WHERE job = ANY($1) AND machine = $2";
        let removal = || {
            let jobs = jobs.iter().map(|job| job.as_str().to_owned()).collect();
            vec![self.database.statement(sql).texts(jobs).text(storable(&own_mark().machine))]
        };
        self.database.change("forget jobs", removal).map(drop)
    }

    fn follow(&self, job: &JobId, of: JobNews, moved: Moved) -> Box<dyn JobWatch> {
        let kind = match of {
            JobNews::Reports => REPORTS,
            JobNews::Requests => REQUESTS,
        };
        let channel = |name: &str| self.database.schema.channel(kind, name);
        let listening = &self.database.listening;
        self.lasting.get_or_init(|| listening.follow_looking(&channel(""), Arc::new(|| {})));
        Box::new(PostgresJobWatch { of, following: listening.follow_looking(&channel(job.as_str()), moved) })
    }
}

struct PostgresJobWatch {
    of: JobNews,
    following: Following,
}

impl JobWatch for PostgresJobWatch {
    fn interval(&self) -> Duration {
        match self.of {
            // A supervisor checks with each heartbeat.
            JobNews::Requests if self.following.is_told() => between_heartbeats(),
            JobNews::Reports | JobNews::Requests => self.following.interval(),
        }
    }
}

fn between_heartbeats() -> Duration {
    longest_silence() / BEATS_IN_A_SILENCE
}

fn output_requests(rows: &[Row]) -> Result<Vec<OutputRequest>, tokio_postgres::Error> {
    let read = |row: &Row| {
        let (offset, length): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
        Ok(OutputRequest { number: row.try_get(0)?, offset: offset.cast_unsigned(), length: length.cast_unsigned() })
    };
    rows.iter().map(read).collect()
}

/// Notices in a database shared by many machines.
#[derive(Clone, Debug)]
pub(crate) struct PostgresNotices {
    database: Arc<Database>,
}

impl PostgresNotices {
    pub(crate) fn over(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Returns the channel that announces new notices of a list.
    fn channel(&self, list: &ListId) -> String {
        self.database.schema.channel("notices", list.directory())
    }
}

struct PostgresNoticeWatch {
    _following: Following,
}

impl Notices for PostgresNotices {
    fn queue(&self, job: &Job) -> Result<(), NoticeError> {
        let Some(queued) = job.ended().filter(|_| is_told_of(&job.fate)) else { return Ok(()) };
        let body = job_to_text(job);
        let queued = self.database.change("queue a notice", || {
            let sql = "INSERT INTO @.notices (job, list, agent, queued_at, body) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (job) DO NOTHING";
            let statement = self.database.statement(sql).text(job.id.as_str()).text(job.list.directory());
            // A list without tasks has no row yet. The row determines which roles see the notice.
            let mut all = making(&self.database, &job.list, Waiting::Wait);
            all.push(statement.text(storable(job.agent.as_str())).number(queued.0).text(storable(&body)));
            all.push(self.database.raise(Kind::Notices));
            all
        });
        queued.map_err(NoticeError::new)?;
        self.database.tell_of(Kind::Notices, &self.channel(&job.list));
        Ok(())
    }

    fn waiting(&self, list: &ListId) -> Result<Vec<Notice>, NoticeError> {
        let sql = "SELECT body, agent, queued_at, delivered_at FROM @.notices
            WHERE list = $1 AND acknowledged_at IS NULL ORDER BY queued_at, number";
        let question = || vec![self.database.statement(sql).text(list.directory())];
        let rows = self.database.read("read notices", question).map_err(NoticeError::new)?;
        Ok(rows.map(|rows| rows[0].iter().filter_map(notice).collect()).unwrap_or_default())
    }

    fn queued(&self, list: &ListId, but: &BTreeSet<JobId>) -> Result<Vec<Notice>, NoticeError> {
        let sql = "SELECT body, agent, queued_at, delivered_at FROM @.notices
            WHERE list = $1 AND job <> ALL($2) ORDER BY queued_at, number";
        let but: Vec<String> = but.iter().map(|job| job.as_str().to_owned()).collect();
        let question = || vec![self.database.statement(sql).text(list.directory()).texts(but.clone())];
        let rows = self.database.read("read notices", question).map_err(NoticeError::new)?;
        Ok(rows.map(|rows| rows[0].iter().filter_map(notice).collect()).unwrap_or_default())
    }

    fn deliver(&self, notices: &mut Vec<Notice>) -> Result<(), NoticeError> {
        if notices.is_empty() {
            return Ok(());
        }
        let jobs: Vec<String> = notices.iter().map(|notice| notice.job.id.as_str().to_owned()).collect();
        let told = self.database.change("note that notices were told", || {
            let sql = format!(
                "UPDATE @.notices SET delivered_at = {NOW}
                WHERE job = ANY($1) AND acknowledged_at IS NULL RETURNING job"
            );
            vec![self.database.statement(&sql).texts(jobs.clone())]
        });
        let told: HashSet<String> = told.map_err(NoticeError::new)?[0].iter().map(|row| row.get(0)).collect();
        notices.retain(|notice| told.contains(notice.job.id.as_str()));
        Ok(())
    }

    fn acknowledge(&self, jobs: &[JobId]) -> Result<usize, NoticeError> {
        if jobs.is_empty() {
            return Ok(0);
        }
        let heard = self.database.change("acknowledge notices", || {
            let sql = format!(
                "UPDATE @.notices SET acknowledged_at = {NOW}
                WHERE job = ANY($1) AND acknowledged_at IS NULL RETURNING 1"
            );
            let heard = jobs.iter().map(|job| job.as_str().to_owned()).collect();
            vec![self.database.statement(&sql).texts(heard), self.database.raise(Kind::Notices)]
        });
        Ok(heard.map_err(NoticeError::new)?[0].len())
    }

    fn version(&self) -> Option<u64> {
        // Every transaction reads the count, so a caller that has just queried something else knows whether a notice
        // may be pending.
        let version = self.database.seldom_changed.newest(Kind::Notices)?;
        let mut number = DefaultHasher::new();
        (&version.epoch, version.count).hash(&mut number);
        Some(number.finish())
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn NoticeWatch>, NoticeError> {
        let following = SeldomFollower::follow(&self.database, Kind::Notices, &self.channel(list), moved);
        Ok(Box::new(PostgresNoticeWatch { _following: following }))
    }
}

impl NoticeWatch for PostgresNoticeWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, NoticeError> {
        // The process polls for all followers and calls them.
        Ok(None)
    }
}

/// Reads a notice. Skips an unreadable one, so that the others are still delivered.
fn notice(row: &Row) -> Option<Notice> {
    let job = job_from_text(row.get(0)).inspect_err(|error| tracing::warn!(%error, "a notice is passed over")).ok()?;
    let agent = AgentName::new(row.get::<_, &str>(1)).ok()?;
    let delivered = row.get::<_, Option<i64>>(3).map(Timestamp);
    Some(Notice { job, agent, queued: Timestamp(row.get(2)), delivered })
}

/// Todo lists in a database shared by many machines.
#[derive(Debug)]
pub(crate) struct PostgresTodos {
    database: Arc<Database>,
}

impl PostgresTodos {
    pub(crate) fn over(database: Arc<Database>) -> Self {
        Self { database }
    }
}

impl Todos for PostgresTodos {
    fn read(&self, of: &TodoOwner) -> Result<Option<Vec<Todo>>, TodoError> {
        let sql = "SELECT body FROM @.todos WHERE session = $1 AND agent = $2";
        let question = || vec![self.database.statement(sql).text(storable(&of.session)).text(storable(&of.agent))];
        let rows = self.database.read("read a todo list", question).map_err(TodoError::new)?;
        let body = rows.as_ref().and_then(|rows| rows[0].first()).map(|row| row.get::<_, &str>(0));
        Ok(body.map(|body| read_kept(&from_slice(body.as_bytes()).unwrap_or_default())))
    }

    fn write(&self, of: &TodoOwner, todos: &[Todo]) -> Result<(), TodoError> {
        let sql = "INSERT INTO @.todos (session, agent, body) VALUES ($1, $2, $3)
            ON CONFLICT (session, agent) DO UPDATE SET body = excluded.body";
        let body = stringify(&shape(todos));
        let written = self.database.change("write a todo list", || {
            let statement = self.database.statement(sql).text(storable(&of.session)).text(storable(&of.agent));
            vec![statement.text(body.clone())]
        });
        written.map(drop).map_err(TodoError::new)
    }

    fn forget(&self, _of: &TodoOwner) {}
}
