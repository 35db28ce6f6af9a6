//! Roles of the database: which one did what, and what each may do.

use std::fs;
use std::process::Stdio;

use serde_json::Value;
use taskyard_testkit::{Cluster, Home, Program, Ran, SharedPostgres, postgres_program, wait_until};
use tempfile::TempDir;

use crate::postgres::{ask, command, home, run};

#[test]
fn history_names_the_database_user() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    cluster.sql("CREATE ROLE second LOGIN SUPERUSER");
    let home = home();
    ask(&home, &cluster.address(), "create first");
    ask(&home, &cluster.address().replace("postgres@", "second@"), "create second --as ana");
    let history: Value = serde_json::from_str(&ask(&home, &cluster.address(), "history --json")).unwrap();
    let users = ["0", "1"].map(|place| history.pointer(&format!("/entries/{place}")).unwrap()["dbUser"].clone());
    assert_eq!(users, ["postgres", "second"]);
    assert!(ask(&home, &cluster.address(), "history").contains("ana (second) created"));
}

#[test]
fn a_role_with_the_least_rights_can_work_and_change_no_history() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
    let home = home();
    let theirs = cluster.address().replace("postgres@", "agents@");
    cluster.sql("CREATE ROLE agents LOGIN");
    let ran = run(&home, &theirs, "create first");
    assert!(ran.stderr.contains("permission denied"), "{ran:?}");
    ask(&home, &cluster.address(), "create first");
    let ran = run(&home, &theirs, "list");
    assert!(ran.stderr.contains("permission denied") && ran.stderr.contains("db init --role"), "{ran:?}");
    for _ in 0..2 {
        ask(&home, &cluster.address(), "db init --role agents");
    }
    let refused = run(&home, &theirs, "db init --role agents");
    assert!(refused.code == Some(3) && refused.stderr.contains("`postgres` does"), "{refused:?}");
    for words in [
        "create second",
        "claim 1 --as ana",
        "done 1 --as ana",
        "delete 2",
        "team create alpha --as boss",
        "team join alpha --as ana",
        "send hello --to ana --as boss",
        "inbox --as ana",
        "lists rename L M",
        "lists rename M L",
        "history",
        "create third",
        "work -- true",
        "job run --wait -- true",
    ] {
        ask(&home, &theirs, words);
    }
    wait_until("the report of the job", || cluster.sql("SELECT state FROM taskyard.jobs") == "completed");
    // Everything is old at once, and the role may not thin the journal.
    fs::create_dir_all(home.path().join(".config/taskyard")).unwrap();
    fs::write(home.path().join(".config/taskyard/taskyard.toml"), "[journal]\nkeep = \"0s\"\n").unwrap();
    wait_until("the journal to be old", || {
        let ran = run(&home, &theirs, "gc");
        assert!(ran.code == Some(0) || ran.stderr.contains("permission denied"), "{ran:?}");
        ran.code == Some(1)
    });
    let mut psql = Program::new(postgres_program("psql"));
    let forged = psql.arg(&theirs).args(["--command", "UPDATE taskyard.changes SET actor = 'eve'"]).output();
    assert!(!forged.status.success(), "{forged:?}");
    let mut psql = Program::new(postgres_program("psql"));
    let forged = "INSERT INTO taskyard.changes (list, revision, place, at, actor, op, task, db_user)
        VALUES (1, 99, 0, 0, 'eve', 'create', '9', 'postgres')";
    let forged = psql.arg(&theirs).args(["--command", forged]).output();
    assert!(!forged.status.success(), "{forged:?}");
}

/// A database with two roles, one for each team of agents, which may only use the lists that they make and are granted.
struct TwoRoles {
    cluster: Cluster,
    homes: [Home; 2],
    _folder: TempDir,
}

/// Every table whose rows belong to a list or a role.
const TABLES: [&str; 15] = [
    "lists",
    "tasks",
    "ties",
    "commit_channels",
    "changes",
    "lease_clocks",
    "leases",
    "teams",
    "seats",
    "messages",
    "letters",
    "notices",
    "todos",
    "grants",
    "epochs",
];

