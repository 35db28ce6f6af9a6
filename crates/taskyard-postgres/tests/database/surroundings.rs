//! Servers, roles and tables that are not as they should be: what is wrong is said, and nothing is taken for something else.

use std::process::{self, Stdio};
use std::sync::Arc;
use std::time::Duration;

use taskyard::core::{AgentName, Entry, ListId, Rules};
use taskyard::operations::NewTask;
use taskyard::store::{HistoryQuery, Occupant};
use taskyard::{Error, Store, StoreError, Yard};
use taskyard_postgres::{PostgresStore, Surroundings};
use taskyard_testkit::{Cluster, Program, SharedPostgres, postgres_program, wait_until};

#[test]
fn yard_without_its_row_is_an_error() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address);
    create(&yard, "kept");
    let schema = schema(&address);
    let server = SharedPostgres::get().cluster();
    server.sql(&format!("DELETE FROM {schema}.yard"));
    // A process that knew the yard, and one that does not.
    for yard in [&yard, &self::yard(&address)] {
        for failed in [yard.store().read(yard.list_id()).map(drop), yard.store().write(yard.list_id()).map(drop)] {
            assert!(
                failed
                    .as_ref()
                    .is_err_and(|error| error.to_string().contains("only row of the table `yard` is missing")),
                "{failed:?}"
            );
        }
    }
    server.sql(&format!("INSERT INTO {schema}.yard (version) VALUES (2)"));
    assert_eq!(subjects(&yard), ["kept"]);
}

#[test]
fn functions_of_other_schemas_are_not_called() {
    let server = SharedPostgres::get();
    let address = server.fresh_address();
    let (schema, role) = (schema(&address), format!("role_{}", schema(&address)));
    server.cluster().sql(&format!(
        "CREATE SCHEMA own_{schema};
        CREATE FUNCTION own_{schema}.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT ''2001-01-01''::timestamptz';
        CREATE ROLE {role} LOGIN SUPERUSER; ALTER ROLE {role} SET search_path = own_{schema}, pg_catalog"
    ));
    let yard = yard(&address.replacen("postgres@", &format!("{role}@"), 1));
    create(&yard, "made today");
    let journal = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
    assert!(journal[0].at.0 > 1_700_000_000_000, "{:?}", journal[0].at);
}

#[test]
fn role_that_may_not_ask_for_the_timeline_works() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    cluster.sql(
        "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC; CREATE ROLE ana LOGIN;
        GRANT CREATE ON DATABASE postgres TO ana",
    );
    let yard = yard(&cluster.address().replacen("postgres@", "ana@", 1));
    create(&yard, "first");
    create(&yard, "second");
    assert_eq!(subjects(&yard), ["first", "second"]);
    assert_eq!(cluster.sql("SELECT timeline IS NULL FROM taskyard.yard"), "t");
}

