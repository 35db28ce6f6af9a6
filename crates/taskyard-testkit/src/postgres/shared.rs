//! One server for all tests of a run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, process};

use rustix::fs::{FlockOperation, flock};

use super::cluster::Cluster;
use crate::process::Program;

/// What a test may do without: nothing is kept beyond the run.
const SETTINGS: [&str; 4] =
    ["fsync = off", "full_page_writes = off", "autovacuum = off", "shared_preload_libraries = ''"];

/// The tables as the first release made them.
const VERSION_1: &str = include_str!("../../../taskyard-postgres/src/schema/version_1.sql");

/// Ends the server once no test has used it for ten seconds, and removes what it kept. A test that uses it shares the lock `users`.
const KEEPER: &str = r#"
cd "$1" || exit
idle=0
while [ "$idle" -lt 5 ]; do
    sleep 2
    if flock --nonblock --exclusive users true; then idle=$((idle + 1)); else idle=0; fi
    if [ "$idle" -ge 5 ]; then
        exec 8<starting 9<users
        flock --exclusive 8
        if flock --nonblock --exclusive 9; then
            kill -QUIT "$(head -n 1 server/data/postmaster.pid)"
            rm -rf server port log
            exit
        fi
        exec 8<&- 9<&-
        idle=0
    fi
done
"#;

/// A server that every test of a run uses, each with schemas of its own. The first one starts it; it ends by itself when no test has used
/// it for a while.
#[derive(Debug)]
pub struct SharedPostgres {
    cluster: Cluster,
    _use: File,
}

impl SharedPostgres {
    /// Returns the server, started where it does not run.
    pub fn get() -> &'static Self {
        static SHARED: OnceLock<SharedPostgres> = OnceLock::new();
        SHARED.get_or_init(|| Self::in_directory(&directory()))
    }

    /// Returns the server itself.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns an address in it that no other test uses: a schema of its own, in which nothing is.
    pub fn fresh_address(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        format!("{}?schema=test_{}_{count}", self.cluster.address(), process::id())
    }

    /// Copies what lives at an address into tables as the first release made them, and returns their address.
    pub fn in_first_version(&self, address: &str) -> String {
        let old = self.fresh_address();
        let [from, to] =
            [address, &old].map(|address| address.rsplit_once('=').expect("a fresh address ends with its schema").1);
        self.cluster.sql(&format!("CREATE SCHEMA {to}; {}", VERSION_1.replace('@', to)));
        for table in ["lists", "tasks", "changes", "lease_clocks", "leases"] {
            let columns = self.cluster.sql(&format!(
                "SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) FROM information_schema.columns
                WHERE table_schema = '{to}' AND table_name = '{table}'"
            ));
            self.cluster.sql(&format!("INSERT INTO {to}.{table} ({columns}) SELECT {columns} FROM {from}.{table}"));
        }
        old
    }

    fn in_directory(directory: &Path) -> Self {
        fs::create_dir_all(directory).unwrap();
        let open = |name: &str| File::create(directory.join(name)).unwrap();
        let starting = open("starting");
        flock(&starting, FlockOperation::LockExclusive).unwrap();
        let users = open("users");
        flock(&users, FlockOperation::LockShared).unwrap();
        let port = fs::read_to_string(directory.join("port")).ok().and_then(|port| port.parse().ok());
        let running = port.map(|port| Cluster::of(directory, port)).filter(Cluster::is_ready);
        let cluster = running.unwrap_or_else(|| {
            // What is left of one that was not ended in order.
            let _ = fs::remove_dir_all(directory.join("server"));
            let cluster = Cluster::make_shared(directory, &SETTINGS);
            fs::write(directory.join("port"), cluster.port().to_string()).unwrap();
            let mut keeper = Program::new("setsid");
            keeper.args(["--fork", "sh", "-c", KEEPER, "keeper"]).arg(directory);
            assert!(keeper.outliving_test().stdout(Stdio::null()).stderr(Stdio::null()).status().success());
            cluster
        });
        Self { cluster, _use: users }
    }
}

/// Returns where the server of this user's tests is.
fn directory() -> PathBuf {
    env::temp_dir().join(format!("taskyard-postgres-{}", rustix::process::getuid().as_raw()))
}