impl TwoRoles {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cluster = Cluster::make(folder.path(), &[]).stop_when_dropped();
        let roles = Self { cluster, homes: [home(), home()], _folder: folder };
        for role in ["team_a", "team_b"] {
            roles.owner(&format!("db init --role {role} --lists granted"));
        }
        roles
    }

    fn owner(&self, words: &str) -> String {
        ask(&self.homes[0], &self.cluster.address(), words)
    }

    fn address(&self, role: &str) -> String {
        self.cluster.address().replacen("postgres@", &format!("{role}@"), 1)
    }

    /// Runs a command as a role, on a machine of its own for each of the first two.
    fn run(&self, role: &str, words: &str) -> Ran {
        run(&self.homes[usize::from(role != "team_a")], &self.address(role), words)
    }

    fn ask(&self, role: &str, words: &str) -> String {
        let ran = self.run(role, words);
        assert_eq!(ran.code, Some(0), "{role}: `{words}`: {ran:?}");
        ran.stdout
    }

    /// Checks that a list is not there for a role.
    fn sees_no_list(&self, role: &str, list: &str) {
        let ran = self.run(role, &format!("--list {list} history"));
        assert!(ran.code == Some(4) && ran.stderr.contains("there is no list"), "{role}: {ran:?}");
    }

    fn sql(&self, role: &str, statement: &str) -> Ran {
        let mut psql = Program::new(postgres_program("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"]);
        psql.arg(self.address(role)).args(["--command", statement]).run()
    }

    /// Does everything that agents do, on a list of their own.
    fn work_as(&self, role: &str, list: &str) {
        for words in [
            "create first",
            "create second --blocked-by 1",
            "note 1 seen",
            "claim 1 --as ana",
            "done 1 --as ana",
            "claim --next --as ana",
            "release 2 --as ana",
            &format!("team create {list} --as boss"),
            &format!("team join {list} --as ana"),
            &format!("send hello --team {list} --to ana --as boss"),
            "undo --anyone",
            "work -- true",
            "doctor",
            "job run --wait -- true",
        ] {
            self.ask(role, &format!("--list {list} {words}"));
        }
        let words = format!("todo write --as writer-{list}");
        let mut todo = command(&self.homes[usize::from(role != "team_a")], &self.address(role), &words);
        let mut todo = todo.stdin(Stdio::piped()).start();
        todo.tell(r#"[{"content":"One","status":"pending","activeForm":"Doing one"}]"#);
        let written = todo.end();
        assert_eq!(written.code, Some(0), "{written:?}");
    }
}

#[test]
fn roles_work_on_their_lists_and_see_no_others() {
    let roles = TwoRoles::new();
    roles.work_as("team_a", "alpha");
    let mut failing = command(&roles.homes[0], &roles.address("team_a"), "--list alpha job run -- false");
    failing.succeed();
    wait_until("the notice of a job", || {
        roles.ask("team_a", "--list alpha inbox --as tester");
        roles.cluster.sql("SELECT count(*) FROM taskyard.notices") != "0"
    });
    for table in TABLES {
        let count = format!("SELECT count(*) FROM taskyard.{table}");
        assert_ne!(roles.cluster.sql(&count), "0", "{table}");
        let seen = roles.sql("team_b", &count);
        // The first epoch names no list, and the role may make lists.
        let own = if ["epochs", "grants"].contains(&table) { "1" } else { "0" };
        assert_eq!((seen.code, seen.stdout.trim()), (Some(0), own), "{table}: {seen:?}");
    }
    assert_eq!(roles.ask("team_b", "lists"), "No lists found\n");
    roles.sees_no_list("team_b", "alpha");
    assert!(!roles.ask("team_b", "team list").contains("alpha"));
    let refused = roles.run("team_b", "--list alpha create mine");
    assert!(refused.code == Some(1) && refused.stderr.contains("belongs to others"), "{refused:?}");
    let refused = roles.run("team_b", "team create alpha --as eve");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    // The same names in a team of their own.
    roles.work_as("team_b", "beta");
    assert!(roles.ask("team_b", "lists").contains("beta") && !roles.ask("team_a", "lists").contains("beta"));
}

