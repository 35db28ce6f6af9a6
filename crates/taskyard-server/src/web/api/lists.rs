//! Operations on lists as a whole.

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::Yard;
use taskyard::answers::{found, graph, ignored_setting, list_summary, merged, shared_list, stats, unknown_settings};
use taskyard::core::answers::list_answers::OtherTeam;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::rules::agents::is_same_agent;
use taskyard::core::rules::lists::Reason;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::view::AgentRow;
use taskyard::core::{ListId, answers, render};
use taskyard::operations::{Checkup, Filter, KnownList, KnownPast, MergeWhich, Query};
use taskyard::store::HistoryQuery;
use taskyard::teams::Seat;

use super::operation::{Asked, Operation, Parts, Reply};
use crate::tokens::Scope;
use crate::web::call::Call;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get::<answers::list_answers::Lists<'_>>("listLists", "/lists", "The lists of the store").with(lists),
        Operation::get::<answers::list_answers::ListShown<'_>>(
            "showList",
            "/lists/{list}",
            "One list, with its counts and progress",
        )
        .runs(list),
        Operation::get::<answers::list_answers::Agents<'_>>(
            "listAgents",
            "/lists/{list}/agents",
            "The agents of a list and the tasks they hold",
        )
        .runs(agents),
        Operation::get::<answers::list_answers::AgentShown<'_>>(
            "showAgent",
            "/lists/{list}/agents/{agent}",
            "One agent of a list",
        )
        .runs(agent),
        Operation::get::<answers::list_answers::Where<'_>>(
            "showServer",
            "/where",
            "The list and the store that are served",
        )
        .runs(where_is),
        Operation::get::<answers::list_answers::Whoami<'_>>("whoami", "/whoami", "The name the caller acts under")
            .runs(whoami),
        Operation::get::<answers::list_answers::Stats<'_>>("showStats", "/lists/{list}/stats", "Statistics of a list")
            .runs(show_stats),
        Operation::get::<answers::task_answers::Ready<'_>>(
            "listReady",
            "/lists/{list}/ready",
            "The ready tasks, best first, with the reasons",
        )
        .with(ready),
        Operation::get::<answers::task_answers::Found<'_>>(
            "searchList",
            "/lists/{list}/search",
            "Full-text search over all fields",
        )
        .with(search),
        Operation::get::<answers::task_answers::Found<'_>>(
            "searchEverywhere",
            "/search",
            "Full-text search over all lists",
        )
        .with(search_all),
        Operation::get::<answers::task_answers::Graph<'_>>("showGraph", "/lists/{list}/graph", "The dependency graph")
            .with(show_graph),
        Operation::file(
            "drawGraph",
            "/lists/{list}/graph.svg",
            "The dependency graph as a picture",
            ("graph", "image/svg+xml"),
        )
        .runs(picture),
        Operation::post::<answers::task_answers::Cleared<'_>>(
            "clearList",
            "/lists/{list}/clear",
            "Remove every task of a list",
        )
        .only_for(Scope::All)
        .with(clear),
        Operation::post::<answers::list_answers::Merged<'_>>(
            "mergeLists",
            "/lists/{list}/merge",
            "Move the tasks of another list here",
        )
        .only_for(Scope::All)
        .with(merge),
        Operation::post::<answers::list_answers::ListRenamed<'_>>(
            "renameList",
            "/lists/{list}/rename",
            "Rename a list; the directories that use it follow",
        )
        .only_for(Scope::All)
        .with(rename),
        Operation::delete::<answers::list_answers::ListRemoved<'_>>(
            "removeList",
            "/lists/{list}",
            "Remove a list; its tasks stay in the journal",
        )
        .only_for(Scope::All)
        .with(remove),
        Operation::get::<answers::maintenance_answers::Findings>(
            "examineList",
            "/lists/{list}/doctor",
            "Examine a list for defects",
        )
        .runs(examine),
        Operation::post::<answers::maintenance_answers::Mended>(
            "mendList",
            "/lists/{list}/doctor",
            "Repair what can be repaired",
        )
        .only_for(Scope::All)
        .or::<answers::maintenance_answers::Findings>()
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

