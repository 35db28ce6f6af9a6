//! Liveness of the processes of all machines that share a database: sending this process's heartbeats and judging the
//! others by theirs.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use taskyard::core::rules::leases::liveness::{Liveness, ProcessSeen};
use taskyard::core::{AgentName, Holder, Moment, ProcessMark};
use taskyard::liveness::{World, liveness_on_shared_store, longest_silence, own_mark};
use taskyard::store::StoreError;

use crate::connecting::{Failure, Statement, make_this_thread_urgent};
use crate::database::Database;
use crate::heartbeats::{BEATS_IN_A_SILENCE, Sending, Until, milliseconds, name_of};
use crate::server_clock::{NOW, moment};
use crate::store::storable;

/// Rows of processes silent for this long are removed. In milliseconds: 30 days.
const SWEPT_AFTER: i64 = 30 * 24 * 3600 * 1000;

impl Database {
    /// Returns the query for the heartbeats of processes that would count as silent by what is known, or `None` if
    /// there are none. Sent along with other queries.
    pub(crate) fn overdue_heartbeats(&self) -> Option<Statement> {
        if self.heartbeats.known().is_empty() {
            // The server's time may not be known yet either.
            return None;
        }
        let overdue = self.heartbeats.overdue(self.clock.now_in_transaction().wall.0);
        (!overdue.is_empty()).then(|| self.heartbeats_of(overdue))
    }

    /// Returns when a process last sent a heartbeat, or `None` if it never did.
    fn last_heartbeat(&self, process: &ProcessMark) -> Option<Moment> {
        let name = name_of(process);
        let known = self.heartbeats.known().get(&name).copied();
        if let Some(known) = known
            // A transaction reads overdue heartbeats when it begins, and judges by that moment.
            && (!known.is_overdue(self.clock.now_in_transaction().wall.0) || self.pool.is_used_by_this_thread())
        {
            return known.last.map(moment);
        }
        let doing = "read heartbeats";
        let answer = self.read(doing, || vec![self.heartbeats_of(vec![name.clone()])]).and_then(|rows| {
            let rows = rows.map(|mut rows| rows.remove(0)).unwrap_or_default();
            let learnt = self.heartbeats.learn(&rows, 0, &self.clock.now_in_transaction());
            learnt.map_err(|failure| failure.into_store_error(self.shown(), doing))
        });
        if let Err(error) = answer {
            // The caller gets the error when it next queries or writes.
            tracing::debug!(%error, "heartbeats are not known");
        }
        self.heartbeats.known().get(&name)?.last.map(moment)
    }

    /// Returns the query for the last heartbeats of processes.
    pub(crate) fn heartbeats_of(&self, processes: Vec<String>) -> Statement {
        let sql = "SELECT asked.process, a.seen_at FROM unnest($1) AS asked (process)
            LEFT JOIN @.alive a ON a.process = asked.process";
        self.statement(sql).texts(processes)
    }

    /// Returns the statement that records a heartbeat of this process.
    pub(crate) fn heartbeat(&self, agent: Option<&AgentName>) -> Statement {
        let own = own_mark();
        // Roles may write agents but not read them.
        let renewed = if agent.is_some() { ", agent = $5" } else { "" };
        let sql = format!(
            "INSERT INTO @.alive AS a (process, machine, boot, pid, agent, seen_at) VALUES ($1, $2, $3, $4, $5, {NOW})
            ON CONFLICT (process) DO UPDATE SET seen_at = excluded.seen_at{renewed} RETURNING seen_at"
        );
        let statement = self.statement(&sql).text(name_of(&own)).text(own.machine).text(own.boot);
        let agent = agent.map(|agent| storable(agent.as_str())).unwrap_or_default();
        statement.number(i64::from(own.pid)).text(agent)
    }

    /// Sends heartbeats from now on. The caller has already sent the first one.
    pub(crate) fn send_heartbeats(self: &Arc<Self>, until: Until) {
        let mut sending = self.heartbeats.sending();
        if let Some(sending) = &mut *sending {
            sending.until = sending.until.max(until);
            return;
        }
        let (end, ended) = mpsc::channel();
        let database = Arc::clone(self);
        let thread = thread::Builder::new().name("taskyard-alive".to_owned());
        match thread.spawn(move || send(&database, &ended)) {
            Ok(_) => *sending = Some(Sending { until, _end: end }),
            Err(error) => tracing::warn!(%error, "no heartbeats are sent"),
        }
    }

    /// Stops sending heartbeats and removes this process's row, unless it sends them until it ends.
    fn end_heartbeats(&self) {
        let mut sending = self.heartbeats.sending();
        if sending.as_ref().is_some_and(|sending| sending.until == Until::NothingIsHeld) {
            *sending = None;
            self.heartbeats.note_end();
            // A heartbeat in flight may restore the row; it is swept later.
            drop(sending);
            let sql = "DELETE FROM @.alive WHERE process = $1";
            let removal = || vec![self.statement(sql).text(name_of(&own_mark()))];
            if let Err(error) = self.change("remove a heartbeat", removal) {
                tracing::debug!(%error, "a heartbeat is left to be swept");
            }
        }
    }

