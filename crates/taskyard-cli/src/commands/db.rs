//! `taskyard db` and `grant`

use clap::{Args, Subcommand, ValueEnum};
use taskyard::core::Timestamp;
use taskyard::core::answers::maintenance_answers::{
    ConnectionCounts, DatabaseReady, DatabaseSession, DatabaseTables, DatabaseUpgraded, Granted, ReplicationLag,
    TableSize,
};
use taskyard::core::answers::{answer_words, maintenance_answers as answers};
use taskyard::core::render::{Line, Tone};
use taskyard_postgres::{
    Administration, BlockedSession, DatabaseProblem, DatabaseStatus, ListRight, Replica, ReplicaLag, RoleLists,
    TableVersions, TablesStatus,
};

use crate::commands::gc::{counted, size};
use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Administer the database of a fleet
///
/// The database is the one of the store: `taskyard --store postgres://HOST/DATABASE db status`, or TASKYARD_STORE.
#[derive(Debug, Args)]
pub(crate) struct Db {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create the tables, and grant a role access
    ///
    /// The tables are created in the schema given in the address (default: `taskyard`), unless they exist. Run it as
    /// the role that will own them.
    Init {
        /// Grant access to this role, and create it if it does not exist; it can change neither tables nor old history
        #[arg(long, value_name = "ROLE")]
        role: Option<String>,
        /// Which lists the role may use: every list, or only lists it creates or is granted with `taskyard grant`
        #[arg(long, value_name = "WHICH", requires = "role", default_value = "every")]
        lists: Lists,
    },
    /// Upgrade the tables to this release
    ///
    /// Running clients of older releases fail in their next transaction with exit code 1, because the tables belong to
    /// a newer Taskyard. They lose nothing, and work again after an upgrade.
    Upgrade,
    /// Show the state of the database: version, epoch, replicas, locks, notifications and sizes
    ///
    /// Exit code 1 if something needs an administrator. Nothing is changed.
    Status,
}

/// The lists that a role may use.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Lists {
    /// Every list
    Every,
    /// Lists it creates or is granted
    Granted,
}

impl Db {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let administration = context.administration()?;
        let store = context.address()?.to_string();
        match self.action {
            Action::Init { role, lists } => {
                let role = role.as_deref().map(|role| (role, lists));
                init(&administration, role, &store, output)
            }
            Action::Upgrade => upgrade(&administration, &store, output),
            Action::Status => status(&administration, &store, output),
        }
    }
}

fn init(
    administration: &Administration,
    role: Option<(&str, Lists)>,
    store: &str,
    output: &mut Output,
) -> Result<Exit, Problem> {
    let versions = administration.init()?;
    if let Some((role, lists)) = role {
        let lists = if matches!(lists, Lists::Every) { RoleLists::Every } else { RoleLists::Granted };
        administration.let_in(role, lists)?;
    }
    if output.is_json() {
        let TableVersions { before, now } = versions;
        let role = role.map(|(role, _)| role);
        output.document(DatabaseReady { store, before, version: now, role })?;
        return Ok(Exit::Done);
    }
    tell_versions(versions, output)?;
    if let Some((role, lists)) = role {
        let may = match lists {
            Lists::Every => " may work on every list",
            Lists::Granted => " may work on lists that it creates or is granted",
        };
        output.say(&Line::plain("Role ").with(Tone::Strong, role).with(Tone::Plain, may))?;
    }
    Ok(Exit::Done)
}

fn upgrade(administration: &Administration, store: &str, output: &mut Output) -> Result<Exit, Problem> {
    let versions = administration.upgrade()?;
    let TableVersions { before, now } = versions;
    if output.is_json() {
        output.document(DatabaseUpgraded { store, before, version: now })?;
        return Ok(Exit::Done);
    }
    tell_versions(versions, output)?;
    if before != Some(now) {
        output.say(&Line::plain("Older releases of taskyard can no longer use this database; upgrade them"))?;
    }
    Ok(Exit::Done)
}

