//! Lists, and what can be said of one as a whole.

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::core::{ListId, answers};

use super::operation::{Operation, Parts};
use crate::commands::{
    Clear, Command, Doctor, Graph, GraphFormat, Lists, Merge, Ready, Resource, Search, Stats, Where, Whoami,
};
use crate::problem::Problem;
use crate::tokens::Scope;

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::lists::Lists<'_>>("listLists", "/lists", "The lists of the store").with(lists),
        Operation::get::<answers::lists::ListShown<'_>>(
            "showList",
            "/lists/{list}",
            "One list: how many tasks it has, how far it is",
        )
        .runs(list),
        Operation::get::<answers::lists::Agents<'_>>(
            "listAgents",
            "/lists/{list}/agents",
            "The agents of a list and what they hold",
        )
        .runs(agents),
        Operation::get::<answers::lists::AgentShown<'_>>(
            "showAgent",
            "/lists/{list}/agents/{agent}",
            "One agent of a list",
        )
        .runs(agent),
        Operation::get::<answers::lists::Where<'_>>("showServer", "/where", "The list and the store that are served")
            .runs(where_is),
        Operation::get::<answers::lists::Whoami<'_>>("whoami", "/whoami", "As whom the caller acts").runs(whoami),
        Operation::get::<answers::lists::Stats<'_>>(
            "showStats",
            "/lists/{list}/stats",
            "How a list stands, in numbers",
        )
        .runs(stats),
        Operation::get::<answers::tasks::Ready<'_>>(
            "listReady",
            "/lists/{list}/ready",
            "What can start now, best first, with why",
        )
        .with(ready),
        Operation::get::<answers::tasks::Found<'_>>("searchList", "/lists/{list}/search", "Full text over all fields")
            .with(search),
        Operation::get::<answers::tasks::Found<'_>>("searchEverywhere", "/search", "Full text over all lists")
            .with(search_all),
        Operation::get::<answers::tasks::Graph<'_>>("showGraph", "/lists/{list}/graph", "What waits for what")
            .with(graph),
        Operation::file("drawGraph", "/lists/{list}/graph.svg", "The same as a picture", ("graph", "image/svg+xml"))
            .runs(picture),
        Operation::post::<answers::tasks::Cleared<'_>>(
            "clearList",
            "/lists/{list}/clear",
            "Remove every task of a list",
        )
        .only_for(Scope::All)
        .with(clear),
        Operation::post::<answers::lists::Merged<'_>>(
            "mergeLists",
            "/lists/{list}/merge",
            "Move the tasks of another list here",
        )
        .only_for(Scope::All)
        .with(merge),
        Operation::get::<answers::maintenance::Findings>(
            "examineList",
            "/lists/{list}/doctor",
            "What is wrong with a list",
        )
        .runs(examine),
        Operation::post::<answers::maintenance::Mended>("mendList", "/lists/{list}/doctor", "Mend what can be mended")
            .only_for(Scope::All)
            .or::<answers::maintenance::Findings>()
            .runs(mend),
    ]
}

/// How many lists.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct HowMany {
    /// At most this many
    #[schemars(range(min = 1))]
    limit: Option<u32>,
    /// Only lists after this name, which is the last one of an answer with `more`
    after: Option<String>,
}

fn lists(_: &Parts, wanted: HowMany) -> Result<Command, Problem> {
    if wanted.limit == Some(0) {
        return Err(Problem::usage("bad_input", "`limit` is 1 at least"));
    }
    let after = wanted.after.map(ListId::new).transpose()?;
    Ok(Command::Lists(Lists { action: None, limit: wanted.limit, after }))
}

fn list(_: &Parts) -> Result<Command, Problem> {
    Ok(Command::Resource(Resource::List))
}

fn agents(_: &Parts) -> Result<Command, Problem> {
    Ok(Command::Resource(Resource::Agents))
}

fn agent(parts: &Parts) -> Result<Command, Problem> {
    Ok(Command::Resource(Resource::Agent(parts.agent()?)))
}

fn whoami(_: &Parts) -> Result<Command, Problem> {
    Ok(Command::Whoami(Whoami {}))
}

fn where_is(_: &Parts) -> Result<Command, Problem> {
    Ok(Command::Where(Where {}))
}

fn stats(_: &Parts) -> Result<Command, Problem> {
    Ok(Command::Stats(Stats {}))
}

/// How many of those that are ready.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Best {
    /// At most this many
    #[schemars(range(max = 1_000_000))]
    limit: Option<usize>,
}

fn ready(_: &Parts, wanted: Best) -> Result<Command, Problem> {
    Ok(Command::Ready(Ready { number: wanted.limit }))
}

/// What is searched for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Sought {
    /// Words, and the query language
    query: String,
    /// Among internal tasks, too
    #[serde(default)]
    all: bool,
}

fn search(_: &Parts, sought: Sought) -> Result<Command, Problem> {
    Ok(Command::Search(Search { query: vec![sought.query], everywhere: false, all: sought.all }))
}

fn search_all(_: &Parts, sought: Sought) -> Result<Command, Problem> {
    Ok(Command::Search(Search { query: vec![sought.query], everywhere: true, all: sought.all }))
}

/// As what the graph is drawn besides.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Drawn {
    #[default]
    None,
    Mermaid,
    Dot,
    Svg,
}

/// How the graph is wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Picture {
    /// As what it is drawn besides
    format: Drawn,
}

fn graph(_: &Parts, picture: Picture) -> Result<Command, Problem> {
    let format = match picture.format {
        Drawn::None => GraphFormat::Text,
        Drawn::Mermaid => GraphFormat::Mermaid,
        Drawn::Dot => GraphFormat::Dot,
        Drawn::Svg => GraphFormat::Svg,
    };
    Ok(Command::Graph(Graph { format }))
}

fn picture(_: &Parts) -> Result<Command, Problem> {
    Ok(Command::Graph(Graph { format: GraphFormat::Svg }))
}

/// Whether leases are overruled.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Clearing {
    /// Overrule the leases of others
    force: bool,
}

fn clear(_: &Parts, clearing: Clearing) -> Result<Command, Problem> {
    Ok(Command::Clear(Clear { force: clearing.force }))
}

/// What is moved here.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Merging {
    /// The other list
    from: String,
    /// Only open tasks
    #[serde(default)]
    open: bool,
    #[serde(default)]
    force: bool,
}

fn merge(parts: &Parts, merging: Merging) -> Result<Command, Problem> {
    let into = parts.text("list").to_owned();
    Ok(Command::Merge(Merge { from: merging.from, into, open: merging.open, force: merging.force }))
}

fn examine(_: &Parts) -> Result<Command, Problem> {
    Ok(Command::Doctor(Doctor { fix: false, yes: false, lint: false }))
}

fn mend(_: &Parts) -> Result<Command, Problem> {
    Ok(Command::Doctor(Doctor { fix: true, yes: true, lint: false }))
}
