//! A process that runs while its database becomes another one, under the same names, notices that and reads everything anew.

use std::sync::Arc;

use taskyard::core::{AgentName, ListId, Revision, Rules, TaskId};
use taskyard::operations::{Claim, NewTask};
use taskyard::store::Txn;
use taskyard::{Outcome, Store, StoreError, Yard};
use taskyard_postgres::{PostgresStore, Surroundings};
use taskyard_testkit::SharedPostgres;

const TABLES: [&str; 5] = ["lists", "tasks", "changes", "lease_clocks", "leases"];

#[test]
fn a_list_that_was_put_back_from_a_copy_is_read_anew() {
    let (address, yard) = put_back();
    assert_eq!(subjects(&yard), ["kept", "other"]);
    create(&yard, "newest");
    assert_eq!(subjects(&self::yard(&address, "L")), ["kept", "other", "newest"]);
}

#[test]
fn a_writer_notices_that_its_list_was_put_back_from_a_copy() {
    let (_, yard) = put_back();
    let txn = write_again(&yard);
    assert_eq!(txn.revision(), Revision(2));
    assert_eq!(txn.find(&TaskId::number(2)).unwrap().task().unwrap().subject, "other");
}

#[test]
fn a_list_that_has_another_number_now_is_read_anew() {
    let (address, schema) = fresh();
    let [first, second] = ["L", "M"].map(|list| yard(&address, list));
    create(&first, "of the first");
    create(&second, "of the second");
    for yard in [&first, &second] {
        assert!(matches!(yard.claim_next(&Claim::default()).unwrap(), Outcome::Done(_)));
    }
    // Both have as many commits, and each is now under the name of the other.
    sql(&format!(
        "UPDATE {schema}.lists SET directory = directory || '?'; UPDATE {schema}.lists SET directory = translate(directory, 'LM?', 'ML')"
    ));
    assert_eq!(subjects(&first), ["of the second"]);
    let txn = write_again(&second);
    assert_eq!(txn.find(&TaskId::number(1)).unwrap().task().unwrap().subject, "of the first");
}

#[test]
fn a_schema_made_anew_gives_out_no_old_token() {
    let (address, schema) = fresh();
    let claimed = |yard: &Yard| match yard.claim_next(&Claim::default()).unwrap() {
        Outcome::Done(claimed) => claimed.lease.token,
        other => panic!("{other:?}"),
    };
    let first = yard(&address, "L");
    create(&first, "old");
    let old = claimed(&first);
    sql(&format!("DROP SCHEMA {schema} CASCADE"));
    let second = yard(&address, "L");
    create(&second, "new");
    let new = claimed(&second);
    assert!(new > old, "{old:?} {new:?}");
}

/// Opens a transaction after the first has met a conflict: the database is not the one that the yard knew.
fn write_again(yard: &Yard) -> Box<dyn Txn + '_> {
    let refused = yard.store().write(yard.list_id()).map(drop);
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    yard.store().write(yard.list_id()).unwrap()
}

/// Returns a database whose list `L` was put back from a copy and has gone another way since, and a yard that knows the list as it was
/// before: with the same number of commits, of which the last is another.
fn put_back() -> (String, Yard) {
    let (address, schema) = fresh();
    let yard = yard(&address, "L");
    create(&yard, "kept");
    for table in TABLES {
        sql(&format!("CREATE TABLE {schema}.copy_of_{table} AS TABLE {schema}.{table}"));
    }
    create(&yard, "lost");
    for table in TABLES {
        sql(&format!("DELETE FROM {schema}.{table}; INSERT INTO {schema}.{table} TABLE {schema}.copy_of_{table}"));
    }
    create(&self::yard(&address, "L"), "other");
    (address, yard)
}

fn fresh() -> (String, String) {
    let address = SharedPostgres::get().fresh_address();
    let schema = address.rsplit("schema=").next().unwrap().to_owned();
    (address, schema)
}

fn sql(statements: &str) {
    SharedPostgres::get().cluster().sql(statements);
}

fn subjects(yard: &Yard) -> Vec<String> {
    let tasks = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
    tasks.into_iter().map(|task| task.subject).collect()
}

fn create(yard: &Yard, subject: &str) {
    drop(yard.create(NewTask { subject: subject.into(), ..NewTask::default() }).unwrap());
}

fn yard(address: &str, list: &str) -> Yard {
    let store = PostgresStore::open(address, address, &Surroundings::default(), Rules::Strict).unwrap();
    Yard::new(Arc::new(store) as Arc<dyn Store>, ListId::new(list).unwrap(), AgentName::new("ana").unwrap())
}
