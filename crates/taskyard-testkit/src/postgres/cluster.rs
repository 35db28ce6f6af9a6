//! PostgreSQL servers in directories of their own, and one for all tests of a run.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, iter, process};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use crate::patience::{PATIENCE, wait_or, wait_until};
use crate::process::{NOBODY, Program, is_root};

/// A PostgreSQL server on a port of its own, which it keeps when it is stopped and started again. Every user of this machine may connect as
/// `postgres`. It ends with the test process that started it, or earlier by [`Cluster::stop_when_dropped`].
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    port: u16,
    stops: bool,
    /// Whether it is shared with other test processes, and runs on when this one has ended.
    is_shared: bool,
    /// What the server is started with besides.
    environment: Vec<(String, PathBuf)>,
}

impl Cluster {
    /// Makes a cluster in a directory, which must exist, with these settings besides the usual ones, and starts it.
    pub fn make(directory: &Path, settings: &[&str]) -> Self {
        Self::made(directory, settings, false)
    }

    /// Makes a cluster that other test processes use, too, and starts it. It runs until it is stopped.
    pub(super) fn make_shared(directory: &Path, settings: &[&str]) -> Self {
        Self::made(directory, settings, true)
    }

    fn made(directory: &Path, settings: &[&str], is_shared: bool) -> Self {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        let folder = directory.join("server");
        fs::create_dir(&folder).unwrap();
        give_away(&folder);
        let mut cluster = Self::new(folder, free_port());
        cluster.is_shared = is_shared;
        let mut initdb = Program::new(postgres_program("initdb"));
        initdb.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        cluster.run(initdb.arg("-D").arg(cluster.data()));
        cluster.configure(settings);
        cluster.start();
        cluster
    }

    /// Copies a running server into a directory, as a standby that follows it under a name.
    pub fn standby(of: &Self, directory: &Path, name: &str) -> Self {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        let folder = directory.join("server");
        fs::create_dir(&folder).unwrap();
        give_away(&folder);
        let standby = Self::new(folder, free_port());
        let from = format!("host=127.0.0.1 port={} user=postgres application_name={name}", of.port);
        let mut copy = Program::new(postgres_program("pg_basebackup"));
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--dbname", &from]);
        standby.run(copy.arg("-D").arg(standby.data()));
        standby.configure(&[]);
        standby.start();
        standby
    }

    /// Returns a cluster that another process made in a directory.
    pub(super) fn of(directory: &Path, port: u16) -> Self {
        let mut cluster = Self::new(directory.join("server"), port);
        cluster.is_shared = true;
        cluster
    }

    fn new(directory: PathBuf, port: u16) -> Self {
        Self { directory, port, stops: false, is_shared: false, environment: Vec::new() }
    }

