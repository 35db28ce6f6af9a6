//! Other formats.

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::core::answers;
use taskyard::core::dialect::foreign::{ExportFormat, ImportFormat};

use super::operation::{Asked, Operation, Parts};
use crate::commands::{Command, Export, Import};
use crate::problem::Problem;
use crate::tokens::Scope;

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::lists::Exported<'_>>(
            "exportTasks",
            "/lists/{list}/export",
            "Tasks in another format",
        )
        .with(export),
        Operation::post::<answers::lists::Imported<'_>>(
            "importTasks",
            "/lists/{list}/import",
            "Take tasks in from another format",
        )
        .only_for(Scope::All)
        .takes_files()
        .with(import),
    ]
}

/// What is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    /// The format; one that is a folder cannot be sent
    to: String,
    /// Only tasks of which a query is true
    #[serde(rename = "where", default)]
    query: Option<String>,
}

fn export(_: &Parts, wanted: Wanted) -> Result<Command, Problem> {
    let to = wanted.to.parse::<ExportFormat>().map_err(|()| no_format(&wanted.to))?;
    Ok(Command::Export(Export { path: None, query: wanted.query, dry_run: false, to }))
}

/// What is taken in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Given {
    /// The format; one that is a folder cannot be sent
    from: String,
    /// The file
    text: String,
    /// What it is called: taken in again under the same name, tasks are updated
    #[serde(default)]
    source: Option<String>,
    /// Only show what would come of it
    #[serde(default)]
    dry_run: bool,
    /// Overrule the leases of others
    #[serde(default)]
    force: bool,
}

fn import(_: &Parts, given: Given) -> Result<Asked, Problem> {
    let from = given.from.parse::<ImportFormat>().map_err(|()| no_format(&given.from))?;
    let Given { text, source, dry_run, force, .. } = given;
    let command = Import { path: "-".into(), from, dry_run, source, force };
    Ok(Asked::reading(Command::Import(command), text.into_bytes()))
}

fn no_format(word: &str) -> Problem {
    Problem::usage("bad_format", format!("`{}` is no format", word.escape_debug()))
}
