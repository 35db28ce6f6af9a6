//! A database that goes back in time under running processes: what they knew of the lost commits is forgotten, and nothing is written on
//! top of it.

use std::sync::Arc;

use taskyard::core::rules::health::FindingCode;
use taskyard::core::{AgentName, ListId, Revision, Rules, Task, TaskId};
use taskyard::operations::{Claim, NewTask, Patch, Update};
use taskyard::store::HistoryQuery;
use taskyard::stream::{Cursor, Happening};
use taskyard::{Outcome, Store, Yard};
use taskyard_postgres::{PostgresStore, Surroundings};
use taskyard_testkit::{Cluster, Program, SharedPostgres, postgres_program, wait_until};

/// A copy of a schema, which can be put in its place.
struct Copy {
    schema: String,
    statements: String,
}

impl Copy {
    fn of(address: &str) -> Self {
        let schema = address.rsplit_once('=').unwrap().1.to_owned();
        let mut dump = Program::new(postgres_program("pg_dump"));
        dump.args(["--inserts", "--schema", &schema, "--dbname"]).arg(SharedPostgres::get().cluster().address());
        let dump = dump.succeed();
        // Commands of psql's own are not for the server.
        let statements: Vec<&str> = dump.lines().filter(|line| !line.starts_with('\\')).collect();
        Self { schema, statements: statements.join("\n") }
    }

    /// Restores it in one transaction.
    fn restore(&self) {
        let statements = format!("DROP SCHEMA {} CASCADE; {}", self.schema, self.statements);
        SharedPostgres::get().cluster().sql(&statements);
    }
}

#[test]
fn process_forgets_what_a_restored_database_lost() {
    let address = SharedPostgres::get().fresh_address();
    // One that knows its own commits, and one that has only read.
    let (writer, reader) = (yard(&address, "ana"), yard(&address, "ben"));
    create(&writer, "first");
    create(&writer, "second");
    let copy = Copy::of(&address);
    rename(&writer, 1, "lost");
    writer.done(&TaskId::number(2)).unwrap().done().unwrap();
    assert_eq!(subjects(&reader), ["lost", "second"]);
    copy.restore();
    // Others give the same numbers to other commits before the two look again.
    let fresh = yard(&address, "eve");
    rename(&fresh, 2, "second of the new history");
    rename(&fresh, 2, "twice");
    create(&fresh, "third");
    for yard in [&writer, &reader] {
        rename(yard, 3, "third, changed");
        assert_eq!(subjects(yard), ["first", "twice", "third, changed"]);
    }
    let finished = writer.done(&TaskId::number(2)).unwrap();
    assert!(matches!(finished, Outcome::Done(_)), "{finished:?}");
    assert_is_consistent(&address);
}

#[test]
fn process_that_knew_more_begins_an_epoch() {
    let address = SharedPostgres::get().fresh_address();
    let (one, two) = (yard(&address, "ana"), yard(&address, "ben"));
    create(&one, "first");
    assert_eq!(subjects(&two), ["first"]);
    let copy = Copy::of(&address);
    rename(&one, 1, "lost");
    let before = epochs(&address);
    copy.restore();
    assert_eq!(subjects(&one), ["first"]);
    let after = epochs(&address);
    assert_eq!((before.len(), after.len()), (1, 2));
    assert_eq!(after[1], "L|2|1");
    // The one that had lost nothing goes on, and begins no other.
    rename(&two, 1, "changed");
    assert_eq!(subjects(&one), ["changed"]);
    assert_eq!(epochs(&address), after);
    assert_is_consistent(&address);
}

#[test]
fn token_of_a_lost_claim_is_not_given_out_again() {
    let address = SharedPostgres::get().fresh_address();
    let (ana, ben) = (yard(&address, "ana"), yard(&address, "ben"));
    create(&ana, "first");
    create(&ana, "second");
    claim(&ana, 2);
    let copy = Copy::of(&address);
    let lost = claim(&ana, 1);
    copy.restore();
    assert_eq!(subjects(&ana), ["first", "second"]);
    let token = claim(&ben, 1);
    assert!(token > lost, "{token:?} follows {lost:?}");
    let done = ana.proving(lost).done(&TaskId::number(1)).unwrap();
    assert!(matches!(done, Outcome::Refused(_)), "{done:?}");
    assert!(matches!(ben.proving(token).done(&TaskId::number(1)).unwrap(), Outcome::Done(_)));
    assert_is_consistent(&address);
}

