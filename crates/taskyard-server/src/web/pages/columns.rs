//! A list as columns by status, optionally with a lane for each owner, parent, tag or priority.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use maud::{Markup, html};
use taskyard::core::{Priority, Status, Task, TaskId};

use super::card::{card, parts_bar};
use super::lists;
use super::page_address::{PageAddress, View};
use super::seen::Seen;
use super::texts::{agent, one_line};

/// Maximum number of cards in a column; the others are on the list page.
const CARDS: usize = 40;
/// The maximum number of cards in a column of a lane.
const LANE_CARDS: usize = 12;
/// The maximum number of completed tasks, the newest.
const DONE: usize = 12;
/// The maximum number of them in a lane.
const LANE_DONE: usize = 4;
/// The maximum number of lanes.
const LANES: usize = 12;

pub(super) fn view(seen: &Seen) -> Markup {
    if seen.survey.tasks.is_empty() {
        return lists::nothing_here(seen);
    }
    let tasks: Vec<&Task> = seen.shown().collect();
    match lanes(seen, &tasks) {
        None => columns(seen, &Lane { name: None, tasks }),
        Some(lanes) => {
            let left_out = lanes.len().saturating_sub(LANES);
            html! {
                @for (number, lane) in lanes.iter().take(LANES).enumerate() {
                    section.lane aria-labelledby={ "lane-" (number) } {
                        h2 id={ "lane-" (number) } {
                            @match &lane.name {
                                Some(Name { field: "owner", value, .. }) if !value.is_empty() => (agent(value, seen.colour(value))),
                                Some(Name { words, .. }) => (one_line(words)),
                                None => {},
                            }
                            " " span.count { (lane.tasks.iter().filter(|task| task.status.is_open()).count()) " open" }
                        }
                        (columns(seen, lane))
                    }
                }
                @if left_out > 0 { p.more { (left_out) " more lanes: use a filter to show fewer" } }
            }
        }
    }
}

/// The tasks of one lane.
struct Lane<'a> {
    /// What they have in common; `None` if there is only one lane.
    name: Option<Name>,
    tasks: Vec<&'a Task>,
}

struct Name {
    field: &'static str,
    /// The value; empty for tasks without one.
    value: String,
    words: String,
}

/// Returns the lanes of the tasks shown, those with the most open tasks first; `None` if they are not grouped.
fn lanes<'a>(seen: &Seen, tasks: &[&'a Task]) -> Option<Vec<Lane<'a>>> {
    let field = ["owner", "parent", "tag", "priority"].into_iter().find(|field| *field == seen.address.group)?;
    let mut by_value: BTreeMap<String, Vec<&Task>> = BTreeMap::new();
    for task in tasks {
        let values: Vec<String> = match field {
            "owner" => task.owner().map(str::to_owned).into_iter().collect(),
            "parent" => task.parent().map(|parent| parent.to_string()).into_iter().collect(),
            "tag" => task.tags().map(str::to_owned).collect(),
            _ => task.stated_priority().map(|priority| priority.to_string()).into_iter().collect(),
        };
        let values = if values.is_empty() { vec![String::new()] } else { values };
        values.into_iter().for_each(|value| by_value.entry(value).or_default().push(task));
    }
    let words = |value: &str| match (field, value) {
        ("owner", "") => "Nobody".to_owned(),
        ("parent", "") => "No parent".to_owned(),
        ("tag", "") => "No tag".to_owned(),
        (_, "") => "No priority".to_owned(),
        ("parent", id) => {
            let parent = seen.task(&TaskId::stored(id));
            parent.map_or_else(|| format!("#{id}"), |parent| format!("#{id} {}", Seen::title(parent)))
        }
        (_, value) => value.to_owned(),
    };
    let mut lanes: Vec<Lane<'_>> = by_value
        .into_iter()
        .map(|(value, tasks)| Lane { name: Some(Name { field, words: words(&value), value }), tasks })
        .collect();
    let rank = |lane: &Lane<'_>| match lane.name.as_ref().map(|name| (name.field, name.value.as_str())) {
        Some((_, "")) => 4,
        Some(("priority", "high")) => 0,
        Some(("priority", "medium")) => 1,
        Some(("priority", _)) => 2,
        _ => 0,
    };
    let open = |lane: &Lane<'_>| lane.tasks.iter().filter(|task| task.status.is_open()).count();
    lanes.sort_by_key(|lane| (rank(lane), Reverse(open(lane))));
    Some(lanes)
}