fn lists(_: &Parts, wanted: HowMany) -> Result<Asked, Problem> {
    if wanted.limit == Some(0) {
        return Err(Problem::usage("bad_input", "`limit` must be at least 1"));
    }
    let after = wanted.after.map(ListId::new).transpose()?;
    Ok(Asked::to(move |call| {
        let limit = wanted.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let (lists, has_more) = call.yard.some_lists(after.as_ref(), limit)?;
        let names = call.list_names()?;
        let name = |known: &KnownList| names.get(known.info.list.directory()).map(String::as_str);
        Reply::of(answers::list_answers::Lists {
            lists: lists.iter().map(|known| list_summary(known, call.yard.list_id(), name(known))).collect(),
            more: (wanted.limit.is_some() || after.is_some()).then_some(has_more),
        })
    }))
}

fn list(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| {
        let yard = &call.yard;
        let listing = yard.list(&Filter { limit: Some(0), ..Filter::default() })?;
        if !listing.exists && listing.gone.is_none() {
            return Err(Refusal::NoSuchList { list: yard.list_id().to_string() }.into());
        }
        let path = call.served.address.path_of_list(yard.list_id(), &call.served.places);
        let newest = yard.history(&HistoryQuery { newest: Some(1), ..HistoryQuery::default() })?;
        Reply::of(answers::list_answers::ListShown {
            list: yard.list_id().as_str(),
            path: path.map(|path| path.display().to_string()),
            counts: listing.counts.into(),
            revision: listing.revision.0,
            changed: newest.last().map(|entry| entry.at.to_string()),
            gone: listing.gone.as_ref().map(Into::into),
        })
    }))
}

fn rows(yard: &Yard) -> Result<Vec<AgentRow>, Problem> {
    let listing = yard.list(&Filter { internal: true, ..Filter::default() })?;
    Ok(yard.agents_on(&listing.tasks, &listing.leases, usize::MAX))
}

fn agents(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| {
        Reply::of(answers::list_answers::Agents { agents: rows(&call.yard)?.iter().map(Into::into).collect() })
    }))
}

fn agent(parts: &Parts) -> Result<Asked, Problem> {
    let name = parts.agent()?;
    Ok(Asked::to(move |call| {
        let rows = rows(&call.yard)?;
        let found = rows.iter().find(|row| is_same_agent(&row.name, name.as_str()));
        let row = found.ok_or_else(|| {
            let message = format!("list {} has no agent `{name}`", call.yard.list_id());
            Problem::new(ProblemKind::NotFound, "agent_not_found", message)
                .hint("an agent belongs to a list while it holds a task or is a member of its team")
                .detail("agent", name.as_str())
        })?;
        Reply::of(answers::list_answers::AgentShown { agent: row.into() })
    }))
}

fn whoami(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| {
        let agent = call.yard.actor().as_str();
        Reply::of(answers::list_answers::Whoami { agent, source: call.source, person: call.is_person })
    }))
}

fn where_is(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| {
        let (served, list) = (&call.served, call.yard.list_id());
        let path = served.address.path_of_list(list, &served.places);
        let other_teams = other_teams(call)?;
        Reply::of(answers::list_answers::Where {
            list: list.as_str(),
            store: served.address.to_string(),
            reason: Reason::Flag.words(),
            directory_list: served.directory_list.as_ref().map(ListId::as_str),
            directories: call.directories()?.iter().map(|path| path.display().to_string()).collect(),
            path: path.map(|path| path.display().to_string()),
            data: served.data().map(|data| data.display().to_string()),
            agent: call.yard.actor().as_str(),
            other_teams: other_teams
                .iter()
                .map(|(team, list, joined)| OtherTeam { team, list: list.as_str(), joined_in: joined.as_deref() })
                .collect(),
            ignored: served.ignored.iter().map(ignored_setting).collect(),
            name: call.list_names()?.remove(list.directory()),
        })
    }))
}

/// Returns the caller's teams whose list is not the one served: name, list, and the directory in which it joined.
fn other_teams(call: &Call) -> Result<Vec<(String, ListId, Option<String>)>, Problem> {
    let (Ok(teams), Some(agent)) = (call.teams(), call.named_agent()) else { return Ok(Vec::new()) };
    let of_seat = |seat: Seat| {
        let list = teams.list_of(&seat.team.name).ok().filter(|list| list != call.yard.list_id())?;
        Some((seat.team.name.to_string(), list, seat.member().and_then(|member| member.cwd.clone())))
    };
    Ok(teams.seats_of(agent)?.into_iter().filter_map(of_seat).collect())
}