#[test]
fn statements_of_a_role_change_nothing_of_another() {
    let roles = TwoRoles::new();
    roles.work_as("team_a", "alpha");
    let list = roles.cluster.sql("SELECT id FROM taskyard.lists WHERE directory = 'alpha'");
    let dump = || TABLES.map(|table| roles.cluster.sql(&format!("SELECT * FROM taskyard.{table} ORDER BY 1, 2")));
    let before = dump();
    for (statement, is_refused) in [
        (format!("INSERT INTO taskyard.tasks (list, task, image) VALUES ({list}, '9', 'x')"), true),
        (format!("INSERT INTO taskyard.grants VALUES ({list}, 'alpha', 'team_b', true)"), true),
        ("INSERT INTO taskyard.lists (id, directory, name) VALUES (0, 'x', 'x')".to_owned(), true),
        ("INSERT INTO taskyard.messages (team, made, member, key, body, delivery) SELECT 'alpha', 1, 'ana', 'k', 'b', 'd'".to_owned(), true),
        ("UPDATE taskyard.lists SET directory = 'stolen'".to_owned(), true),
        ("UPDATE taskyard.grants SET role = 'team_b'".to_owned(), true),
        ("SELECT agent FROM taskyard.alive".to_owned(), true),
        ("DELETE FROM taskyard.grants".to_owned(), true),
        ("SELECT process, seen_at FROM taskyard.alive".to_owned(), false),
        ("UPDATE taskyard.lists SET revision = 99".to_owned(), false),
        ("UPDATE taskyard.tasks SET image = 'x'".to_owned(), false),
        ("UPDATE taskyard.leases SET has_ended = true".to_owned(), false),
        ("DELETE FROM taskyard.tasks".to_owned(), false),
        ("DELETE FROM taskyard.teams".to_owned(), false),
        ("DELETE FROM taskyard.messages".to_owned(), false),
        ("UPDATE taskyard.notices SET acknowledged_at = 1".to_owned(), false),
    ] {
        let ran = roles.sql("team_b", &statement);
        assert_eq!(ran.code != Some(0), is_refused, "{statement}: {ran:?}");
    }
    assert_eq!(dump(), before);
    let open = "SELECT relname FROM pg_class WHERE relnamespace = 'taskyard'::regnamespace AND relkind = 'r'
        AND NOT relrowsecurity";
    assert_eq!(roles.cluster.sql(open), "yard", "a table without policies shows every role all rows");
}

#[test]
fn a_granted_role_reads_or_works() {
    let roles = TwoRoles::new();
    roles.ask("team_a", "--list alpha create first");
    let refused = roles.run("team_a", "grant alpha team_b work");
    assert!(refused.code == Some(3) && refused.stderr.contains("`postgres` does"), "{refused:?}");
    for (words, code, said) in [
        ("grant alpha nobody_here read", 4, "no role named"),
        ("grant missing team_b read", 4, "no list named"),
        ("db init --role every", 0, ""),
        ("grant alpha every read", 3, "may work on every list"),
        ("db init --role postgres", 3, "owns the tables"),
    ] {
        let ran = run(&roles.homes[0], &roles.cluster.address(), words);
        assert!(ran.code == Some(code) && ran.stderr.contains(said), "{words}: {ran:?}");
    }
    roles.cluster.sql("CREATE ROLE reader LOGIN");
    assert_eq!(roles.owner("grant alpha reader read"), "Role reader may read alpha\n");
    let mut watching = command(&roles.homes[1], &roles.address("reader"), "--list alpha watch --json --since 0");
    let mut watching = watching.stdout(Stdio::piped()).start();
    assert!(watching.line().unwrap().contains("first"));
    for words in ["list", "show 1", "history", "ready", "doctor", "team list", "inbox --as ana"] {
        roles.ask("reader", &format!("--list alpha {words}"));
    }
    for words in ["create x", "claim 1 --as eve", "done 1", "team create alpha --as eve", "delete 1"] {
        let refused = roles.run("reader", &format!("--list alpha {words}"));
        assert!(refused.code == Some(1) && refused.stderr.contains("grant LIST ROLE work"), "{words}: {refused:?}");
    }
    roles.ask("team_a", "--list alpha create second");
    assert!(watching.line().unwrap().contains("second"));

    // A role that works elsewhere may lock what it may only read, and changes nothing there.
    roles.owner("grant alpha team_b read");
    roles.ask("team_b", "--list beta create own");
    assert!(roles.ask("team_b", "--list alpha list").contains("second"));
    let refused = roles.run("team_b", "--list alpha done 1");
    assert!(refused.code == Some(1) && refused.stderr.contains("row-level security"), "{refused:?}");
    roles.owner("grant alpha team_b work");
    roles.ask("team_b", "--list alpha done 1");

    // A list that is hidden is not lost.
    roles.owner("grant alpha reader --remove");
    roles.owner("grant alpha team_b --remove");
    roles.ask("team_a", "--list alpha create third");
    roles.sees_no_list("team_b", "alpha");
    roles.ask("team_b", "--list beta create more");
    watching.kill();
    assert_eq!(roles.cluster.sql("SELECT count(*) FROM taskyard.epochs"), "1");
}

