//! The list, its tasks and its graph, for clients that read them without a tool. Specified in `docs/formats/mcp.md`.

use rmcp::model::{ListResourcesResult, Resource, ResourceContents, ResourceTemplate};
use taskyard::core::render::{escaping, graph};
use taskyard::core::tools::{inbox_read, task_get, task_list};
use taskyard::core::{Task, TaskId};
use taskyard::operations::Filter;
use taskyard::store::UnreadableTask;
use taskyard::{Error, Outcome, Yard};

/// The list as text.
pub(crate) const LIST: &str = "taskyard://list";
/// What waits for what, as a Mermaid diagram.
pub(crate) const GRAPH: &str = "taskyard://graph";
/// The messages for the agent that the server was started for.
pub(crate) const INBOX: &str = "taskyard://inbox";
/// What waits for the caller: which of its jobs have ended.
pub(crate) const NOTIFICATIONS: &str = "taskyard://notifications";
/// One task as text: its id follows.
const TASK: &str = "taskyard://task/";
/// The maximum length of a task id in bytes, which is that of a file name.
const LONGEST_ID: usize = 255;

/// So many tasks are on one page.
const PAGE: usize = 500;

/// Returns the address of a task.
pub(crate) fn task_uri(task: &TaskId) -> String {
    format!("{TASK}{task}")
}

/// Tells whether an address can be one of ours, whether or not there is such a task now.
pub(crate) fn is_ours(uri: &str) -> bool {
    let is_task = |task: &str| (1..=LONGEST_ID).contains(&task.len());
    [LIST, GRAPH, INBOX, NOTIFICATIONS].contains(&uri) || uri.strip_prefix(TASK).is_some_and(is_task)
}

/// Returns a page of what there is to read: the list, its graph and the notifications first, then every task.
pub(crate) fn page(yard: &Yard, from: usize) -> Result<ListResourcesResult, Error> {
    let tasks = yard.list(&Filter::default())?.tasks;
    let mut resources = Vec::new();
    if from == 0 {
        resources.push(
            Resource::new(LIST, "list")
                .with_title(format!("Task list {}", yard.list_id()))
                .with_description("Every task: id, status, subject, owner, open blockers")
                .with_mime_type("text/plain"),
        );
        resources.push(
            Resource::new(GRAPH, "graph")
                .with_title("Task graph")
                .with_description("What waits for what, as a Mermaid diagram")
                .with_mime_type("text/vnd.mermaid"),
        );
        resources.push(
            Resource::new(NOTIFICATIONS, "notifications")
                .with_title("Notifications")
                .with_description("Which of your background commands have ended")
                .with_mime_type("text/plain"),
        );
    }
    if from == 0 && yard.teams().is_some_and(|teams| teams.only_seat(yard.actor()).is_ok_and(|seat| seat.is_some())) {
        resources.push(
            Resource::new(INBOX, "inbox")
                .with_title("Inbox")
                .with_description("The messages your team wrote to you and you have not acknowledged")
                .with_mime_type("text/plain"),
        );
    }
    resources.extend(tasks.iter().skip(from).take(PAGE).map(resource));
    let next = from.saturating_add(PAGE);
    let next_cursor = (next < tasks.len()).then(|| next.to_string());
    Ok(ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) })
}

fn resource(task: &Task) -> Resource {
    Resource::new(task_uri(&task.id), format!("task {}", task.id))
        .with_title(format!("#{} {}", task.id, escaping::one_line(&task.shown_subject())))
        .with_mime_type("text/plain")
}

/// Returns the template of the addresses of tasks.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{TASK}{{id}}"), "task")
        .with_title("A task")
        .with_description("One task in full: its text, what it waits for, what waits for it")
        .with_mime_type("text/plain")
}

/// Reads what an address names; none where there is no such thing.
pub(crate) fn read(yard: &Yard, uri: &str) -> Result<Option<ResourceContents>, Error> {
    let (text, kind) = match uri {
        LIST => {
            let everything = Filter { internal: true, ..Filter::default() };
            let listing = yard.list(&everything)?;
            let unreadable: Vec<String> = listing.problems.iter().map(UnreadableTask::file).collect();
            let (list, gone) = (yard.list_id(), listing.gone.as_ref());
            (task_list::listed(list, listing.tasks, gone, &unreadable, yard.rules()).text, "text/plain")
        }
        INBOX => {
            let Some(teams) = yard.teams() else { return Ok(None) };
            let Some(seat) = teams.only_seat(yard.actor())? else { return Ok(None) };
            (inbox_read::shown(&teams.look_into(&seat)?.deliveries, 0).text, "text/plain")
        }
        GRAPH => (graph::mermaid(&yard.graph()?.tasks, yard.rules()), "text/vnd.mermaid"),
        uri => {
            let Some(id) = uri.strip_prefix(TASK).filter(|id| !id.is_empty()) else { return Ok(None) };
            match yard.show(&TaskId::stored(id))? {
                Outcome::Done(shown) => {
                    let last_known =
                        |problem: &UnreadableTask| task_get::last_known(&problem.file(), &problem.why.to_string());
                    let why = shown.problem.as_ref().map(last_known).unwrap_or_default();
                    (format!("{}{why}", task_get::found(&shown.task, yard.rules()).text), "text/plain")
                }
                Outcome::Refused(_) => return Ok(None),
            }
        }
    };
    Ok(Some(ResourceContents::text(text, uri).with_mime_type(kind)))
}

/// Returns what waits for the caller as a resource.
pub(crate) fn notifications(text: Option<String>) -> ResourceContents {
    let text = text.unwrap_or_else(|| "No notifications".to_owned());
    ResourceContents::text(text, NOTIFICATIONS).with_mime_type("text/plain")
}
