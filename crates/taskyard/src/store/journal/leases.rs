//! The leases, beside the journal, so that they change in one database transaction with it.

use std::time::Duration;

use rusqlite::{Row, ToSql, params};
use taskyard_core::{AgentName, Holder, Lease, Moment, ProcessMark, TaskId, Timestamp, Token};

use super::entries::{Key, task_id};
use super::layout::TOKEN;
use super::stamp::Marks;
use super::{Journal, rows};
use crate::store::StoreError;
use crate::store::kit::StagedLeases;

/// The columns by whose places a lease is read.
const LEASE_COLUMNS: &str = "SELECT task, agent, token, taken, ttl, ends, ends_since_boot, ends_boot, pid, started, process_boot, \
    grace, machine, pid_space, sum FROM leases";

impl Journal {
    /// Returns every lease, by task.
    pub(in crate::store) fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        self.rows(&format!("{LEASE_COLUMNS} ORDER BY task"), [], lease)
    }

    /// Returns the leases for a transaction to stage over.
    pub(in crate::store) fn leases_to_stage(&self, has_leases: bool) -> Result<StagedLeases, StoreError> {
        let leases = if has_leases { self.leases()? } else { Vec::new() };
        let last = self.fact::<i64>(TOKEN)?.unwrap_or(0).unsigned_abs();
        Ok(StagedLeases::over(leases, Token(last)))
    }

    /// Writes what a transaction changed.
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

    /// Ends the lease of a task.
    pub(super) fn end_lease(&self, task: &TaskId) -> Result<(), StoreError> {
        self.remove("DELETE FROM leases WHERE task = ?1", [Key(task)])
    }

    /// Gives leases new ends, those that are still the same.
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
            // Older releases wrote down neither.
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