    /// Gives a variable to the server's environment from its next start on.
    pub fn set_variable(&mut self, name: &str, value: &Path) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Stops it, at once and without care, when this is dropped.
    #[must_use]
    pub fn stop_when_dropped(mut self) -> Self {
        self.stops = true;
        self
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address of its database for `taskyard`.
    pub fn address(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the parent process of all others, or `None` if it does not run.
    pub fn process(&self) -> Option<Pid> {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        let pid = Pid::from_raw(file.lines().next()?.parse().ok()?)?;
        is_running(pid).then_some(pid)
    }

    /// Starts it and waits until it answers.
    pub fn start(&self) {
        let log = File::options().create(true).append(true).open(self.directory.with_file_name("log")).unwrap();
        // Its own session: a test runner that ends the group of a test leaves it alone.
        let mut detached = Program::new("setsid");
        detached.arg("--fork").arg(postgres_program("postgres")).arg("-D").arg(self.data());
        detached.envs(self.environment.iter().map(|(name, value)| (name, value)));
        detached.stdout(log.try_clone().unwrap()).stderr(log).current_dir(&self.directory);
        if self.is_shared {
            detached.outliving_test();
        }
        assert!(detached.unprivileged().status().success());
        wait_or(|| self.is_ready().then_some(()), || self.log());
    }

    /// Stops it in one of PostgreSQL's ways: `fast`, or `immediate`, which is a crash.
    pub fn stop(&self, mode: &str) {
        let mut stop = Program::new(postgres_program("pg_ctl"));
        self.run(stop.args(["stop", "--wait", &at_most(), "--mode", mode, "-D"]).arg(self.data()));
    }

    /// Kills every process of it, as a power loss would, and returns when they are gone.
    pub fn kill(&self) {
        let Some(main) = self.process() else { return };
        let children = Program::new("pgrep").arg("-P").arg(main.as_raw_nonzero().to_string()).run().stdout;
        let children = children.split_whitespace().map(|child| Pid::from_raw(child.parse().unwrap()).unwrap());
        let all: Vec<Pid> = iter::once(main).chain(children).collect();
        for process in &all {
            let _ = kill_process(*process, Signal::KILL);
        }
        wait_until("the server to die", || !all.iter().any(|process| is_running(*process)));
        // It may not have been reaped yet, and then it would look alive to the next one.
        let socket_lock = self.directory.join(format!(".s.PGSQL.{}.lock", self.port));
        for left in [self.data().join("postmaster.pid"), socket_lock] {
            let _ = fs::remove_file(left);
        }
    }

    /// Makes a standby the server that is written to.
    pub fn promote(&self) {
        let mut promote = Program::new(postgres_program("pg_ctl"));
        self.run(promote.args(["promote", "--wait", &at_most(), "-D"]).arg(self.data()));
    }

    /// Runs statements with `psql` and returns the result, one row per line, columns separated by bars.
    pub fn sql(&self, statements: &str) -> String {
        let mut psql = Program::new(postgres_program("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--dbname"]);
        psql.arg(self.address()).arg("--command").arg(statements).succeed().trim_end().to_owned()
    }

    /// Adds settings, which count when it is next started.
    pub fn configure(&self, settings: &[&str]) {
        let usual = format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{}'\nmax_connections = 300\n",
            self.port,
            self.directory.display()
        );
        let file = self.data().join("postgresql.conf");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}\n{usual}{}\n", settings.join("\n"))).unwrap();
    }

    /// Returns what it said.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.with_file_name("log")).unwrap_or_default()
    }

    /// Returns where its data is.
    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Tells whether it answers.
    pub(super) fn is_ready(&self) -> bool {
        let mut ask = Program::new(postgres_program("pg_isready"));
        let asked = ask
            .args(["--quiet", "--host=127.0.0.1", "--username=postgres", "--port"])
            .arg(self.port.to_string())
            .status();
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() && asked.success()
    }

    fn run(&self, command: &mut Program) {
        let ran = command.unprivileged().current_dir(&self.directory).run();
        assert_eq!(ran.code, Some(0), "{command:?}: {}\n{}", ran.stderr, self.log());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.stops {
            self.kill();
        }
    }
}

/// Returns the argument that says how long `pg_ctl` waits.
fn at_most() -> String {
    format!("--timeout={}", PATIENCE.as_secs())
}

/// Tells whether a process runs: one that is dead and whose parent has not asked how it ended does not.
fn is_running(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

/// Returns a port that no program uses, and that the system gives to no outgoing connection: a server that is stopped and started finds it
/// free, and no client that tries to connect meanwhile meets itself there.
fn free_port() -> u16 {
    let random = RandomState::new();
    let ports = (0u32..).map(|attempt| 12_000 + (random.hash_one(attempt) % 20_000) as u16);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.take(1_000).find(is_free).expect("one of a thousand ports is free")
}

/// Returns a program of PostgreSQL: Debian keeps them apart from other programs, by version.
pub fn postgres_program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| Some((version.file_name().to_str()?.parse().ok()?, version.path())))
        .map(|(version, folder)| (version, folder.join("bin").join(name)))
        .filter(|(_, program)| program.exists())
        .collect();
    found.sort();
    found.pop().map_or_else(|| name.into(), |(_, program)| program)
}

/// Gives a directory to the user that the programs run as: PostgreSQL refuses to serve root.
pub(super) fn give_away(directory: &Path) {
    if is_root() {
        chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

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
    /// Returns the server, starting it if necessary.
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

/// Returns the directory of this user's test server.
fn directory() -> PathBuf {
    env::temp_dir().join(format!("taskyard-postgres-{}", rustix::process::getuid().as_raw()))
}