fn show_stats(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| {
        let counted = call.yard.stats()?;
        let spent = call.yard.past(&mut KnownPast::default())?.time_spent();
        // Changes in a newer Taskyard's journal are unknown rather than absent.
        let is_known = call.yard.store().care().is_none_or(|care| care.newer_journals().is_empty());
        Reply::of(stats(&counted, &spent, is_known))
    }))
}

/// How many of those that are ready.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Best {
    /// At most this many
    #[schemars(range(max = 1_000_000))]
    limit: Option<usize>,
}

fn ready(_: &Parts, wanted: Best) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| Reply::of(answers::task_answers::Ready::from(&call.yard.ready(wanted.limit)?))))
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

fn search(_: &Parts, sought: Sought) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let query = words(&sought, call)?;
        let hits: Vec<_> = call.yard.search(&query, sought.all)?.into_iter().map(|hit| (None, hit)).collect();
        let gone = if hits.is_empty() { call.yard.gone()? } else { None };
        Reply::of(found(&hits, gone.as_ref()))
    }))
}

fn search_all(_: &Parts, sought: Sought) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let hits = call.yard.search_everywhere(&words(&sought, call)?, sought.all)?;
        let hits: Vec<_> = hits.into_iter().map(|(list, hit)| (Some(list), hit)).collect();
        Reply::of(found(&hits, None))
    }))
}

fn words(sought: &Sought, call: &Call) -> Result<Query, Problem> {
    let query = call.query_of_words(&sought.query)?;
    match query.is_empty() {
        true => Err(Problem::usage("no_words", "the search text is empty")),
        false => Ok(query),
    }
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

fn show_graph(_: &Parts, picture: Picture) -> Result<Asked, Problem> {
    Ok(drawn_as(picture.format))
}

fn picture(_: &Parts) -> Result<Asked, Problem> {
    Ok(drawn_as(Drawn::Svg))
}

fn drawn_as(format: Drawn) -> Asked {
    Asked::to(move |call| {
        let (found, rules) = (call.yard.graph()?, call.yard.rules());
        let picture = match format {
            Drawn::None => None,
            Drawn::Mermaid => Some(render::graph::mermaid(&found.tasks, rules)),
            Drawn::Dot => Some(render::graph::dot(&found.tasks, rules)),
            Drawn::Svg => Some(render::graph::svg(&found.tasks, rules)),
        };
        Reply::of(graph(&found, picture))
    })
}

/// Whether leases are overruled.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Clearing {
    /// Overrule the leases of others
    force: bool,
}

fn clear(_: &Parts, clearing: Clearing) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let cleared = call.proving(None, clearing.force).clear()?.done()?;
        Reply::of(answers::task_answers::Cleared::from(&cleared))
    }))
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

fn merge(_: &Parts, merging: Merging) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let (from, into) = (call.list_named(&merging.from)?, call.yard.list_id());
        let which = if merging.open { MergeWhich::Open } else { MergeWhich::All };
        let moved = call.proving(None, merging.force).merge(&from, into, which)?.done()?;
        Reply::of(merged(&moved, &from, into))
    }))
}

/// A new name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Renaming {
    /// A name that no list has
    to: String,
    /// Also while agents work on its tasks
    #[serde(default)]
    force: bool,
}

fn rename(_: &Parts, renaming: Renaming) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let from = call.yard.list_id();
        let to = call.list_named(&renaming.to)?;
        refuse_if_used(call, renaming.force)?;
        if has_branches(call)? {
            return Err(Problem::new(
                ProblemKind::Refused,
                "list_in_use",
                format!("list {from} has lists of branches"),
            )
            .hint("rename them together with `taskyard lists rename`"));
        }
        let tasks = call.proving(None, renaming.force).rename_list(from, &to)?.done()?.len();
        let directories = call.rename_uses(from, &to)?;
        let left = removed_place(call)?;
        Reply::of(answers::list_answers::ListRenamed {
            from: from.as_str(),
            list: to.as_str(),
            tasks,
            directories,
            branches: Vec::new(),
            left: left.iter().map(String::as_str).collect(),
        })
    }))
}

