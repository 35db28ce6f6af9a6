//! Heartbeats as known to this process: each process that holds leases or a seat has one row, which it renews by the
//! server's clock while it runs.
//!
//! What a missing heartbeat means is decided in `taskyard_core::rules::leases::liveness`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taskyard::core::{Moment, ProcessMark};
use taskyard::liveness::longest_silence;
use tokio_postgres::Row;

use crate::connecting::Failure;
use crate::server_clock::{JITTER, own_clock};

/// Number of heartbeats sent within [`longest_silence`].
pub(crate) const BEATS_IN_A_SILENCE: u32 = 3;
/// How long the database's answer about a silent process stays valid, in milliseconds.
const SILENT_FOR_NOW: i64 = 1_000;

/// The heartbeats of all processes known to this one, and whether it sends its own.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats {
    known: Mutex<HashMap<String, Known>>,
    sending: Mutex<Option<Sending>>,
    /// When this process last sent one, by the server's clock and by this machine's.
    sent: Mutex<Option<(i64, Duration)>>,
    /// Whether this process has removed the rows of processes that ended long ago.
    has_swept: AtomicBool,
}

/// The last known heartbeat of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Its time; `None` if the process never sent one.
    pub(crate) last: Option<i64>,
    /// When the database was asked.
    asked: i64,
}

/// How long this process keeps sending heartbeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Until {
    NothingIsHeld,
    ItsEnd,
}

/// Handle of the thread that sends heartbeats. The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) until: Until,
    pub(crate) _end: Sender<()>,
}

impl Known {
    /// Returns whether the database must be asked again before this process can be judged.
    pub(crate) fn is_overdue(self, now: i64) -> bool {
        let (silence, age) = (milliseconds(longest_silence()), now - self.asked);
        let interval = silence / i64::from(BEATS_IN_A_SILENCE);
        match self.last {
            // The server's clock was set back in the meantime.
            _ if age < -JITTER => true,
            Some(last) if last <= now + JITTER => {
                let silent_from = last.saturating_add(silence);
                now >= silent_from && (self.asked < silent_from || age >= SILENT_FOR_NOW)
            }
            // A process without heartbeats most likely never sends any; one whose heartbeat lies in the future sends
            // the next by the corrected clock.
            Some(_) | None => age >= interval,
        }
    }
}

impl Heartbeats {
    /// Locks the known heartbeats, keyed by process name.
    pub(crate) fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the handle of this process's heartbeat thread; `None` if it sends none.
    pub(crate) fn sending(&self) -> MutexGuard<'_, Option<Sending>> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records rows with a process, which may be null, in `column` and its last heartbeat in the next one.
    pub(crate) fn learn(&self, rows: &[Row], column: usize, now: &Moment) -> Result<(), Failure> {
        let mut known = self.known();
        for row in rows {
            if let Some(process) = row.try_get::<_, Option<String>>(column)? {
                known.insert(process, Known { last: row.try_get(column + 1)?, asked: now.wall.0 });
            }
        }
        Ok(())
    }

    /// Records that processes took leases at these moments: each had sent a heartbeat no earlier than
    /// [`Self::is_one_due`] allows.
    pub(crate) fn learn_alive(&self, processes: Vec<(String, i64)>, now: &Moment) {
        let mut known = self.known();
        for (process, at) in processes {
            // Never trust a sign of life in the future.
            let last = at.min(now.wall.0).saturating_sub(milliseconds(longest_silence() / 2));
            let last = known.get(&process).and_then(|known| known.last).map_or(last, |before| before.max(last));
            known.insert(process, Known { last: Some(last), asked: now.wall.0 });
        }
    }

    /// Returns the processes whose heartbeats must be read again before they can be judged.
    pub(crate) fn overdue(&self, now: i64) -> Vec<String> {
        let known = self.known();
        known.iter().filter(|(_, known)| known.is_overdue(now)).map(|(process, _)| process.clone()).collect()
    }

    /// Returns whether a process must send a heartbeat along with what it takes: it has sent none yet, or none for a
    /// while. Uses the server's clock, as other processes do; that clock may have been set.
    pub(crate) fn is_one_due(&self, now: i64) -> bool {
        let sent = *self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.is_none_or(|(sent, _)| !(-JITTER..milliseconds(longest_silence() / 2)).contains(&(now - sent)))
    }

    /// Returns the time until this process sends the next one.
    pub(crate) fn until_due(&self) -> Duration {
        let sent = *self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let since = sent.map_or(Duration::MAX, |(_, sent)| own_clock().saturating_sub(sent));
        (longest_silence() / BEATS_IN_A_SILENCE).saturating_sub(since)
    }

    /// Records that this process sent one, by the server's clock.
    pub(crate) fn note_sent(&self, now: i64) {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, own_clock()));
    }

    pub(crate) fn has_swept(&self) -> bool {
        self.has_swept.load(Ordering::Relaxed)
    }

    pub(crate) fn note_swept(&self) {
        self.has_swept.store(true, Ordering::Relaxed);
    }

    /// Records that this process no longer sends any.
    pub(crate) fn note_end(&self) {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Returns the name of a process in the database.
pub(crate) fn name_of(process: &ProcessMark) -> String {
    let ProcessMark { machine, pid_space, boot, pid, started } = process;
    format!("{machine} {pid_space} {boot} {pid} {started}")
}

pub(crate) fn milliseconds(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use taskyard::core::rules::leases::liveness::LONGEST_SILENCE;

    use super::{Known, SILENT_FOR_NOW, milliseconds};

    #[test]
    fn a_process_is_silent_only_if_the_database_said_so_late_enough() {
        let silence = milliseconds(LONGEST_SILENCE);
        let known = |asked| Known { last: Some(1_000), asked };
        assert!(!known(1_000).is_overdue(999 + silence), "it counts as alive");
        assert!(known(1_000).is_overdue(1_000 + silence), "it may have sent another one since");
        let asked = 1_000 + silence;
        assert!(!known(asked).is_overdue(asked));
        assert!(known(asked).is_overdue(asked + SILENT_FOR_NOW), "it may have come back");
        let never = Known { last: None, asked: 1_000 };
        assert!(!never.is_overdue(2_000) && never.is_overdue(1_000 + silence));
    }

    #[test]
    fn after_the_clock_was_set_back_the_database_is_asked_again() {
        let day = 24 * 3600 * 1000;
        let before = Known { last: Some(day), asked: day };
        assert!(before.is_overdue(1_000));
        let since = Known { asked: 1_000, ..before };
        assert!(!since.is_overdue(2_000) && since.is_overdue(1_000 + milliseconds(LONGEST_SILENCE)));
    }
}