    /// Sends one heartbeat, reads those of other processes and polls for this process's followers on the way. Returns
    /// when it was sent, by the server's clock.
    pub(crate) fn send_heartbeat(&self) -> Result<i64, StoreError> {
        let doing = "send a heartbeat";
        let known: Vec<String> = self.heartbeats.known().keys().cloned().collect();
        let lists = self.listening.lists();
        let (rows, stamp) = self.change_stamped(doing, || {
            let mut all = vec![self.heartbeat(None), self.heartbeats_of(known.clone())];
            all.push(self.poll_question(lists.clone()));
            if !self.heartbeats.has_swept() {
                all.push(self.sweeping());
                // The clock may have been set back before this process first observed it.
                all.extend(self.bringing_back());
            }
            all
        })?;
        let failed = |failure: Failure| failure.into_store_error(self.shown(), doing);
        self.heartbeats.note_swept();
        let sent = rows[0][0].try_get::<_, i64>(0).map_err(|error| failed(error.into()))?;
        self.heartbeats.note_sent(sent);
        self.heartbeats.learn(&rows[1], 0, &moment(sent)).map_err(failed)?;
        self.listening.take_in(&Self::polled(&rows[2], &stamp).map_err(failed)?);
        // A caller that needs one of the others queries it again.
        let silence = milliseconds(longest_silence());
        self.heartbeats.known().retain(|_, known| known.last.is_some_and(|last| sent - last < silence));
        self.bring_signs_back();
        Ok(sent)
    }

    /// If the server's clock was set back, moves signs of life in the future back to the present: otherwise dead
    /// processes would count as alive until the clock catches up. Every process does this along with its heartbeats,
    /// whichever of its queries revealed the change.
    pub(crate) fn bring_signs_back(&self) {
        if !self.clock.take_set_back() {
            return;
        }
        if let Err(error) = self.change("bring signs of life back", || self.bringing_back().into()) {
            tracing::warn!(%error, "the server's clock was set back, and the signs of life of the dead still count, trying again");
            self.clock.note_set_back();
        }
    }

    /// Returns the statements that do this for heartbeats and for job reports.
    fn bringing_back(&self) -> [Statement; 2] {
        [("alive", "process", "seen_at"), ("jobs", "job", "changed_at")].map(|(table, key, at)| {
            self.statement(&format!(
                "UPDATE @.{table} SET {at} = {NOW} WHERE {key} IN
                    (SELECT {key} FROM @.{table} WHERE {at} > {NOW} ORDER BY {key} FOR UPDATE SKIP LOCKED)"
            ))
        })
    }

    /// Returns the statement that removes the rows of processes that ended long ago.
    fn sweeping(&self) -> Statement {
        self.statement(&format!("DELETE FROM @.alive WHERE seen_at < {NOW} - $1")).number(SWEPT_AFTER)
    }
}

/// Sends heartbeats until told to stop.
fn send(database: &Database, ended: &Receiver<()>) {
    // Another thread may hold the connection for as long as it waits for a list.
    make_this_thread_urgent();
    let mut pause = database.heartbeats.until_due();
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        pause = database.heartbeats.until_due();
        if !pause.is_zero() {
            // A heartbeat was sent with a commit or another query.
            continue;
        }
        let sent = database.send_heartbeat();
        pause = database.heartbeats.until_due();
        if let Err(error) = sent {
            tracing::warn!(%error, "no heartbeat is sent, trying again");
            pause = longest_silence() / BEATS_IN_A_SILENCE;
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SharedWorld {
    database: Arc<Database>,
}

impl SharedWorld {
    pub(crate) fn over(database: Arc<Database>) -> Self {
        Self { database }
    }
}

impl World for SharedWorld {
    fn see(&self, process: &ProcessMark) -> ProcessSeen {
        let longest_silence = longest_silence();
        if *process == own_mark() {
            // Any process that took over its leases while it was silent has recorded that.
            return ProcessSeen { liveness: Liveness::Alive, last_sign: None, longest_silence, must_show_life: false };
        }
        let (liveness, last_sign) = (liveness_on_shared_store(process), self.database.last_heartbeat(process));
        ProcessSeen { liveness, last_sign, longest_silence, must_show_life: true }
    }

    fn holds_now(&self, holder: &Holder) {
        // The commit that assigned the lease sent the first heartbeat.
        if *holder.process() == own_mark() {
            self.database.send_heartbeats(Until::NothingIsHeld);
        }
    }

    fn sits_now(&self, holder: &Holder) {
        if *holder.process() == own_mark() {
            if let Err(error) = self.database.send_heartbeat() {
                tracing::warn!(%error, "no heartbeat is sent, trying again");
            }
            self.database.send_heartbeats(Until::ItsEnd);
        }
    }

    fn holds_nothing(&self) {
        self.database.end_heartbeats();
    }

    fn now(&self) -> Moment {
        self.database.now().unwrap_or_else(|error| {
            tracing::debug!(%error, "the server does not tell the time");
            self.database.clock.now_in_transaction()
        })
    }
}
