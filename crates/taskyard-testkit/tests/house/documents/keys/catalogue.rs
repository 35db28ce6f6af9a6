//! Which command answers with which type.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};
use taskyard::core::answers::answer_document::schema_settings;
use taskyard::core::answers::{
    answer_values, claim_answers, history_answers, list_answers, maintenance_answers, task_answers, team_answers,
    worktrees,
};

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
        row::<task_answers::Created<'_>>(&["create", "task create"])
            .or::<task_answers::CreatedTogether<'_>>("with `--batch` or `--template`"),
        row::<task_answers::Templates>(&["template list"]),
        row::<task_answers::Template>(&["template save", "template show", "template remove"]),
        row::<task_answers::Listing<'_>>(&["list"]),
        row::<task_answers::Shown<'_>>(&["show"]).or::<task_answers::ShownTogether<'_>>("for several ids"),
        row::<task_answers::Found<'_>>(&["search"]),
        row::<task_answers::Ready<'_>>(&["ready"]),
        row::<list_answers::Stats<'_>>(&["stats"]),
        row::<task_answers::Updated<'_>>(&[
            "update", "start", "done", "cancel", "reopen", "retry", "depend", "undepend",
        ])
        .or::<task_answers::UpdatedTogether<'_>>("for several ids, a range or `--where`")
        .or::<task_answers::Unchanged<'_>>(DRY_RUN),
        row::<task_answers::Updated<'_>>(&["edit"])
            .or::<task_answers::Created<'_>>("without an id")
            .or::<task_answers::NotCreated>("if nothing was typed"),
        row::<task_answers::Noted<'_>>(&["note"]),
        row::<claim_answers::ClaimWon<'_>>(&["claim"])
            .or::<claim_answers::ClaimLost<'_>>("if it is lost, with exit code 3 (4 for `task_not_found`)")
            .or::<claim_answers::ClaimedTogether<'_>>("for several ids, a range or `--where`")
            .or::<task_answers::Unchanged<'_>>(DRY_RUN),
        row::<claim_answers::Renewed<'_>>(&["renew"]),
        row::<claim_answers::Released<'_>>(&["release"])
            .or::<claim_answers::ReleasedTogether<'_>>("for several ids, a range or `--where`")
            .or::<claim_answers::Departed<'_>>("with `--agent`")
            .or::<task_answers::Unchanged<'_>>(DRY_RUN),
        row::<task_answers::Deleted<'_>>(&["delete"]).or::<task_answers::Unchanged<'_>>(DRY_RUN),
        row::<task_answers::Cleared<'_>>(&["clear"]),
        row::<task_answers::Graph<'_>>(&["graph"]),
        row::<history_answers::History<Vec<answer_values::Entry<'_>>>>(&["history"]),
        row::<history_answers::Undone<'_>>(&["undo"]),
        row::<history_answers::Restored<'_>>(&["restore"])
            .or::<history_answers::Restorable<'_>>("without arguments")
            .or::<task_answers::Unchanged<'_>>("with `--dry-run`"),
        row::<maintenance_answers::RestoredFrom<'_>>(&["restore --from"]),
        row::<history_answers::WatchedEntry<'_>>(&["watch"])
            .or::<history_answers::WatchedJob<'_>>("for a job that has ended")
            .or::<history_answers::WatchedReturn>("if the database went back to an earlier state"),
        row::<task_answers::WorkReport<'_>>(&["work"]),
        row::<worktrees::Worktrees<'_>>(&["worktrees"]),
        row::<worktrees::BranchMerged<'_>>(&["worktrees merge"]),
        row::<task_answers::Updated<'_>>(&["worktrees approve", "worktrees request-changes", "worktrees unqueue"]),
        row::<worktrees::TaskInWorktree<'_>>(&["worktrees path"]),
        row::<worktrees::WorktreesCleaned>(&["worktrees clean"]),
        row::<worktrees::BranchDiff<'_>>(&["diff"]),
        row::<list_answers::Prime<'_>>(&["prime"]),
        row::<list_answers::StatusLine<'_>>(&["statusline"]),
        row::<list_answers::Lists<'_>>(&["lists"]),
        row::<list_answers::ListRenamed<'_>>(&["lists rename"]),
        row::<list_answers::ListRemoved<'_>>(&["lists remove"]),
        row::<list_answers::Whoami<'_>>(&["whoami"]),
        row::<list_answers::Where<'_>>(&["where"]),
        row::<list_answers::ListUsed<'_>>(&["use"]),
        row::<list_answers::Merged<'_>>(&["merge"]),
        row::<list_answers::LeftSessions<'_>>(&["adopt"])
            .or::<list_answers::Adopted<'_>>("with `--yes`")
            .or::<list_answers::Merged<'_>>("if a list is named"),
        row::<list_answers::ListMoved<'_>>(&["move"]),
        row::<list_answers::Imported<'_>>(&["import"]),
        row::<list_answers::Exported<'_>>(&["export"]),
        row::<claim_answers::JobStarted<'_>>(&["job run", "job wait"]),
        row::<claim_answers::JobStopped<'_>>(&["job stop"]),
        row::<claim_answers::Jobs<'_>>(&["job list"]),
        row::<claim_answers::JobsTidied<'_>>(&["job gc"]),
        row::<claim_answers::JobOutput<'_>>(&["job output"]),
        row::<team_answers::TeamCreated<'_>>(&["team create"]),
        row::<team_answers::TeamJoined<'_>>(&["team join"]),
        row::<team_answers::TeamLeft<'_>>(&["team leave"]),
        row::<team_answers::TeamDeleted<'_>>(&["team delete"]),
        row::<team_answers::Teams<'_>>(&["team list"]),
        row::<team_answers::TeamShown<'_>>(&["team show"]),
        row::<team_answers::TeamsMended>(&["team mend"]),
        row::<team_answers::Sent<'_>>(&["send"]).or::<team_answers::SentToAll<'_>>("to `*`"),
        row::<team_answers::Inbox<'_>>(&["inbox"])
            .or::<team_answers::Outbox<'_>>("with `--sent`")
            .or::<answer_values::Message<'_>>("with `--follow`, for each message")
            .or::<team_answers::Notification<'_>>("with `--follow`, for each job that has ended"),
        row::<team_answers::Todos<'_>>(&["todo read", "todo write"]),
        row::<maintenance_answers::Served<'_>>(&["serve"]),
        row::<maintenance_answers::TokenCreated<'_>>(&["token create"]),
        row::<maintenance_answers::Tokens<'_>>(&["token list"]),
        row::<maintenance_answers::TokenRevoked<'_>>(&["token revoke"]),
        row::<maintenance_answers::Findings>(&["doctor"]).or::<maintenance_answers::Mended>("after `--fix --yes`"),
        row::<maintenance_answers::BackedUp<'_>>(&["backup"]),
        row::<maintenance_answers::Tidied<'_>>(&["gc"]),
        row::<maintenance_answers::Granted<'_>>(&["grant"]),
        row::<maintenance_answers::DatabaseReady<'_>>(&["db init"]),
        row::<maintenance_answers::DatabaseUpgraded<'_>>(&["db upgrade"]),
        row::<maintenance_answers::DatabaseStatus<'_>>(&["db status"]),
        row::<maintenance_answers::Trusted<'_>>(&["trust"]).or::<maintenance_answers::Distrusted>("after `--remove`"),
        row::<maintenance_answers::AgentSetUp>(&["setup"]),
        row::<maintenance_answers::AgentsSetUp>(&["setup --all"]),
        row::<maintenance_answers::AgentsKnown>(&["setup --list"]),
        row::<maintenance_answers::Demonstration>(&["demo"]),
        row::<maintenance_answers::Completions>(&["completions"]),
        row::<maintenance_answers::ManualPage>(&["man"])
            .or::<maintenance_answers::ManualWritten>("if pages were written"),
        row::<maintenance_answers::Help>(&["--help"]),
        row::<maintenance_answers::Version>(&["--version"]),
    ]
}
