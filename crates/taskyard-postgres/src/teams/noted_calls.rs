//! Calls of members, written down together: a claim of a member takes no more round trips than one of any other agent.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use taskyard::core::{Holder, Team, Timestamp};
use taskyard::teams::{SeatRecord, TeamError};

use super::seats::change_seat;
use crate::database::Database;

/// The calls of one member are written down this often at most.
const APART: Duration = Duration::from_secs(20);

/// Calls that members made through this process, and that are to be written down: after a while, or when this is dropped.
#[derive(Debug)]
pub(super) struct NotedCalls {
    database: Arc<Database>,
    /// The seats of which calls were written down, by team, when it was made, and member.
    seats: Mutex<HashMap<(String, Timestamp, String), NotedSeat>>,
}

/// What this process knows of a member that makes calls through it.
#[derive(Debug)]
struct NotedSeat {
    team: Team,
    /// Who sat there when calls were last written down: what another does is not mixed with that.
    agent: String,
    holder: Option<Holder>,
    written: Instant,
    noted: Option<Noted>,
    /// Whether a thread is about to write.
    is_due: bool,
}

/// Calls that are to be written down.
#[derive(Debug)]
struct Noted {
    activity: String,
    count: u64,
    at: Timestamp,
}

impl NotedCalls {
    /// Returns those of a database; there are none yet.
    pub(super) fn in_database(database: Arc<Database>) -> Self {
        Self { database, seats: Mutex::default() }
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<(String, Timestamp, String), NotedSeat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call of a member, or writes it down if none was for a while.
    pub(super) fn note(
        self: &Arc<Self>,
        team: &Team,
        member: &str,
        activity: &str,
        now: Timestamp,
    ) -> Result<(), TeamError> {
        let key = (team.name.directory().to_owned(), team.created_at, member.to_owned());
        let mut count = 1;
        if let Some(seat) = self.seats().get_mut(&key) {
            count += seat.noted.take().map_or(0, |noted| noted.count);
            if seat.written.elapsed() < APART {
                seat.noted = Some(Noted { activity: activity.to_owned(), count, at: now });
                if !mem::replace(&mut seat.is_due, true) {
                    self.write_after(APART.saturating_sub(seat.written.elapsed()));
                }
                return Ok(());
            }
        }
        let mut seated = SeatRecord::default();
        change_seat(&self.database, team, member, &mut |seat| {
            seat.note_calls(member, activity, count, now);
            seated = seat.clone();
        })?;
        let (agent, holder, written) = (seated.agent, seated.holder, Instant::now());
        let seat = NotedSeat { team: team.clone(), agent, holder, written, noted: None, is_due: false };
        self.seats().insert(key, seat);
        Ok(())
    }

    /// Adds calls that were noted to what was read of a team's seats.
    pub(super) fn add_to(&self, team: &Team, seats: &mut HashMap<String, SeatRecord>) {
        for ((directory, made, member), noted) in &*self.seats() {
            let is_of_team = directory == team.name.directory() && *made == team.created_at;
            if let Some(seat) = seats.get_mut(member).filter(|_| is_of_team) {
                noted.add_to(member, seat);
            }
        }
    }

    /// Writes down all calls that were noted.
    fn write(&self) {
        let mut seats = self.seats();
        // The next call of a member that made none for a while is written down at once.
        seats.retain(|_, seat| seat.noted.is_some() || seat.written.elapsed() < APART);
        let due: Vec<_> = seats.extract_if(|_, seat| seat.noted.is_some()).collect();
        drop(seats);
        for ((directory, made, member), mut noted) in due {
            let written = change_seat(&self.database, &noted.team, &member, &mut |seat| noted.add_to(&member, seat));
            if let Err(error) = written {
                tracing::warn!(%error, "what an agent does is not shown to its team");
            }
            (noted.written, noted.noted, noted.is_due) = (Instant::now(), None, false);
            self.seats().entry((directory, made, member)).or_insert(noted);
        }
    }

    fn write_after(self: &Arc<Self>, pause: Duration) {
        let calls = Arc::downgrade(self);
        let writing = thread::Builder::new().name("taskyard-calls".to_owned()).spawn(move || {
            thread::sleep(pause);
            calls.upgrade().iter().for_each(|calls| calls.write());
        });
        if let Err(error) = writing {
            tracing::warn!(%error, "what an agent does is shown to its team with its next call");
        }
    }
}

impl Drop for NotedCalls {
    fn drop(&mut self) {
        if self.seats().values().any(|seat| seat.noted.is_some()) {
            // The last owner may be a thread that a runtime of its own runs on: there no other may be waited for.
            thread::scope(|scope| drop(scope.spawn(|| self.write())));
        }
    }
}

impl NotedSeat {
    /// Adds the calls to what is remembered of the seat, unless another agent sits there since.
    fn add_to(&self, member: &str, seat: &mut SeatRecord) {
        let is_same = *seat != SeatRecord::default() && seat.agent == self.agent && seat.holder == self.holder;
        if let Some(Noted { activity, count, at }) = self.noted.as_ref().filter(|_| is_same) {
            seat.note_calls(member, activity, *count, *at);
        }
    }
}