fn columns(seen: &Seen, lane: &Lane<'_>) -> Markup {
    let of =
        |status: Status| -> Vec<&Task> { lane.tasks.iter().copied().filter(|task| task.status == status).collect() };
    let (mut ready, waiting): (Vec<&Task>, Vec<&Task>) =
        of(Status::Pending).into_iter().partition(|task| seen.blockers(task).is_empty());
    let mut done = of(Status::Completed);
    if seen.address.sort.is_empty() {
        // What comes next is first: tasks that need a person, then urgent ones.
        ready.sort_by_key(|task| (seen.need(task).is_none(), task.is_deferred(seen.now()), Reverse(priority(task))));
        done.reverse();
    }
    let most = if lane.name.is_some() { LANE_CARDS } else { CARDS };
    let done_most = match lane.name {
        Some(_) => LANE_DONE,
        None if seen.survey.chosen.is_some() => most,
        None => DONE,
    };
    // Fewer while the user types, since the selection changes with every letter: half of the rows of a table in each group.
    let few = seen.address.rows.map(|rows| rows.div_ceil(2));
    let (most, done_most) = few.map_or((most, done_most), |few| (most.min(few), done_most.min(few)));
    let in_progress = of(Status::InProgress);
    html! {
        div.columns data-lane=[lane.name.as_ref().map(|name| name.field)] data-value=[lane.name.as_ref().map(|name| &name.value)] {
            section.column data-status="pending" aria-label={ "Pending" (lane_words(lane)) } {
                (head(&lane.name, "pending", "◻", "Pending", ready.len() + waiting.len()))
                (cards(seen, lane, "ready", (&ready, most, "status:pending not blocked")))
                @if !waiting.is_empty() {
                    h3 { "Blocked " span.count { (waiting.len()) } }
                    (cards(seen, lane, "waiting", (&waiting, most, "status:pending blocked")))
                }
                @if seen.may_change() {
                    form.quick data-form="quick-add" {
                        input type="text" name="text" dir="auto" autocomplete="off" aria-label={ "New task" (lane_words(lane)) } placeholder="+ Add a task: Write docs +docs due:fri";
                    }
                }
            }
            section.column data-status="in_progress" aria-label={ "In progress" (lane_words(lane)) } {
                (head(&lane.name, "active", "◼", "In progress", in_progress.len()))
                (cards(seen, lane, "in_progress", (&in_progress, most, "status:in_progress")))
            }
            section.column data-status="completed" aria-label={ "Done" (lane_words(lane)) } {
                (head(&lane.name, "done", "✔", "Done", done.len()))
                (cards(seen, lane, "completed", (&done, done_most, "status:completed")))
            }
        }
    }
}

fn lane_words(lane: &Lane<'_>) -> String {
    lane.name.as_ref().map(|name| format!(" of {}", name.words)).unwrap_or_default()
}

fn head(lane: &Option<Name>, class: &str, sign: &str, words: &str, count: usize) -> Markup {
    let shown =
        html! { span class={ "mark " (class) } aria-hidden="true" { (sign) } " " (words) " " span.count { (count) } };
    html! { @if lane.is_some() { h3.head { (shown) } } @else { h2 { (shown) } } }
}

fn priority(task: &Task) -> Priority {
    task.priority()
}

/// An item of a column: a task, or a parent with the subtasks that are in this column.
enum Item<'a> {
    Card(&'a Task),
    Group(&'a Task, Vec<&'a Task>),
}

/// Groups subtasks below their parent. A parent with open subtasks is not work itself, so it has no card if a subtask
/// has one.
fn items<'a>(seen: &'a Seen, tasks: &[&'a Task]) -> Vec<Item<'a>> {
    let open_parts = |id: &TaskId| seen.survey.progress.get(id).is_some_and(|progress| progress.done < progress.total);
    let heads: HashSet<TaskId> = if seen.address.group == "parent" {
        HashSet::new()
    } else {
        seen.shown().filter(|task| task.status.is_open()).filter_map(Task::parent).filter(|id| open_parts(id)).collect()
    };
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut places: BTreeMap<TaskId, usize> = BTreeMap::new();
    for task in tasks {
        if task.status.is_open() && heads.contains(&task.id) {
            continue;
        }
        let head = task.parent().filter(|parent| task.status.is_open() && heads.contains(parent));
        match head.and_then(|parent| seen.task(&parent)) {
            None => items.push(Item::Card(task)),
            Some(parent) => {
                let place = *places.entry(parent.id.clone()).or_insert_with(|| {
                    items.push(Item::Group(parent, Vec::new()));
                    items.len() - 1
                });
                if let Item::Group(_, parts) = &mut items[place] {
                    parts.push(task);
                }
            }
        }
    }
    items
}

/// Returns the first items with at most this many cards in total.
fn first<'a>(items: Vec<Item<'a>>, most: usize) -> Vec<Item<'a>> {
    let mut room = most;
    let fits = |item: Item<'a>| match item {
        _ if room == 0 => None,
        Item::Card(_) => {
            room -= 1;
            Some(item)
        }
        Item::Group(parent, mut parts) => {
            parts.truncate(room);
            room -= parts.len();
            Some(Item::Group(parent, parts))
        }
    };
    items.into_iter().filter_map(fits).collect()
}

fn cards(seen: &Seen, lane: &Lane<'_>, name: &str, (tasks, most, query): (&[&Task], usize, &str)) -> Markup {
    let items = items(seen, tasks);
    let all: usize = items.iter().map(|item| if let Item::Group(_, parts) = item { parts.len() } else { 1 }).sum();
    let address = &seen.address;
    let query = if address.query.is_empty() { query.to_owned() } else { format!("({}) {query}", address.query) };
    let rest = PageAddress { query, ..address.at(address.list.clone(), View::Table) };
    let suffix = lane.name.as_ref().map(|name| format!("-{}", name.value)).unwrap_or_default();
    let in_lane = lane.name.is_some().then_some(suffix.as_str());
    html! {
        ul.cards id={ "cards-" (name) (suffix) } {
            @for item in &first(items, most) {
                @match item {
                    Item::Card(task) => (card(seen, task, in_lane, false)),
                    Item::Group(parent, parts) => {
                        li.group data-parent=(parent.id) id={ "group-" (name) "-" (parent.id) (suffix) } {
                            div.group-head data-task=(parent.id) data-status=(parent.status.as_str()) {
                                button.fold type="button" data-act="fold" aria-expanded="true" aria-label={ "Parts of #" (parent.id) } { "▾" }
                                span.id { "#" (parent.id) }
                                a.open dir="auto" href=(seen.href(&parent.id)) draggable="false" { (Seen::title(parent)) }
                                (parts_bar(seen, parent))
                            }
                            ul.cards id={ "parts-" (name) "-" (parent.id) (suffix) } { @for part in parts { (card(seen, part, in_lane, true)) } }
                        }
                    },
                }
            }
        }
        @if all > most { a.more href=(rest.href()) { (all - most) " more" } }
    }
}