#[test]
fn open_transaction_fails_when_an_epoch_begins() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address, "ana");
    create(&yard, "first");
    let mut txn = yard.store().write(yard.list_id()).unwrap();
    txn.remove(&TaskId::number(1)).unwrap();
    let schema = address.rsplit_once('=').unwrap().1;
    SharedPostgres::get().cluster().sql(&format!("UPDATE {schema}.yard SET epoch = 'another'"));
    let signature = taskyard::store::Signature::new(AgentName::new("ana").unwrap(), taskyard::core::Op::Delete);
    let committed = txn.commit(&signature);
    assert!(matches!(committed, Err(taskyard::StoreError::Conflict { .. })), "{committed:?}");
    assert_eq!(subjects(&yard), ["first"]);
}

#[test]
fn other_timeline_begins_an_epoch_with_first_write() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address, "ana");
    create(&yard, "first");
    let schema = address.rsplit_once('=').unwrap().1;
    let server = SharedPostgres::get().cluster();
    let ask = || server.sql(&format!("SELECT epoch, timeline FROM {schema}.yard"));
    let made = ask();
    assert!(made.ends_with("|1"), "{made}");
    server.sql(&format!("UPDATE {schema}.yard SET timeline = 7"));
    rename(&yard, 1, "renamed");
    let now = ask();
    assert!(now.ends_with("|1") && now != made, "{now}");
    assert_eq!(subjects(&yard), ["renamed"]);
}

#[test]
fn promoted_lagging_standby_is_not_mixed_with_lost_state() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let primary = Cluster::make(one.path(), &[]).stop_when_dropped();
    let standby = Cluster::standby(&primary, two.path(), "standby").stop_when_dropped();
    let address = format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres", primary.port(), standby.port());
    let (ana, ben) = (yard(&address, "ana"), yard(&address, "ben"));
    create(&ana, "first");
    create(&ana, "second");
    assert_eq!(subjects(&ben), ["first", "second"]);
    wait_until("the standby to have it", || {
        standby.sql("SELECT count(*) FROM pg_class WHERE relname = 'changes'") == "1"
            && standby.sql("SELECT max(revision) FROM taskyard.changes") == "2"
    });
    standby.sql("ALTER SYSTEM SET primary_conninfo = ''");
    standby.sql("SELECT pg_reload_conf()");
    wait_until("the standby to be alone", || standby.sql("SELECT count(*) FROM pg_stat_wal_receiver") == "0");
    let lost = claim(&ana, 1);
    ana.proving(lost).done(&TaskId::number(1)).unwrap().done().unwrap();
    rename(&ben, 2, "lost");
    primary.kill();
    standby.promote();
    // The others commit first, up to the numbers that the two know.
    let eve = yard(&address, "eve");
    for number in 0..3 {
        rename(&eve, 2, &format!("second, {number}"));
    }
    let token = claim(&ben, 1);
    assert!(token > lost, "{token:?} follows {lost:?}");
    assert!(matches!(ana.proving(lost).done(&TaskId::number(1)).unwrap(), Outcome::Refused(_)));
    ben.proving(token).done(&TaskId::number(1)).unwrap().done().unwrap();
    for yard in [&ana, &ben] {
        assert_eq!(subjects(yard), ["first", "second, 2"]);
    }
    assert_is_consistent(&address);
    let found: Vec<FindingCode> = eve.examine().unwrap().iter().map(|finding| finding.code).collect();
    assert_eq!(found, [FindingCode::WentBack]);
}

