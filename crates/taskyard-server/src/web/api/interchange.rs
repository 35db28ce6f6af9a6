//! Operations that import and export other formats.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::answers::{exported, imported};
use taskyard::core::answers;
use taskyard::core::dialect::foreign::{ExportFormat, ImportFormat};
use taskyard::core::problem::Problem;
use taskyard::interchange::read_bytes;
use taskyard::operations::Source;

use super::operation::{Asked, Operation, Parts, Reply};
use crate::tokens::Scope;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::list_answers::Exported<'_>>(
            "exportTasks",
            "/lists/{list}/export",
            "Export tasks in another format",
        )
        .with(export),
        Operation::post::<answers::list_answers::Imported<'_>>(
            "importTasks",
            "/lists/{list}/import",
            "Import tasks from another format",
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

fn export(_: &Parts, wanted: Wanted) -> Result<Asked, Problem> {
    let to = wanted.to.parse::<ExportFormat>().map_err(|()| no_format(&wanted.to))?;
    if to.is_folder() {
        return Err(Problem::usage("no_path", format!("{to} is a folder format and cannot be sent")));
    }
    Ok(Asked::to(move |call| {
        let written = call.yard.export(to, &call.query(wanted.query.as_deref())?)?;
        Reply::of(exported(&written, to, None, false))
    }))
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
    if from.is_folder() {
        return Err(Problem::usage("no_path", format!("{from} is a folder format and cannot be sent")));
    }
    let source = Source { format: from, name: given.source.unwrap_or_else(|| NO_NAME.to_owned()) };
    Ok(Asked::to(move |call| {
        let read = read_bytes(given.text.as_bytes(), Path::new(NO_NAME), from)?;
        let yard = call.proving(None, given.force);
        let report = if given.dry_run { yard.preview_import(&read, &source) } else { yard.import(&read, &source) };
        Reply::of(imported(&report?.done()?, &read, &source, given.dry_run))
    }))
}

/// The name of a source that was given none, as for stdin.
const NO_NAME: &str = "-";

fn no_format(word: &str) -> Problem {
    Problem::usage("bad_format", format!("unknown format `{}`", word.escape_debug()))
}
