//! That jobs of a list have ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::{JobId, ListId};

use super::cursor::AlreadyTold;
use super::source::{Found, Source};
use super::{Cursor, Happening};
use crate::Error;
use crate::notices::{NoticeError, NoticeWatch, Notices};

/// Where it cannot be told whether the notices have changed, they are looked at again after this.
const UNCERTAIN: Duration = Duration::from_millis(100);

/// Tells that jobs of a list have ended.
pub(super) struct JobsSource {
    notices: Arc<dyn Notices>,
    list: ListId,
    watch: Box<dyn NoticeWatch>,
    told: BTreeSet<JobId>,
    /// What the notices were at the last look.
    version: Option<u64>,
}

impl JobsSource {
    /// Begins with what was told already.
    pub(super) fn new(
        notices: Arc<dyn Notices>,
        list: ListId,
        cursor: &Cursor,
        mut watch: Box<dyn NoticeWatch>,
    ) -> Result<Self, NoticeError> {
        // Before the first look, so that nothing falls between them.
        watch.keep_up()?;
        let mut told: BTreeSet<JobId> = ids(notices.queued(&list, &BTreeSet::new())?);
        if let AlreadyTold::These(these) = &cursor.jobs {
            // What was heard need not be told again.
            for waiting in ids(notices.waiting(&list)?).difference(these) {
                told.remove(waiting);
            }
        }
        Ok(Self { notices, list, watch, told, version: None })
    }
}

impl Source for JobsSource {
    fn look(&mut self, found: &mut Found) -> Result<Option<Duration>, Error> {
        let pause = self.watch.keep_up()?;
        // Looking moves files beside those that matter, and must not make us look again.
        let version = self.notices.version();
        if version.is_some() && version == self.version {
            return Ok(pause);
        }
        for notice in self.notices.queued(&self.list, &self.told)? {
            self.told.insert(notice.job.id.clone());
            found.happenings.push_back(Happening::JobEnded(Box::new(notice)));
        }
        self.version = version;
        Ok(if version.is_none() { Some(UNCERTAIN) } else { pause })
    }

    fn mark(&self, cursor: &mut Cursor) {
        cursor.jobs.add(self.told.iter().cloned());
    }
}

fn ids(notices: Vec<crate::notices::Notice>) -> BTreeSet<JobId> {
    notices.into_iter().map(|notice| notice.job.id).collect()
}