#[test]
fn follower_is_told_that_the_database_went_back() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address, "ana");
    create(&yard, "first");
    let copy = Copy::of(&address);
    let mut stream = yard.follow(Cursor::now()).unwrap();
    rename(&yard, 1, "lost");
    rename(&yard, 1, "lost, too");
    for expected in [2, 3] {
        let Some(Happening::Commit(commit)) = stream.next().transpose().unwrap() else { panic!("it was committed") };
        assert_eq!(commit.revision, Revision(expected));
    }
    copy.restore();
    let told = stream.next().transpose().unwrap();
    assert!(matches!(&told, Some(Happening::WentBack { revision: Revision(1), .. })), "{told:?}");
    rename(&self::yard(&address, "ben"), 1, "new");
    loop {
        match stream.next().transpose().unwrap() {
            // The epoch that another process begins is told as well.
            Some(Happening::WentBack { .. }) => {}
            Some(Happening::Commit(commit)) => {
                assert_eq!((commit.revision, commit.entries[0].actor.as_str()), (Revision(2), "ben"));
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn doctor_finds_gaps_and_changes_of_another_state() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address, "ana");
    create(&yard, "first");
    for number in 0..5 {
        rename(&yard, 1, &format!("first, {number}"));
    }
    assert_eq!(yard.examine().unwrap(), []);
    let schema = address.rsplit_once('=').unwrap().1;
    let server = SharedPostgres::get().cluster();
    server.sql(&format!("DELETE FROM {schema}.changes WHERE revision IN (2, 3)"));
    let message = |code: FindingCode| {
        let findings = yard.examine().unwrap();
        findings
            .iter()
            .filter(|finding| finding.code == code)
            .map(|finding| finding.message.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(message(FindingCode::HistoryGap), ["revisions 2 to 3 are not in the journal"]);
    let mismatch = "revision 4 changed task 1 from a state other than the previous one";
    assert_eq!(message(FindingCode::HistoryMismatch), [mismatch]);
    server.sql(&format!("DELETE FROM {schema}.changes WHERE revision = 6"));
    let told = message(FindingCode::HistoryGap);
    assert_eq!(told, ["revisions 2 to 3 are not in the journal", "revision 6 is not in the journal"]);
    let differs = "task 1 differs from its last entry in the journal";
    assert_eq!(message(FindingCode::HistoryMismatch), [mismatch, differs]);
}

/// Fails if the journal has gaps or does not lead to what is there, or if the list in memory is not what a fresh look finds.
fn assert_is_consistent(address: &str) {
    let yard = yard(address, "judge");
    let journal = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
    let mut revisions: Vec<u64> = journal.iter().map(|entry| entry.revision.0).collect();
    revisions.dedup();
    assert!(revisions.iter().copied().eq(1..=revisions.len() as u64), "{revisions:?}");
    let wrong: Vec<_> = yard.examine().unwrap().into_iter().filter(|finding| !finding.code.is_warning()).collect();
    assert_eq!(wrong, []);
}

/// Returns what is recorded of each epoch but its id and time.
fn epochs(address: &str) -> Vec<String> {
    let schema = address.rsplit_once('=').unwrap().1;
    let sql = format!("SELECT list, known, found FROM {schema}.epochs ORDER BY began");
    SharedPostgres::get().cluster().sql(&sql).lines().map(str::to_owned).collect()
}

fn create(yard: &Yard, subject: &str) {
    yard.create(NewTask { subject: subject.into(), ..NewTask::default() }).unwrap().done().unwrap();
}

fn rename(yard: &Yard, task: u64, subject: &str) {
    let patch = Patch { subject: Some(subject.into()), ..Patch::default() };
    yard.update(&TaskId::number(task), Update { patch, ..Update::default() }).unwrap().done().unwrap();
}

fn claim(yard: &Yard, task: u64) -> taskyard::core::Token {
    let claimed = yard.claim(&TaskId::number(task), &Claim::default()).unwrap();
    let Outcome::Done(claimed) = claimed else { panic!("{claimed:?}") };
    claimed.lease.token
}

fn subjects(yard: &Yard) -> Vec<String> {
    let tasks: Vec<Task> = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
    tasks.into_iter().map(|task| task.subject).collect()
}

fn yard(address: &str, agent: &str) -> Yard {
    let store = PostgresStore::open(address, address, &Surroundings::default(), Rules::Strict).unwrap();
    Yard::new(Arc::new(store) as Arc<dyn Store>, ListId::new("L").unwrap(), AgentName::new(agent).unwrap())
}
