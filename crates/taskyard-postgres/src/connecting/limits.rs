//! How long things may take, and what a transaction may see.

use std::time::Duration;

/// How long a writer waits for those before it.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(30);
/// How long one statement may take on the server.
pub(crate) const STATEMENT_TIME: Duration = Duration::from_secs(60);
/// How long a transaction may be open without a word before the server ends it: a process that is suspended or cut off keeps other writers
/// waiting no longer than their patience.
pub(crate) const IDLE_TIME: Duration = Duration::from_secs(25);
/// How long we wait for an answer: longer than the server takes to give up.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(65);

/// Ends with the transaction. Functions and operators are PostgreSQL's own, whatever search path the role or the database has.
pub(crate) const OWN_NAMES_ONLY: &str = "SET LOCAL search_path = pg_catalog, pg_temp";
