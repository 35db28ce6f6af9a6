//! Which command answers with which type.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};
use taskyard::core::answers::document::schema_settings;
use taskyard::core::answers::{access, claims, history, jobs, lists, maintenance, setup, tasks, teams, values};

/// Returns the schema of a type, by its name.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The answers of some commands.
pub(super) struct Row {
    /// The commands as the page names them, `setup --all` or `job run`.
    pub(super) commands: &'static [&'static str],
    /// When it answers with which type; nothing is said of the usual one.
    answers: Vec<(&'static str, SchemaOf)>,
}

/// The rows, and the schema of every type they use.
pub(super) struct Catalogue {
    pub(super) rows: Vec<(Row, Vec<String>)>,
    pub(super) types: Map<String, Value>,
}

impl Row {
    /// Returns when it answers with which type.
    pub(super) fn conditions(&self) -> impl Iterator<Item = &'static str> {
        self.answers.iter().map(|(when, _)| *when)
    }
}

impl Catalogue {
    pub(super) fn new() -> Self {
        let mut generator = schema_settings().into_generator();
        let mut name = |schema: &SchemaOf| {
            let reference = schema(&mut generator);
            reference.get("$ref").and_then(Value::as_str).unwrap().trim_start_matches("#/$defs/").to_owned()
        };
        let mut named = |row: Row| {
            let names = row.answers.iter().map(|(_, schema)| name(schema)).collect();
            (row, names)
        };
        let rows = rows().into_iter().map(&mut named).collect();
        Self { rows, types: generator.take_definitions(true) }
    }
}

fn row<T: JsonSchema>(commands: &'static [&'static str]) -> Row {
    Row { commands, answers: Vec::new() }.or::<T>("")
}

impl Row {
    fn or<T: JsonSchema>(mut self, when: &'static str) -> Self {
        self.answers.push((when, |generator| generator.subschema_for::<T>()));
        self
    }
}

const DRY_RUN: &str = "with `--dry-run`, or if a query matches no task";

