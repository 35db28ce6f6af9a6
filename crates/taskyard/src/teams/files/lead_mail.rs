//! Whether something may have come for the leads of teams: a look at each lead's inbox, and a file of ours that says how they looked
//! when they were last read.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use taskyard_core::LEAD;

use super::store::FileTeams;
use crate::private;
use crate::teams::LeadMail;

/// An inbox that changed this shortly before it was looked at may have changed since without looking different.
const GRAIN: Duration = Duration::from_millis(50);

impl FileTeams {
    /// Returns how the inboxes of all leads look, where that differs from how they looked when they were last read.
    pub(super) fn look_at_lead_mail(&self) -> Option<LeadMail> {
        let mail = self.lead_inboxes();
        if mail.0.is_empty() {
            return None;
        }
        let mut read = String::new();
        let found = private::open_to_read(&self.seen_lead_mail()).and_then(|mut file| file.read_to_string(&mut read));
        (found.is_err() || read != mail.0).then_some(mail)
    }

    /// Remembers how the inboxes looked; where that fails, they are read again.
    pub(super) fn remember_lead_mail(&self, mail: &LeadMail) {
        if mail.0.is_empty() || mail.0.contains(UNSURE) {
            return;
        }
        if let Err(error) = self.write_lead_mail(mail) {
            tracing::debug!(%error, "the inboxes of leads are looked at again");
        }
    }

    fn write_lead_mail(&self, mail: &LeadMail) -> io::Result<()> {
        let path = self.seen_lead_mail();
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let written = private::create(&new).and_then(|mut file| file.write_all(mail.0.as_bytes()));
        let renamed = written.and_then(|()| fs::rename(&new, &path));
        if renamed.is_err() {
            let _ = fs::remove_file(&new);
        }
        renamed
    }

    fn seen_lead_mail(&self) -> PathBuf {
        self.options.data.join("lead-mail.seen")
    }

    fn lead_inboxes(&self) -> LeadMail {
        let mut teams: Vec<PathBuf> =
            fs::read_dir(&self.options.root).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        teams.sort();
        let mut looks = String::new();
        for team in teams {
            let inbox = team.join("inboxes").join(format!("{LEAD}.json"));
            let Ok(found) = inbox.metadata() else { continue };
            let changed = found.modified().unwrap_or(UNIX_EPOCH);
            let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let is_sure = SystemTime::now().duration_since(changed).is_ok_and(|age| age > GRAIN);
            let _ = write!(looks, "{}\t{}\t{since}\t{}", team.display(), found.len(), file_number(&found));
            looks.push_str(if is_sure { "\n" } else { UNSURE });
        }
        LeadMail(looks)
    }
}

/// What stands behind an inbox that may have changed since it was looked at.
const UNSURE: &str = "\t?\n";

#[cfg(unix)]
fn file_number(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn file_number(_found: &fs::Metadata) -> u64 {
    0
}
