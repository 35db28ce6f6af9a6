//! Notices on PostgreSQL.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use taskyard::core::rules::teams::notifying::is_told_of;
use taskyard::core::{AgentName, Job, JobId, ListId, Timestamp};
use taskyard::notices::{Notice, NoticeError, NoticeWatch, Notices, job_from_text, job_to_text};
use taskyard::store::Moved;
use tokio_postgres::Row;

use crate::database::Database;
use crate::listening::Following;
use crate::seldom::SeldomFollower;
use crate::server_clock::NOW;
use crate::store::{Waiting, making, storable};
use crate::versions::Kind;

/// Notices in a database that many machines share.
#[derive(Clone, Debug)]
pub(crate) struct PostgresNotices {
    database: Arc<Database>,
}

impl PostgresNotices {
    /// Returns the notices of a database.
    pub(crate) fn over(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Returns the channel on which it is told that something was queued on a list.
    fn channel(&self, list: &ListId) -> String {
        self.database.schema.channel("notices", list.directory())
    }
}

/// Watches the notices of a list.
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
            // A list without tasks has no row yet, which says which roles see the notice.
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
        // Every transaction tells it: a caller that has just asked the database for something else knows whether something waits.
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
        // The process asks by itself for all followers, and calls them.
        Ok(None)
    }
}

/// Reads a notice; one that cannot be read does not keep us from the others.
fn notice(row: &Row) -> Option<Notice> {
    let job = job_from_text(row.get(0)).inspect_err(|error| tracing::warn!(%error, "a notice is passed over")).ok()?;
    let agent = AgentName::new(row.get::<_, &str>(1)).ok()?;
    let delivered = row.get::<_, Option<i64>>(3).map(Timestamp);
    Some(Notice { job, agent, queued: Timestamp(row.get(2)), delivered })
}
