//! The tables of the database, and what makes a database of an older format one of today's.

/// The format of the database; a higher one was written by a newer Taskyard.
pub(super) const FORMAT: i64 = 3;

/// The tables of a new database.
pub(super) const TABLES: &str = "
    CREATE TABLE facts (key TEXT PRIMARY KEY, value, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL, actor TEXT NOT NULL, op TEXT NOT NULL,
        task NOT NULL, before BLOB, after BLOB, inode INTEGER, undoes TEXT, remark TEXT, mode INTEGER, sum INTEGER);
    CREATE INDEX entries_by_task ON entries (task, id);
    CREATE TABLE known (
        task NOT NULL UNIQUE,
        inode INTEGER NOT NULL, mtime INTEGER NOT NULL, size INTEGER NOT NULL, seen INTEGER NOT NULL,
        content BLOB NOT NULL, mode INTEGER, sum INTEGER);
    CREATE TABLE moves (token TEXT PRIMARY KEY, peer TEXT NOT NULL, payload TEXT, sum INTEGER) WITHOUT ROWID;
    CREATE TABLE leases (
        task NOT NULL PRIMARY KEY,
        agent TEXT NOT NULL, token INTEGER NOT NULL, taken INTEGER NOT NULL, ttl INTEGER,
        ends INTEGER, ends_since_boot INTEGER, ends_boot TEXT,
        pid INTEGER, started INTEGER, process_boot TEXT, grace INTEGER,
        machine TEXT, pid_space TEXT, sum INTEGER) WITHOUT ROWID;
";

/// The table that only lists in other dialects have.
pub(super) const FORMS: &str = "
    CREATE TABLE IF NOT EXISTS forms (task NOT NULL PRIMARY KEY, form BLOB, image BLOB NOT NULL, sum INTEGER) WITHOUT ROWID;
";

/// Makes a database of the first format one of the second.
pub(super) const FROM_FIRST_FORMAT: &str = "
    ALTER TABLE entries ADD COLUMN remark TEXT;
    CREATE TABLE leases (
        task NOT NULL PRIMARY KEY,
        agent TEXT NOT NULL, token INTEGER NOT NULL, taken INTEGER NOT NULL, ttl INTEGER,
        ends INTEGER, ends_since_boot INTEGER, ends_boot TEXT,
        pid INTEGER, started INTEGER, process_boot TEXT, grace INTEGER) WITHOUT ROWID;
";

/// Makes a database of the second format one of the third.
pub(super) const FROM_SECOND_FORMAT: &str = "
    ALTER TABLE facts ADD COLUMN sum INTEGER;
    ALTER TABLE entries ADD COLUMN mode INTEGER;
    ALTER TABLE entries ADD COLUMN sum INTEGER;
    ALTER TABLE known ADD COLUMN mode INTEGER;
    ALTER TABLE known ADD COLUMN sum INTEGER;
    ALTER TABLE moves ADD COLUMN sum INTEGER;
    ALTER TABLE leases ADD COLUMN machine TEXT;
    ALTER TABLE leases ADD COLUMN pid_space TEXT;
    ALTER TABLE leases ADD COLUMN sum INTEGER;
";

/// Does the same to the table that not every database has.
pub(super) const FORMS_FROM_SECOND_FORMAT: &str = "ALTER TABLE forms ADD COLUMN sum INTEGER;";

/// Lets a database of the second format that may not be written be read as if it were of the third.
pub(super) const SECOND_FORMAT_AS_THIRD: &str = "
    CREATE TEMP VIEW facts AS SELECT *, NULL AS sum FROM main.facts;
    CREATE TEMP VIEW entries AS SELECT *, NULL AS mode, NULL AS sum FROM main.entries;
    CREATE TEMP VIEW known AS SELECT *, NULL AS mode, NULL AS sum FROM main.known;
    CREATE TEMP VIEW moves AS SELECT *, NULL AS sum FROM main.moves;
    CREATE TEMP VIEW leases AS SELECT *, NULL AS machine, NULL AS pid_space, NULL AS sum FROM main.leases;
";

/// Does the same for a database of the first format, which knew no leases.
pub(super) const FIRST_FORMAT_AS_THIRD: &str = "
    CREATE TEMP VIEW facts AS SELECT *, NULL AS sum FROM main.facts;
    CREATE TEMP VIEW entries AS SELECT *, NULL AS remark, NULL AS mode, NULL AS sum FROM main.entries;
    CREATE TEMP VIEW known AS SELECT *, NULL AS mode, NULL AS sum FROM main.known;
    CREATE TEMP VIEW moves AS SELECT *, NULL AS sum FROM main.moves;
    CREATE TEMP TABLE leases (
        task, agent, token, taken, ttl, ends, ends_since_boot, ends_boot, pid, started, process_boot, grace,
        machine, pid_space, sum);
";

/// Does the same for the table that not every database has.
pub(super) const FORMS_AS_THIRD: &str = "CREATE TEMP VIEW forms AS SELECT *, NULL AS sum FROM main.forms;";
