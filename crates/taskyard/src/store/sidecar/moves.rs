//! Notes about changes that touch two lists, so that a crash between the two journals is noticed from either side.

use std::path::PathBuf;

use rusqlite::{Row, ToSql};
use serde::{Deserialize, Serialize};
use taskyard_core::{AgentName, Image, Op, TaskId};

use super::Journal;
use super::sums;
use crate::store::{Signature, StoreError};

/// What the list that things come to says of a move, in place of a peer.
const HAPPENED: &str = "";
const STRUCK_OFF: &str = "-";

/// What a move does to the list that things leave. It counts once the other list's journal holds its token.
#[derive(Clone, Debug)]
pub(in crate::store) struct Move {
    pub(in crate::store) token: String,
    /// Our directory for the list that things come to.
    pub(in crate::store) peer: PathBuf,
    pub(in crate::store) signature: Signature,
    /// Each task's contents afterwards; none where it leaves.
    pub(in crate::store) changes: Vec<(TaskId, Option<Image>)>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    actor: String,
    changes: Vec<(String, Option<String>)>,
}

impl Journal {
    /// Notes a move that is about to happen.
    pub(in crate::store) fn note_move(&self, coming: &Move) -> Result<(), StoreError> {
        let text = |image: &Image| String::from_utf8_lossy(image.bytes()).into_owned();
        let wire = Wire {
            actor: coming.signature.actor.as_str().to_owned(),
            changes: coming.changes.iter().map(|(id, image)| (id.to_string(), image.as_ref().map(text))).collect(),
        };
        let payload = serde_json::to_string(&wire).unwrap_or_default();
        let columns: [&dyn ToSql; 3] = [&coming.token, &coming.peer.to_string_lossy(), &payload];
        self.write("INSERT INTO moves (token, peer, payload, sum) VALUES (?1, ?2, ?3, ?4)", &columns).map(drop)
    }

    /// Notes, in the journal of the list that things come to, that a move happens, as part of the commit that makes it so.
    /// Returns whether it may still: it may not once the list that things leave has struck it off.
    pub(in crate::store) fn confirm_move(&self, token: &str) -> Result<bool, StoreError> {
        self.set_fate(token, HAPPENED)
    }

    /// Decides, in the journal of the list that things come to, what became of a move: it happened, or it never will.
    pub(in crate::store) fn decide_move(&self, token: &str) -> Result<bool, StoreError> {
        let transaction = self.begin()?;
        let happened = !self.set_fate(token, STRUCK_OFF)? && self.fate(token)? == HAPPENED;
        self.end(transaction)?;
        Ok(happened)
    }

    /// Sets what becomes of a move, where that is open.
    fn set_fate(&self, token: &str, fate: &str) -> Result<bool, StoreError> {
        let columns: [&dyn ToSql; 3] = [&token, &fate, &None::<String>];
        Ok(self.write("INSERT OR IGNORE INTO moves (token, peer, payload, sum) VALUES (?1, ?2, ?3, ?4)", &columns)? > 0)
    }

    fn fate(&self, token: &str) -> Result<String, StoreError> {
        let peer = |row: &Row<'_>| sums::check(row, "moves").and_then(|()| row.get(1));
        self.one("SELECT token, peer, payload, sum FROM moves WHERE token = ?1", [token], peer)
    }

    /// Strikes a note off.
    pub(in crate::store) fn forget_move(&self, token: &str) -> Result<(), StoreError> {
        self.remove("DELETE FROM moves WHERE token = ?1", [token])
    }

    /// Returns the moves away from this list that were noted and not carried out here.
    pub(in crate::store) fn noted_moves(&self) -> Result<Vec<Move>, StoreError> {
        let columns = |row: &Row<'_>| {
            sums::check(row, "moves")?;
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
        peer: peer.into(),
        signature: Signature::new(AgentName::new(wire.actor).ok()?, Op::Merge),
        changes: wire.changes.into_iter().map(|(id, text)| (TaskId::stored(id), text.map(image))).collect(),
    })
}