#[test]
fn writer_that_gives_up_names_who_holds_the_list() {
    let server = SharedPostgres::get();
    let address = server.fresh_address();
    let yard = yard(&address);
    create(&yard, "first");
    let mut psql = Program::new(postgres_program("psql"));
    psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--dbname"]).arg(server.cluster().address());
    let mut psql = psql.env("PGAPPNAME", "a-report").stdin(Stdio::piped()).start();
    psql.tell(&format!(
        "BEGIN; SELECT pg_backend_pid() FROM {}.lists WHERE directory = 'L' FOR UPDATE;",
        schema(&address)
    ));
    let pid = psql.line().unwrap();
    let refused = yard.store().write_within(yard.list_id(), Duration::from_millis(200)).map(drop);
    let Err(StoreError::Busy { by: Occupant::Elsewhere { who }, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(who, format!("server process {} (application a-report)", pid.trim()));
    psql.tell("ROLLBACK;");
    psql.close_input();
    create(&yard, "second");
}

#[test]
fn store_can_be_dropped_within_a_runtime() {
    let store = store(&SharedPostgres::get().fresh_address());
    let yard = Yard::new(Arc::clone(&store), ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
    create(&yard, "first");
    // The thread that listens may be the last to let go of the connections.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move { drop((yard, store)) });
}

#[test]
fn read_only_server_is_told_at_once() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let primary = Cluster::make(one.path(), &[]).stop_when_dropped();
    let yard = yard(&primary.address());
    create(&yard, "first");
    let standby = Cluster::standby(&primary, two.path(), "standby").stop_when_dropped();
    let behind = self::yard(&standby.address());
    wait_until("the standby to have it", || subjects(&behind) == ["first"]);
    let refused = behind.create(NewTask { subject: "second".into(), ..NewTask::default() });
    assert_takes_no_changes(refused.map(drop), "is a standby");
    primary.sql("ALTER SYSTEM SET default_transaction_read_only = on");
    primary.sql("SELECT pg_reload_conf()");
    wait_until("the setting", || primary.sql("SHOW default_transaction_read_only") == "on");
    let fresh = self::yard(&primary.address());
    for yard in [&yard, &fresh] {
        assert_eq!(subjects(yard), ["first"]);
        let refused = yard.create(NewTask { subject: "second".into(), ..NewTask::default() });
        assert_takes_no_changes(refused.map(drop), "default_transaction_read_only");
    }
}

fn assert_takes_no_changes(refused: Result<(), Error>, why: &str) {
    let told = |error: &StoreError| error.to_string().contains("accepts no changes") && error.to_string().contains(why);
    let is_told = matches!(&refused, Err(Error::Store(error @ StoreError::Failed { .. })) if told(error));
    assert!(is_told, "{refused:?}");
}

#[test]
fn tables_of_an_older_release_are_upgraded_with_all_they_hold() {
    let address = SharedPostgres::get().fresh_address();
    let old = old_yard(&address);
    let expected = yard(&address).store().history(&ListId::new("L").unwrap(), &HistoryQuery::default()).unwrap();
    // The first version does not know who that was.
    let expected: Vec<Entry> = expected.into_iter().map(|entry| Entry { db_user: None, ..entry }).collect();
    let server = SharedPostgres::get().cluster();
    // Several at once, of which the first two only read.
    let found: Vec<_> = std::thread::scope(|scope| {
        let subjects = || scope.spawn(|| subjects(&yard(&old)));
        let creating = || {
            scope.spawn(|| {
                create(&yard(&old), "new");
                Vec::new()
            })
        };
        let all = [subjects(), subjects(), creating(), creating()];
        all.map(|thread| thread.join().unwrap()).into()
    });
    assert!(found[..2].iter().all(|found| found[..2] == ["first", "second"]), "{found:?}");
    let yard = yard(&old);
    let journal = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
    assert_eq!(journal[..expected.len()], expected);
    assert_eq!(subjects(&yard), ["first", "second", "new", "new"]);
    let schema = schema(&old);
    let heads =
        format!("SELECT version FROM {schema}.yard UNION ALL SELECT count(*) FROM {schema}.lists WHERE head IS NULL");
    assert_eq!(server.sql(&heads), "2\n0");
}

#[test]
fn older_tables_that_may_not_be_upgraded_are_no_empty_list() {
    let address = SharedPostgres::get().fresh_address();
    let old = old_yard(&address);
    let (schema, role) = (schema(&old), format!("role_{}", schema(&old)));
    SharedPostgres::get().cluster().sql(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role};
        GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}"
    ));
    let yard = yard(&old.replacen("postgres@", &format!("{role}@"), 1));
    let refused = yard.store().read(yard.list_id()).map(drop);
    assert!(refused.as_ref().is_err_and(|error| error.to_string().contains("upgraded")), "{refused:?}");
}

#[test]
fn newer_tables_take_nothing_from_this_release() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address);
    create(&yard, "first");
    let server = SharedPostgres::get().cluster();
    let schema = schema(&address);
    let lease = {
        let claimed = yard.claim_next(&taskyard::operations::Claim::default()).unwrap();
        let taskyard::Outcome::Done(claimed) = claimed else { panic!("{claimed:?}") };
        claimed.lease
    };
    let ends = || server.sql(&format!("SELECT version, ends_wall FROM {schema}.leases"));
    let before = ends();
    server.sql(&format!("UPDATE {schema}.yard SET version = 3"));
    // A change of one round trip, which is on its way to the commit when the version is read.
    let renewed = yard.store().renew(yard.list_id(), &[lease]);
    assert!(matches!(renewed, Err(StoreError::NewerJournal { format: 3, .. })), "{renewed:?}");
    assert_eq!(ends(), before);
    let read = yard.store().read(yard.list_id()).map(drop);
    assert!(matches!(read, Err(StoreError::NewerJournal { format: 3, .. })), "{read:?}");
}

/// Makes a yard of the first version, with what a yard of today holds after some changes, and returns its address.
fn old_yard(address: &str) -> String {
    let yard = yard(address);
    create(&yard, "first");
    create(&yard, "second");
    SharedPostgres::get().in_first_version(address)
}

fn schema(address: &str) -> String {
    address.rsplit_once('=').unwrap().1.to_owned()
}

fn create(yard: &Yard, subject: &str) {
    yard.create(NewTask { subject: subject.into(), ..NewTask::default() }).unwrap().done().unwrap();
}

fn subjects(yard: &Yard) -> Vec<String> {
    let tasks = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
    tasks.into_iter().map(|task| task.subject).collect()
}

fn store(address: &str) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(address, address, &Surroundings::default(), Rules::Strict).unwrap())
}

fn yard(address: &str) -> Yard {
    Yard::new(store(address), ListId::new("L").unwrap(), AgentName::new(format!("ana-{}", process::id())).unwrap())
}