fn tell_versions(TableVersions { before, now }: TableVersions, output: &mut Output) -> Result<(), Problem> {
    let said = match before {
        None => format!("Created the tables, version {now}"),
        Some(before) if before == now => format!("The tables already have version {now}"),
        Some(before) => format!("Upgraded the tables from version {before} to {now}"),
    };
    Ok(output.say(&Line::plain(&said))?)
}

fn status(administration: &Administration, store: &str, output: &mut Output) -> Result<Exit, Problem> {
    let status = administration.status()?;
    let problems = status.problems();
    let exit = if problems.is_empty() { Exit::Done } else { Exit::CouldNot };
    if output.is_json() {
        output.document(answer(&status, &problems, store))?;
        return Ok(exit);
    }
    let look = output.look();
    for (name, said) in lines(&status, |moment| look.time(moment)) {
        output.line(&Line::new().with(Tone::Dim, &format!("{name:<14}")).with(Tone::Plain, &said))?;
    }
    for problem in problems {
        output.line(
            &Line::new().with(Tone::Blocked, &format!("{:<14}", "problem")).with(Tone::Plain, &problem.to_string()),
        )?;
    }
    Ok(exit)
}

/// Returns the lines of the status, each with a name.
fn lines(status: &DatabaseStatus, time: impl Fn(Timestamp) -> String) -> Vec<(&'static str, String)> {
    let kind = if status.is_standby { "standby" } else { "primary" };
    let mut all = vec![
        ("server", format!("PostgreSQL {}, {kind}", status.server)),
        ("role", status.role.clone()),
        ("schema", format!("{} in database {}", status.schema, status.database)),
    ];
    if let Some(TablesStatus { version, epoch, epochs, lists, sizes }) = &status.tables {
        all.push(("tables", format!("version {version}, {}", counted(*lists as u64, "list", "lists"))));
        if let Some((epoch, began)) = epoch {
            all.push((
                "epoch",
                format!("{epoch} since {}; {} so far", time(*began), counted(*epochs as u64, "epoch", "epochs")),
            ));
        }
        let shown = sizes.iter().take(4).map(|(table, bytes)| format!("{table} {}", size(*bytes)));
        let whole = size(sizes.iter().map(|(_, bytes)| bytes).sum());
        all.push(("size", format!("{whole}: {}", shown.collect::<Vec<_>>().join(", "))));
    }
    if let Some(lag) = status.own_lag {
        all.push(("lag", lag_in_words(lag)));
    }
    match &status.replicas {
        None => all.push(("standbys", "not shown to this role; pg_monitor may see them".to_owned())),
        Some(replicas) if replicas.is_empty() => all.push(("standbys", "none".to_owned())),
        Some(replicas) => all.extend(replicas.iter().map(|Replica { name, state, sync, lag }| {
            ("standby", format!("{name}: {state}, {sync}, {}", lag_in_words(*lag)))
        })),
    }
    let connections = status.connections;
    let used = format!("{} of Taskyard, {} of {} in all", connections.of_taskyard, connections.all, connections.limit);
    all.push(("connections", used));
    let arrive = match status.notifications_arrive {
        true => "arrive",
        false => "do not arrive (is there a pooler in transaction mode?): followers poll every second",
    };
    all.push(("notifications", arrive.to_owned()));
    all.extend(status.blocked.iter().map(|BlockedSession { pid, application, waited, by }| {
        let by: Vec<String> = by.iter().map(|(pid, application)| format!("{pid} ({application})")).collect();
        let waited = format!("{:.1} s", waited.as_secs_f64());
        ("waiting", format!("server process {pid} ({application}) for {}, since {waited}", by.join(", ")))
    }));
    all
}

fn lag_in_words(lag: ReplicaLag) -> String {
    let bytes = lag.bytes.map(|bytes| format!("{} behind", size(bytes.unsigned_abs())));
    let time = lag.time.map(|time| format!("{:.1} s", time.as_secs_f64()));
    let known: Vec<String> = [bytes, time].into_iter().flatten().collect();
    if known.is_empty() { "lag unknown".to_owned() } else { known.join(", ") }
}

