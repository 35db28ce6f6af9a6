//! The last known state of every file, used to detect outside changes and as a cache for listings. For a list in
//! another dialect, also the form in which each task was last written there.
//!
//! Also the leases, which are in the same database so that they change in one transaction with the journal.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{Row, ToSql, params};
use taskyard_core::dialect::native;
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{AgentName, Holder, Image, Lease, Moment, ProcessMark, Task, TaskId, Timestamp, Token};

use super::Journal;
use super::damage::judge;
use super::entries::{Key, task_id};
use super::layout::{FORMS, TOKEN};
use super::stamp::Marks;
use crate::fingerprint::Fingerprint;
use crate::store::StoreError;
use crate::store::journal::rows;
use crate::store::kit::StagedLeases;

const TABLE: &str = "known";
/// The query for last known states; they are read by column position.
pub(super) const KNOWN_COLUMNS: &str = "SELECT task, inode, mtime, size, seen, content, mode, sum FROM known";
/// The fact with the time when files that are gone now were last seen, in milliseconds since the Unix epoch.
const LAST_LOOK: &str = "seen";

/// A new look is recorded if the last recorded one is older than this, in nanoseconds.
pub(in crate::store) const LOOK_IS_OLD: i64 = 60_000_000_000;

/// The last known state of a file.
#[derive(Clone, Debug)]
pub(in crate::store) struct Known {
    pub(in crate::store) print: Fingerprint,
    /// When it was last looked at, in nanoseconds since the Unix epoch.
    pub(in crate::store) seen: i64,
    pub(in crate::store) image: Image,
    /// The permission bits, or `None` if unknown.
    pub(in crate::store) mode: Option<u32>,
}

/// The last known state of a file, with its task parsed.
#[derive(Debug)]
pub(in crate::store) struct KnownTask {
    pub(in crate::store) id: TaskId,
    pub(in crate::store) print: Fingerprint,
    pub(in crate::store) seen: i64,
    pub(in crate::store) task: Result<Task, Unreadable>,
    /// The permission bits, or `None` if unknown.
    pub(in crate::store) mode: Option<u32>,
}

/// The last known state of a file, with its task if that was wanted and could be parsed.
#[derive(Debug)]
pub(in crate::store) struct KnownPrint {
    pub(in crate::store) id: TaskId,
    pub(in crate::store) print: Fingerprint,
    pub(in crate::store) seen: i64,
    /// Boxed, because most are `None`.
    pub(in crate::store) task: Option<Box<Task>>,
}

impl Journal {
    /// Returns the last known state of a file, or `None` if it is not known.
    pub(in crate::store) fn known(&self, task: &TaskId) -> Result<Option<Known>, StoreError> {
        let sql = format!("{KNOWN_COLUMNS} WHERE task = ?1");
        self.row(&sql, [Key(task)], |row| known(row).map(|(_, known)| known))
    }

    /// Returns the last known state of every file.
    pub(in crate::store) fn all_known(&self) -> Result<Vec<(TaskId, Known)>, StoreError> {
        self.rows(KNOWN_COLUMNS, [], known)
    }

    /// Returns every known file with its fingerprint and its parsed task. The contents are not returned, because they
    /// are not needed for unchanged files.
    pub(in crate::store) fn known_tasks(&self) -> Result<Vec<KnownTask>, StoreError> {
        self.rows(KNOWN_COLUMNS, [], |row| {
            rows::check(row, TABLE)?;
            let id = task_id(row.get_ref(0)?);
            let task = native::read(&id, row.get_ref(5)?.as_blob_or_null()?.unwrap_or_default());
            Ok(KnownTask { print: print(row)?, seen: row.get(4)?, task, mode: row.get(6)?, id })
        })
    }

