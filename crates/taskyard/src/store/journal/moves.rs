//! Notes about changes that touch two lists, so that a crash between the two journals is noticed from either side.

use std::path::{Path, PathBuf};

use rusqlite::{Row, ToSql};
use serde::{Deserialize, Serialize};
use taskyard_core::{AgentName, Image, Op, Revision, TaskId};

use super::layout::{DATABASE, THINNED, TOKEN, departure_in};
use super::{Journal, rows};
use crate::store::{HistoryQuery, Signature, StoreError};

/// What the list that things come to says of a move, in place of a peer.
const HAPPENED: &str = "";
const STRUCK_OFF: &str = "-";

/// What the fact of a move is called by which the list that things came to remembers where from, until that list has followed.
const ARRIVED: &str = "arrived ";

/// How many revisions of a history are copied at a time.
const PAGE: usize = 256;

/// The other list of a move, as a journal remembers it until both have followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::store) struct MovePeer {
    /// Its name.
    pub(in crate::store) list: String,
    /// Where its tasks are.
    pub(in crate::store) place: PathBuf,
    /// Our directory for it.
    pub(in crate::store) sidecar: PathBuf,
}

/// What a move does to the list that things leave. It counts once the other list's journal holds its token.
#[derive(Clone, Debug)]
pub(in crate::store) struct Move {
    pub(in crate::store) token: String,
    /// The list that things come to.
    pub(in crate::store) peer: MovePeer,
    pub(in crate::store) signature: Signature,
    /// Each task's contents afterwards; none where it leaves.
    pub(in crate::store) changes: Vec<(TaskId, Option<Image>)>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    actor: String,
    /// The verb; older releases wrote none.
    #[serde(default)]
    op: String,
    changes: Vec<(String, Option<String>)>,
    /// The list that things come to; older releases wrote none.
    #[serde(default)]
    list: String,
    #[serde(default)]
    place: PathBuf,
}

impl Journal {
    /// Notes a move that is about to happen.
    pub(in crate::store) fn note_move(&self, coming: &Move) -> Result<(), StoreError> {
        let text = |image: &Image| String::from_utf8_lossy(image.bytes()).into_owned();
        let wire = Wire {
            actor: coming.signature.actor.as_str().to_owned(),
            op: coming.signature.op.as_str().to_owned(),
            changes: coming.changes.iter().map(|(id, image)| (id.to_string(), image.as_ref().map(text))).collect(),
            list: coming.peer.list.clone(),
            place: coming.peer.place.clone(),
        };
        let payload = serde_json::to_string(&wire).unwrap_or_default();
        let columns: [&dyn ToSql; 3] = [&coming.token, &coming.peer.sidecar.to_string_lossy(), &payload];
        self.write("INSERT INTO moves (token, peer, payload, sum) VALUES (?1, ?2, ?3, ?4)", &columns).map(drop)
    }

    /// Notes, in the journal of the list that things come to, that a move happens, as part of the commit that makes it so.
    /// Returns whether it may still: it may not once the list that things leave has struck it off.
    pub(in crate::store) fn confirm_move(&self, token: &str, origin: &MovePeer) -> Result<bool, StoreError> {
        let origin = serde_json::to_string(origin).unwrap_or_default();
        self.set_fact(&format!("{ARRIVED}{token}"), origin)?;
        self.set_fate(token, HAPPENED)
    }