fn answer<'a>(status: &'a DatabaseStatus, problems: &[DatabaseProblem], store: &'a str) -> answers::DatabaseStatus<'a> {
    let lag = |lag: ReplicaLag| ReplicationLag { bytes: lag.bytes, ms: lag.time.map(|time| time.as_millis() as u64) };
    let replica = |replica: &'a Replica| answers::Replica {
        name: &replica.name,
        state: &replica.state,
        sync: &replica.sync,
        lag: lag(replica.lag),
    };
    let tables = |tables: &'a TablesStatus| DatabaseTables {
        version: tables.version,
        epoch: tables.epoch.as_ref().map(|(epoch, _)| epoch.as_str()),
        epoch_began: tables.epoch.as_ref().map(|(_, began)| began.to_string()),
        epochs: tables.epochs,
        lists: tables.lists,
        sizes: tables.sizes.iter().map(|(table, bytes)| TableSize { table, bytes: *bytes }).collect(),
    };
    let blocked = |blocked: &'a BlockedSession| answers::BlockedSession {
        pid: blocked.pid,
        application: &blocked.application,
        waited_ms: blocked.waited.as_millis() as u64,
        by: blocked.by.iter().map(|(pid, application)| DatabaseSession { pid: *pid, application }).collect(),
    };
    let problem =
        |problem: &DatabaseProblem| answers::DatabaseProblem { code: problem.code(), message: problem.to_string() };
    answers::DatabaseStatus {
        store,
        server: &status.server,
        role: &status.role,
        database: &status.database,
        database_schema: &status.schema,
        standby: status.is_standby,
        lag: status.own_lag.map(lag),
        replicas: status.replicas.as_ref().map(|replicas| replicas.iter().map(replica).collect()),
        tables: status.tables.as_ref().map(tables),
        blocked: status.blocked.iter().map(blocked).collect(),
        notifications_arrive: status.notifications_arrive,
        connections: ConnectionCounts {
            taskyard: status.connections.of_taskyard,
            all: status.connections.all,
            limit: status.connections.limit,
        },
        problems: problems.iter().map(problem).collect(),
    }
}

/// Grant or remove a database role's rights on a list
///
/// A role sees the lists it was granted or has created, with their tasks, history, teams and messages, and no
/// others. Only the owner of the tables grants rights. The store is a database: `--store postgres://HOST/DATABASE`.
#[derive(Debug, Args)]
pub(crate) struct Grant {
    /// The list
    #[arg(value_name = "LIST")]
    granted: String,

    /// The role; a login role, or a group that login roles are members of
    role: String,

    /// `read`: read and follow; `work`: everything that agents do
    #[arg(required_unless_present = "remove")]
    right: Option<Right>,

    /// Remove the right
    #[arg(long, conflicts_with = "right")]
    remove: bool,
}

/// What a role may do on a list.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Right {
    /// Read and follow
    Read,
    /// Everything that agents do
    Work,
}

impl Grant {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let administration = context.administration()?;
        let list = context.list_named(&self.granted)?;
        let right = self.right.filter(|_| !self.remove);
        let granted = right.map(|right| match right {
            Right::Read => ListRight::Read,
            Right::Work => ListRight::Work,
        });
        administration.grant(&list, &self.role, granted)?;
        output.consider_list_named();
        if output.is_json() {
            let right = right.map(|right| match right {
                Right::Read => answer_words::ListRight::Read,
                Right::Work => answer_words::ListRight::Work,
            });
            output.document(Granted { list: list.as_str(), role: &self.role, right })?;
            return Ok(Exit::Done);
        }
        let may = match right {
            Some(Right::Read) => " may read ",
            Some(Right::Work) => " may work on ",
            None => " may no longer use ",
        };
        let line = Line::plain("Role ").with(Tone::Strong, &self.role).with(Tone::Plain, may);
        output.say(&line.with(Tone::Strong, list.as_str()))?;
        Ok(Exit::Done)
    }
}