/// Whether a list goes that is in use.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Removing {
    /// Also if agents work on its tasks or a directory uses it
    force: bool,
}

fn remove(_: &Parts, removing: Removing) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let list = call.yard.list_id();
        if !call.yard.store().has(list)? {
            return Err(Refusal::NoSuchList { list: list.to_string() }.into());
        }
        refuse_if_used(call, removing.force)?;
        if let Some(directory) = call.directories()?.first().filter(|_| !removing.force) {
            return Err(in_use(list, &format!("`{}` uses it", directory.display())));
        }
        let cleared = call.proving(None, removing.force).clear()?.done()?;
        let left = removed_place(call)?;
        let revision = cleared.revision.map(|revision| revision.0);
        Reply::of(answers::list_answers::ListRemoved {
            list: list.as_str(),
            tasks: cleared.tasks.len(),
            revision,
            left: &left,
        })
    }))
}

/// Refuses to remove or rename a list that a team, a job or an active agent uses.
fn refuse_if_used(call: &Call, force: bool) -> Result<(), Problem> {
    let (yard, list) = (&call.yard, call.yard.list_id());
    if let Some(team) = yard.teams().map(|teams| teams.team_of(list)).transpose()?.flatten() {
        return Err(in_use(list, &format!("it is the list of team {}", team.name)));
    }
    if let Some(job) = call.shared_jobs().of_list(list)?.into_iter().find(|job| !job.state().is_over()) {
        return Err(in_use(list, &format!("job {} runs on it", job.id)));
    }
    match yard.live_leases()?.first().filter(|_| !force) {
        Some(lease) => Err(in_use(list, &format!("{} works on #{}", lease.agent, lease.task))),
        None => Ok(()),
    }
}

fn in_use(list: &ListId, why: &str) -> Problem {
    Problem::new(ProblemKind::Refused, "list_in_use", format!("list {list} is in use: {why}"))
        .detail("list", list.as_str())
}

/// Returns whether the list has lists of branches, whose names begin with its own.
fn has_branches(call: &Call) -> Result<bool, Problem> {
    let start = format!("{}@", call.yard.list_id());
    Ok(call.yard.store().list_names()?.iter().any(|list| list.as_str().starts_with(&start)))
}

/// Removes the directory of the list, which has no tasks left. Returns what other files are in it.
fn removed_place(call: &Call) -> Result<Vec<String>, Problem> {
    let care = call.yard.store().care();
    Ok(care.map(|care| care.remove_empty_place(call.yard.list_id())).transpose()?.unwrap_or_default())
}

fn examine(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| check(call, false)))
}

fn mend(_: &Parts) -> Result<Asked, Problem> {
    Ok(Asked::to(|call| check(call, true)))
}

/// Checks the list, and repairs it if `mends` is set.
fn check(call: &Call, mends: bool) -> Result<Reply, Problem> {
    let (config, jobs) = (&call.served.config, call.jobs());
    let mut checkup = Checkup::of(&call.yard).with_jobs(&jobs);
    if let Ok(teams) = call.teams() {
        checkup = checkup.with_teams(teams);
    }
    if let Some(silence) = config.stale_owner() {
        checkup = checkup.with_owner_silence(silence);
    }
    let doubt = call.household().and_then(|household| household.clock_doubt());
    let checkup = checkup.with_journal_limit(config.max_size()).with_clock_doubt(doubt);
    let findings = checkup.examine()?;
    let around = unknown_settings(config).into_iter().chain(shared_list(call.yard.list_id(), &call.repositories()?));
    if !mends || findings.iter().all(|finding| finding.fix.is_none()) {
        let findings = findings.iter().map(Into::into).chain(around).collect();
        return Reply::of(answers::maintenance_answers::Findings { findings });
    }
    let mended = checkup.mend(&findings)?;
    Reply::of(answers::maintenance_answers::Mended {
        findings: mended.left.iter().map(Into::into).chain(around).collect(),
        fixed: mended.fixed.iter().map(Into::into).collect(),
        revision: mended.revision.map(|revision| revision.0),
    })
}