#[test]
fn a_grant_raises_all_counts_and_its_end_renews_the_channel() {
    let roles = TwoRoles::new();
    roles.ask("team_a", "--list alpha create first");
    let counts = || {
        let counts = roles.cluster.sql("SELECT string_agg(version::text, ' ' ORDER BY kind) FROM taskyard.versions");
        counts.split(' ').map(|count| count.parse::<i64>().unwrap()).collect::<Vec<_>>()
    };
    let raised = |counts: Vec<i64>| counts.into_iter().map(|count| count + 1).collect::<Vec<_>>();
    let channel = || roles.cluster.sql("SELECT channel FROM taskyard.lists");
    let (before, known) = (counts(), channel());
    roles.owner("grant alpha team_b read");
    assert_eq!(counts(), raised(before));
    assert_eq!(roles.sql("team_b", "SELECT channel FROM taskyard.lists").stdout.trim(), known);
    roles.owner("grant alpha team_b --remove");
    assert_ne!(channel(), known);
    // Who works there raises them, and can do no more.
    let before = counts();
    assert_eq!(roles.sql("team_a", "UPDATE taskyard.versions SET version = 0").code, Some(0));
    assert_eq!(counts(), raised(before));
    assert_ne!(roles.sql("team_a", "UPDATE taskyard.lists SET channel = 'x'").code, Some(0));
}

#[test]
fn only_roles_that_work_on_a_list_know_its_channel_of_commits() {
    let roles = TwoRoles::new();
    roles.ask("team_a", "--list alpha create first");
    let known = |role: &str| roles.sql(role, "SELECT channel FROM taskyard.commit_channels").stdout.trim().to_owned();
    let first = known("team_a");
    assert!(first.starts_with("taskyard_"), "{first}");
    roles.owner("grant alpha team_b read");
    assert_eq!((known("team_b"), known("team_a")), (String::new(), first.clone()));
    roles.owner("grant alpha team_b work");
    assert_eq!(known("team_b"), first);
    // It knew the channel as long as it worked there.
    roles.owner("grant alpha team_b read");
    assert_eq!(known("team_b"), "");
    assert!(![String::new(), first].contains(&known("team_a")));
    assert_ne!(roles.sql("team_a", "UPDATE taskyard.commit_channels SET channel = 'x'").code, Some(0));
}

#[test]
fn what_a_reader_tells_is_not_believed() {
    let roles = TwoRoles::new();
    roles.ask("team_a", "--list alpha create first");
    roles.owner("grant alpha team_b read");
    let channel = roles.sql("team_b", "SELECT channel FROM taskyard.lists").stdout.trim().to_owned();
    let attempt = roles.sql("team_b", "SELECT head FROM taskyard.lists").stdout.trim().to_owned();
    let epoch = roles.sql("team_b", "SELECT epoch FROM taskyard.yard").stdout.trim().to_owned();
    let mut watching = command(&roles.homes[0], &roles.address("team_a"), "--list alpha watch --json --since 0")
        .stdout(Stdio::piped())
        .start();
    assert!(watching.line().is_some_and(|line| line.contains("first")));
    let image = r#"{"id":"1","subject":"forged","description":"","status":"completed","blocks":[],"blockedBy":[]}"#;
    let told = serde_json::json!({
        "epoch": epoch, "base": 1, "baseAttempt": attempt, "revision": 2, "attempt": "f".repeat(32), "at": 1,
        "user": "team_a", "actor": "ana", "op": "update", "undoes": [], "leases": null, "token": 0, "mark": 0.0,
        "entries": [{ "task": "1", "after": image, "remark": null }],
    });
    let told = told.to_string().replace('\'', "''");
    assert_eq!(roles.sql("team_b", &format!("NOTIFY {channel}, '{told}'")).code, Some(0));
    roles.ask("team_a", "--list alpha create second");
    let next = watching.line().unwrap();
    assert!(next.contains("second") && !next.contains("forged"), "{next}");
    watching.kill();
}

#[test]
fn members_of_a_role_have_its_lists() {
    let roles = TwoRoles::new();
    roles.cluster.sql("CREATE ROLE ana LOGIN IN ROLE team_a");
    roles.ask("team_a", "--list alpha create first");
    roles.ask("ana", "--list alpha done 1");
    let history = roles.ask("team_a", "--list alpha history");
    assert!(history.contains("(team_a) created") && history.contains("(ana) updated"), "{history}");
}

#[test]
fn roles_of_the_first_version_keep_what_they_had() {
    let server = SharedPostgres::get();
    let home = home();
    let new = server.fresh_address();
    ask(&home, &new, "create kept");
    let old = server.in_first_version(&new);
    let schema = old.rsplit_once('=').unwrap().1;
    server.cluster().sql(&format!(
        "CREATE ROLE old_{schema} LOGIN; GRANT USAGE ON SCHEMA {schema} TO old_{schema};
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO old_{schema};
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO old_{schema}"
    ));
    ask(&home, &old, "db upgrade");
    let theirs = old.replacen("postgres@", &format!("old_{schema}@"), 1);
    ask(&home, &theirs, "create more");
    let listed = ask(&home, &theirs, "list");
    assert!(listed.contains("kept") && listed.contains("more"), "{listed}");
}