fn rows() -> Vec<Row> {
    vec![
        row::<tasks::Created<'_>>(&["create", "task create"]).or::<tasks::CreatedTogether<'_>>("with `--batch`"),
        row::<tasks::Listing<'_>>(&["list"]),
        row::<tasks::Shown<'_>>(&["show"]).or::<tasks::ShownTogether<'_>>("for several ids"),
        row::<tasks::Found<'_>>(&["search"]),
        row::<tasks::Ready<'_>>(&["ready"]),
        row::<lists::Stats<'_>>(&["stats"]),
        row::<tasks::Updated<'_>>(&["update", "start", "done", "cancel", "reopen", "retry", "depend", "undepend"])
            .or::<tasks::UpdatedTogether<'_>>("for several ids, a range or `--where`")
            .or::<tasks::Unchanged<'_>>(DRY_RUN),
        row::<tasks::Updated<'_>>(&["edit"])
            .or::<tasks::Created<'_>>("without an id")
            .or::<tasks::NotCreated>("if nothing was typed"),
        row::<tasks::Noted<'_>>(&["note"]),
        row::<claims::ClaimWon<'_>>(&["claim"])
            .or::<claims::ClaimLost<'_>>("if it is lost, with exit code 3 (4 for `task_not_found`)")
            .or::<claims::ClaimedTogether<'_>>("for several ids, a range or `--where`")
            .or::<tasks::Unchanged<'_>>(DRY_RUN),
        row::<claims::Renewed<'_>>(&["renew"]),
        row::<claims::Released<'_>>(&["release"])
            .or::<claims::ReleasedTogether<'_>>("for several ids, a range or `--where`")
            .or::<claims::Departed<'_>>("with `--agent`")
            .or::<tasks::Unchanged<'_>>(DRY_RUN),
        row::<tasks::Deleted<'_>>(&["delete"]).or::<tasks::Unchanged<'_>>(DRY_RUN),
        row::<tasks::Cleared<'_>>(&["clear"]),
        row::<tasks::Graph<'_>>(&["graph"]),
        row::<history::History<Vec<values::Entry<'_>>>>(&["history"]),
        row::<history::Undone<'_>>(&["undo"]),
        row::<history::Restored<'_>>(&["restore"])
            .or::<history::Restorable<'_>>("without arguments")
            .or::<tasks::Unchanged<'_>>("with `--dry-run`"),
        row::<maintenance::RestoredFrom<'_>>(&["restore --from"]),
        row::<history::WatchedEntry<'_>>(&["watch"])
            .or::<history::WatchedJob<'_>>("for a job that has ended")
            .or::<history::WatchedReturn>("if the database went back to an earlier state"),
        row::<tasks::WorkReport<'_>>(&["work"]),
        row::<lists::Prime<'_>>(&["prime"]),
        row::<lists::StatusLine<'_>>(&["statusline"]),
        row::<lists::Lists<'_>>(&["lists"]),
        row::<lists::ListRenamed<'_>>(&["lists rename"]),
        row::<lists::ListRemoved<'_>>(&["lists remove"]),
        row::<lists::Whoami<'_>>(&["whoami"]),
        row::<lists::Where<'_>>(&["where"]),
        row::<lists::ListUsed<'_>>(&["use"]),
        row::<lists::Merged<'_>>(&["merge"]),
        row::<lists::LeftSessions<'_>>(&["adopt"])
            .or::<lists::Adopted<'_>>("with `--yes`")
            .or::<lists::Merged<'_>>("if a list is named"),
        row::<lists::ListMoved<'_>>(&["move"]),
        row::<lists::Imported<'_>>(&["import"]),
        row::<lists::Exported<'_>>(&["export"]),
        row::<jobs::JobStarted<'_>>(&["job run", "job wait"]),
        row::<jobs::JobStopped<'_>>(&["job stop"]),
        row::<jobs::Jobs<'_>>(&["job list"]),
        row::<jobs::JobsTidied<'_>>(&["job gc"]),
        row::<jobs::JobOutput<'_>>(&["job output"]),
        row::<teams::TeamCreated<'_>>(&["team create"]),
        row::<teams::TeamJoined<'_>>(&["team join"]),
        row::<teams::TeamLeft<'_>>(&["team leave"]),
        row::<teams::TeamDeleted<'_>>(&["team delete"]),
        row::<teams::Teams<'_>>(&["team list"]),
        row::<teams::TeamShown<'_>>(&["team show"]),
        row::<teams::TeamsMended>(&["team mend"]),
        row::<teams::Sent<'_>>(&["send"]).or::<teams::SentToAll<'_>>("to `*`"),
        row::<teams::Inbox<'_>>(&["inbox"])
            .or::<teams::Outbox<'_>>("with `--sent`")
            .or::<values::Message<'_>>("with `--follow`, for each message")
            .or::<teams::Notification<'_>>("with `--follow`, for each job that has ended"),
        row::<teams::Todos<'_>>(&["todo read", "todo write"]),
        row::<access::Served<'_>>(&["serve"]),
        row::<access::TokenCreated<'_>>(&["token create"]),
        row::<access::Tokens<'_>>(&["token list"]),
        row::<access::TokenRevoked<'_>>(&["token revoke"]),
        row::<maintenance::Findings>(&["doctor"]).or::<maintenance::Mended>("after `--fix --yes`"),
        row::<maintenance::BackedUp<'_>>(&["backup"]),
        row::<maintenance::Tidied<'_>>(&["gc"]),
        row::<maintenance::Granted<'_>>(&["grant"]),
        row::<maintenance::DatabaseReady<'_>>(&["db init"]),
        row::<maintenance::DatabaseUpgraded<'_>>(&["db upgrade"]),
        row::<maintenance::DatabaseStatus<'_>>(&["db status"]),
        row::<setup::Trusted<'_>>(&["trust"]).or::<setup::Distrusted>("after `--remove`"),
        row::<setup::AgentSetUp>(&["setup"]),
        row::<setup::AgentsSetUp>(&["setup --all"]),
        row::<setup::AgentsKnown>(&["setup --list"]),
        row::<access::Demonstration>(&["demo"]),
        row::<access::Completions>(&["completions"]),
        row::<access::ManualPage>(&["man"]).or::<access::ManualWritten>("if pages were written"),
        row::<access::Help>(&["--help"]),
        row::<access::Version>(&["--version"]),
    ]
}