    /// Returns every known file with its fingerprint, and its parsed task if `is_wanted` accepts the contents.
    pub(in crate::store) fn known_where(
        &self,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<KnownPrint>, StoreError> {
        self.rows(KNOWN_COLUMNS, [], |row| {
            rows::check(row, TABLE)?;
            let id = task_id(row.get_ref(0)?);
            let content = row.get_ref(5)?.as_blob_or_null()?.unwrap_or_default();
            let task = if is_wanted(content) { native::read(&id, content).ok().map(Box::new) } else { None };
            Ok(KnownPrint { print: print(row)?, seen: row.get(4)?, task, id })
        })
    }

    pub(in crate::store) fn known_ids(&self) -> Result<Vec<TaskId>, StoreError> {
        self.rows("SELECT task FROM known", [], |row| Ok(task_id(row.get_ref(0)?)))
    }

    /// Returns the approximate number of known files.
    pub(in crate::store) fn known_count(&self) -> Result<usize, StoreError> {
        let count: Option<i64> = self.one("SELECT max(rowid) FROM known", [], |row| row.get(0))?;
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0))
    }

    pub(in crate::store) fn set_known(&self, task: &TaskId, known: &Known) -> Result<(), StoreError> {
        let sql = "INSERT INTO known (task, inode, mtime, size, seen, content, mode, sum)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (task) DO UPDATE SET
            inode = excluded.inode, mtime = excluded.mtime, size = excluded.size, seen = excluded.seen,
            content = excluded.content, mode = excluded.mode, sum = excluded.sum";
        let columns: [&dyn ToSql; 7] = [
            &Key(task),
            &known.print.inode.cast_signed(),
            &known.print.mtime,
            &known.print.size.cast_signed(),
            &known.seen,
            &known.image.bytes(),
            &known.mode,
        ];
        self.write(sql, &columns).map(drop)
    }

    /// Records a new fingerprint of a file whose contents are unchanged.
    pub(in crate::store) fn set_print(
        &self,
        task: &TaskId,
        print: Fingerprint,
        mode: u32,
        seen: i64,
    ) -> Result<(), StoreError> {
        match self.known(task)? {
            Some(known) => self.set_known(task, &Known { print, seen, mode: Some(mode), ..known }),
            None => Ok(()),
        }
    }

    /// Records when files that are gone now were last seen.
    pub(in crate::store) fn set_last_look(&self, at: Timestamp) -> Result<(), StoreError> {
        self.set_fact(LAST_LOOK, at.0)
    }

    /// Returns when files that are gone now were last seen, or `None` if that was not recorded.
    pub(in crate::store) fn last_look(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.fact::<i64>(LAST_LOOK)?.map(Timestamp))
    }

    /// Removes the last known state of a file.
    pub(in crate::store) fn forget(&self, task: &TaskId) -> Result<(), StoreError> {
        self.remove("DELETE FROM known WHERE task = ?1", [Key(task)])
    }
}

pub(super) fn known(row: &Row<'_>) -> rusqlite::Result<(TaskId, Known)> {
    rows::check(row, TABLE)?;
    let content = row.get_ref(5)?.as_blob_or_null()?.unwrap_or_default();
    let known = Known { print: print(row)?, seen: row.get(4)?, image: Image::new(content), mode: row.get(6)? };
    Ok((task_id(row.get_ref(0)?), known))
}

fn print(row: &Row<'_>) -> rusqlite::Result<Fingerprint> {
    Ok(Fingerprint {
        inode: row.get::<_, i64>(1)?.cast_unsigned(),
        mtime: row.get(2)?,
        size: row.get::<_, i64>(3)?.cast_unsigned(),
    })
}

/// A task, and its form in the list's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Formed {
    /// `None` if the files cannot represent the task and it is only kept here.
    pub(in crate::store) form: Option<Vec<u8>>,
    pub(in crate::store) image: Image,
}

impl Journal {
    /// Creates the table of forms if it does not exist.
    pub(in crate::store) fn have_forms(&self) -> Result<(), StoreError> {
        if self.has_forms()? {
            return Ok(());
        }
        self.database.transact(|database| database.batch("create", &FORMS.creation())).map_err(judge)
    }

    pub(in crate::store) fn forms(&self) -> Result<BTreeMap<TaskId, Formed>, StoreError> {
        if !self.has_forms()? {
            return Ok(BTreeMap::new());
        }
        Ok(self.rows("SELECT task, form, image, sum FROM forms", [], formed)?.into_iter().collect())
    }

    pub(super) fn form(&self, task: &TaskId) -> Result<Option<Formed>, StoreError> {
        self.row("SELECT task, form, image, sum FROM forms WHERE task = ?1", [Key(task)], |row| {
            formed(row).map(|(_, formed)| formed)
        })
    }

    pub(in crate::store) fn set_form(&self, task: &TaskId, formed: &Formed) -> Result<(), StoreError> {
        let columns: [&dyn ToSql; 3] = [&Key(task), &formed.form, &formed.image.bytes()];
        self.write("INSERT OR REPLACE INTO forms (task, form, image, sum) VALUES (?1, ?2, ?3, ?4)", &columns).map(drop)
    }

    pub(in crate::store) fn forget_form(&self, task: &TaskId) -> Result<(), StoreError> {
        self.remove("DELETE FROM forms WHERE task = ?1", [Key(task)])
    }

    /// Returns whether the table of forms exists.
    pub(super) fn has_forms(&self) -> Result<bool, StoreError> {
        self.one("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'forms')", [], |row| row.get(0))
    }
}

fn formed(row: &Row<'_>) -> rusqlite::Result<(TaskId, Formed)> {
    rows::check(row, "forms")?;
    let formed = Formed { form: row.get(1)?, image: Image::new(row.get::<_, Vec<u8>>(2)?) };
    Ok((task_id(row.get_ref(0)?), formed))
}

/// The query for leases; they are read by column position.
const LEASE_COLUMNS: &str = "SELECT task, agent, token, taken, ttl, ends, ends_since_boot, ends_boot, pid, started, process_boot, \
    grace, machine, pid_space, sum FROM leases";