    /// Returns the moves to this list after which the list that things left may not have followed yet, each by its token.
    pub(in crate::store) fn arrivals(&self) -> Result<Vec<(String, MovePeer)>, StoreError> {
        let columns = |row: &Row<'_>| {
            rows::check(row, "facts")?;
            Ok((row.get(0)?, row.get(1)?))
        };
        let sql = "SELECT key, value, sum FROM facts WHERE key >= 'arrived ' AND key < 'arrived!'";
        let rows: Vec<(String, String)> = self.rows(sql, [], columns)?;
        let arrival = |(key, origin): (String, String)| {
            Some((key.strip_prefix(ARRIVED)?.to_owned(), serde_json::from_str(&origin).ok()?))
        };
        Ok(rows.into_iter().filter_map(arrival).collect())
    }

    /// Forgets where things came from: that list has followed.
    pub(in crate::store) fn forget_arrival(&self, token: &str) -> Result<(), StoreError> {
        self.remove("DELETE FROM facts WHERE key = ?1", [format!("{ARRIVED}{token}")])
    }

    /// Tells whether a move to or from this list may not be carried out on both yet.
    pub(in crate::store) fn has_pending_moves(&self) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM moves WHERE payload IS NOT NULL)
            OR EXISTS (SELECT 1 FROM facts WHERE key >= 'arrived ' AND key < 'arrived!')";
        self.one(sql, [], |row| row.get(0))
    }

    /// Decides, in the journal of the list that things come to, what became of a move: it happened, or it never will.
    fn decide_move(&self, token: &str) -> Result<bool, StoreError> {
        let transaction = self.begin()?;
        let happened = !self.set_fate(token, STRUCK_OFF)? && self.fate(token)? == HAPPENED;
        self.end(transaction)?;
        Ok(happened)
    }

    /// Decides, in the journal of the list that things come to, which is in that directory of ours, what became of a move. One that
    /// happened is on the disk afterwards. If that list knows nothing of the move, it never will: its writer may only be suspended.
    pub(in crate::store) fn decide_move_at(peer: &Path, token: &str) -> Result<bool, StoreError> {
        let database = peer.join(DATABASE);
        if !database.try_exists().map_err(StoreError::io("cannot look at", &database))? {
            return Ok(false);
        }
        if departure_in(peer)?.is_some_and(|departure| departure.has_left) {
            // That list has moved to another store since, and nothing is written to its journal any more.
            return Self::open_closed(peer)?.has_happened(token);
        }
        let mut peer = Self::open(peer, peer)?;
        let has_happened = peer.decide_move(token)?;
        if has_happened {
            peer.sync()?;
        }
        Ok(has_happened)
    }

    /// Tells whether a move to this list is known to have happened.
    fn has_happened(&self, token: &str) -> Result<bool, StoreError> {
        let peer = |row: &Row<'_>| rows::check(row, "moves").and_then(|()| row.get::<_, String>(1));
        let fate = self.row("SELECT token, peer, payload, sum FROM moves WHERE token = ?1", [token], peer)?;
        Ok(fate.is_some_and(|fate| fate == HAPPENED))
    }

    /// Sets what becomes of a move, where that is open.
    fn set_fate(&self, token: &str, fate: &str) -> Result<bool, StoreError> {
        let columns: [&dyn ToSql; 3] = [&token, &fate, &None::<String>];
        Ok(self.write("INSERT OR IGNORE INTO moves (token, peer, payload, sum) VALUES (?1, ?2, ?3, ?4)", &columns)? > 0)
    }

    fn fate(&self, token: &str) -> Result<String, StoreError> {
        let peer = |row: &Row<'_>| rows::check(row, "moves").and_then(|()| row.get(1));
        self.one("SELECT token, peer, payload, sum FROM moves WHERE token = ?1", [token], peer)
    }

    /// Copies the history of the list that everything comes from, as far as this journal does not have it, as part of the commit that renames
    /// that list. Returns the newest revision, which the commit goes on from.
    pub(in crate::store) fn go_on_from(&self, former: &Self) -> Result<Revision, StoreError> {
        let mut since = self.newest()?;
        loop {
            let page = former.select(&HistoryQuery { since, oldest: Some(PAGE), ..HistoryQuery::default() })?;
            let Some(last) = page.last() else { break };
            since = last.revision;
            self.append_as_they_are(&page)?;
        }
        let thinned = former.thinned()?.max(Revision(former.begun.revision));
        if thinned > self.thinned()? {
            self.set_fact(THINNED, thinned.0.cast_signed())?;
        }
        if let Some(token) = former.fact::<i64>(TOKEN)?
            && self.fact::<i64>(TOKEN)?.is_none_or(|own| own < token)
        {
            self.set_fact(TOKEN, token)?;
        }
        self.newest()
    }

    /// Strikes a note off.
    pub(in crate::store) fn forget_move(&self, token: &str) -> Result<(), StoreError> {
        self.remove("DELETE FROM moves WHERE token = ?1", [token])
    }

    /// Returns the moves away from this list that were noted and not carried out here.
    pub(in crate::store) fn noted_moves(&self) -> Result<Vec<Move>, StoreError> {
        let columns = |row: &Row<'_>| {
            rows::check(row, "moves")?;
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        };
        let rows: Vec<(String, String, String)> =
            self.rows("SELECT token, peer, payload, sum FROM moves WHERE payload IS NOT NULL", [], columns)?;
        Ok(rows.into_iter().filter_map(|(token, peer, payload)| noted(token, peer, &payload)).collect())
    }
}

fn noted(token: String, peer: String, payload: &str) -> Option<Move> {
    let wire: Wire = serde_json::from_str(payload).ok()?;
    let image = |text: String| Image::new(text.into_bytes());
    Some(Move {
        token,
        peer: MovePeer { list: wire.list, place: wire.place, sidecar: peer.into() },
        signature: Signature::new(AgentName::new(wire.actor).ok()?, wire.op.parse().unwrap_or(Op::Merge)),
        changes: wire.changes.into_iter().map(|(id, text)| (TaskId::stored(id), text.map(image))).collect(),
    })
}
