//! Servers, connections and networks that fail while sixteen workers are at work.

use std::thread;
use std::time::Duration;

use taskyard_testkit::{Cluster, Scale, SharedPostgres, wait_until};

use crate::proxy::Proxy;
use crate::working::Crew;
use crate::yard;

/// So much is acknowledged to every worker before and after something happens.
const LOAD: usize = 6;

pub(crate) fn a_primary_that_is_killed_loses_nothing() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let primary = Cluster::make(one.path(), &[]).stop_when_dropped();
    let standby = Cluster::standby(&primary, two.path(), "standby").stop_when_dropped();
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    primary.sql("SELECT pg_reload_conf()");
    wait_until("the standby to follow", || primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync");
    let address = format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres", primary.port(), standby.port());
    let crew = Crew::start(&address);
    crew.wait_for_each(LOAD);
    primary.kill();
    standby.promote();
    crew.wait_for_each(LOAD);
    crew.judge("failover", &yard(&address, "judge"));
}

pub(crate) fn lagging_standby_that_is_promoted_does_nothing_twice() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let primary = Cluster::make(one.path(), &[]).stop_when_dropped();
    let standby = Cluster::standby(&primary, two.path(), "standby").stop_when_dropped();
    let address = format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres", primary.port(), standby.port());
    let crew = Crew::start(&address);
    crew.wait_for_each(LOAD);
    standby.sql("ALTER SYSTEM SET primary_conninfo = ''");
    standby.sql("SELECT pg_reload_conf()");
    wait_until("the standby to be alone", || standby.sql("SELECT count(*) FROM pg_stat_wal_receiver") == "0");
    crew.wait_for_each(LOAD);
    let known = primary.sql("SELECT max(revision) FROM taskyard.changes");
    primary.kill();
    let left = standby.sql("SELECT max(revision) FROM taskyard.changes");
    assert_ne!(known, left, "nothing was lost");
    standby.promote();
    // Of a round of three that began before, the rest may be refused.
    crew.wait_for_each(4);
    let lost = crew.counts();
    crew.wait_for_each(LOAD);
    crew.judge_after(&lost, &format!("revisions {left} to {known} lost"), &yard(&address, "judge"));
}

pub(crate) fn a_server_that_is_restarted_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    let crew = Crew::start(&cluster.address());
    for mode in ["fast", "immediate"] {
        crew.wait_for_each(LOAD);
        cluster.stop(mode);
        cluster.start();
    }
    crew.wait_for_each(LOAD);
    crew.judge("restart", &yard(&cluster.address(), "judge"));
}

pub(crate) fn connections_killed_in_the_middle_lose_nothing() {
    let server = SharedPostgres::get();
    let address = server.fresh_address();
    let name = address.rsplit_once('=').unwrap().1;
    let crew = Crew::start(&format!("{address}&application_name={name}"));
    crew.wait_for_each(1);
    let kill = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE application_name = '{name}' AND state <> 'idle' AND random() < 0.5"
    );
    let mut killed = 0;
    for _ in 0..Scale::from_environment(0.1).of(300) {
        killed += server.cluster().sql(&kill).parse::<usize>().unwrap();
    }
    assert!(killed > 0, "no connection was killed");
    crew.wait_for_each(LOAD);
    crew.judge(&format!("{killed} connections killed"), &yard(&address, "judge"));
}

pub(crate) fn a_network_that_is_cut_loses_nothing() {
    let server = SharedPostgres::get();
    let own = server.fresh_address();
    let proxy = Proxy::start(server.cluster().port());
    let theirs = own.replace(&format!(":{}/", server.cluster().port()), &format!(":{}/", proxy.port()));
    let crew = Crew::start(&theirs);
    crew.wait_for_each(LOAD);
    proxy.cut(true);
    // As long as the cut is to last: there is nothing to wait for.
    thread::sleep(Duration::from_secs(20));
    proxy.cut(false);
    crew.wait_for_each(LOAD);
    crew.judge("cut for 20 s", &yard(&own, "judge"));
}