impl Journal {
    /// Returns every lease, ordered by task.
    pub(in crate::store) fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        self.rows(&format!("{LEASE_COLUMNS} ORDER BY task"), [], lease)
    }

    /// Returns the leases for a transaction to stage changes over.
    pub(in crate::store) fn leases_to_stage(&self, has_leases: bool) -> Result<StagedLeases, StoreError> {
        let leases = if has_leases { self.leases()? } else { Vec::new() };
        let last = self.fact::<i64>(TOKEN)?.unwrap_or(0).unsigned_abs();
        Ok(StagedLeases::over(leases, Token(last)))
    }

    /// Writes the staged changes.
    pub(in crate::store) fn write_leases(&self, leases: &StagedLeases) -> Result<(), StoreError> {
        for (task, lease) in leases.changed() {
            match lease {
                Some(lease) => self.write_lease(lease)?,
                None => self.end_lease(task)?,
            }
        }
        if leases.has_granted() {
            self.set_fact(TOKEN, leases.last_token().0.cast_signed())?;
            self.reach(Marks { token: leases.last_token().0, ..Marks::default() });
        }
        Ok(())
    }

    pub(super) fn end_lease(&self, task: &TaskId) -> Result<(), StoreError> {
        self.remove("DELETE FROM leases WHERE task = ?1", [Key(task)])
    }

    /// Renews leases that still have the same token to the expiry times they carry here.
    pub(in crate::store) fn renew(&self, leases: &[Lease]) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        let query = format!("{LEASE_COLUMNS} WHERE task = ?1 AND token = ?2");
        for Lease { task, token, ends, .. } in leases {
            if let Some(same) = self.row(&query, params![Key(task), token.0.cast_signed()], lease)? {
                self.write_lease(&Lease { ends: ends.clone(), ..same })?;
            }
        }
        self.end(transaction)
    }

    pub(super) fn write_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        let (wall, since_boot, boot) = moment_columns(lease.ends.as_ref());
        let process = lease.holder.as_ref().map(Holder::process);
        let grace = match &lease.holder {
            Some(Holder::Connection { grace, .. }) => Some(milliseconds(*grace)),
            Some(Holder::Process(_)) | None => None,
        };
        let columns: [&dyn ToSql; 14] = [
            &Key(&lease.task),
            &lease.agent.as_str(),
            &lease.token.0.cast_signed(),
            &lease.taken.0,
            &lease.ttl.map(milliseconds),
            &wall,
            &since_boot,
            &boot,
            &process.map(|process| process.pid),
            &process.map(|process| process.started.cast_signed()),
            &process.map(|process| process.boot.as_str()),
            &grace,
            &process.map(|process| process.machine.as_str()),
            &process.map(|process| process.pid_space.as_str()),
        ];
        let sql =
            "INSERT OR REPLACE INTO leases (task, agent, token, taken, ttl, ends, ends_since_boot, ends_boot, pid, started,
                process_boot, grace, machine, pid_space, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
        self.write(sql, &columns).map(drop)
    }
}

fn moment_columns(moment: Option<&Moment>) -> (Option<i64>, Option<i64>, Option<&str>) {
    (
        moment.map(|moment| moment.wall.0),
        moment.map(|moment| moment.since_boot),
        moment.map(|moment| moment.boot.as_str()),
    )
}

fn lease(row: &Row<'_>) -> rusqlite::Result<Lease> {
    rows::check(row, "leases")?;
    let duration = |milliseconds: Option<i64>| milliseconds.map(|count| Duration::from_millis(count.unsigned_abs()));
    let ends = match (row.get(5)?, row.get(6)?, row.get(7)?) {
        (Some(wall), Some(since_boot), Some(boot)) => Some(Moment { wall: Timestamp(wall), boot, since_boot }),
        _ => None,
    };
    let process = match (row.get(8)?, row.get::<_, Option<i64>>(9)?, row.get(10)?) {
        (Some(pid), Some(started), Some(boot)) => Some(ProcessMark {
            // Older releases recorded neither.
            machine: row.get::<_, Option<String>>(12)?.unwrap_or_default(),
            pid_space: row.get::<_, Option<String>>(13)?.unwrap_or_default(),
            boot,
            pid,
            started: started.cast_unsigned(),
        }),
        _ => None,
    };
    let holder = process.map(|process| match duration(row.get(11).unwrap_or(None)) {
        Some(grace) => Holder::Connection { process, grace },
        None => Holder::Process(process),
    });
    Ok(Lease {
        task: task_id(row.get_ref(0)?),
        agent: AgentName::new(row.get::<_, String>(1)?).unwrap_or_else(|_| AgentName::elsewhere()),
        token: Token(row.get::<_, i64>(2)?.unsigned_abs()),
        taken: Timestamp(row.get(3)?),
        ttl: duration(row.get(4)?),
        ends,
        holder,
    })
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
