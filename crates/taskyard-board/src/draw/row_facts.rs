//! What the board knows of a task that is drawn.

use taskyard::core::render::Tone;
use taskyard::core::rules::graph::parts::Progress;
use taskyard::core::view::RowFacts;
use taskyard::core::{Status, Task, TaskId};

use crate::app::App;

/// Calls `with` with what the board knows of a task.
pub(super) fn with_facts<T>(
    app: &App,
    task: &Task,
    (parts, is_folded): (Option<Progress>, bool),
    with: impl FnOnce(&RowFacts<'_>) -> T,
) -> Option<T> {
    let watched = app.watched.as_ref()?;
    let blockers: Vec<TaskId> = if task.status.is_open() { watched.live().open_blockers(&task.id) } else { Vec::new() };
    let lease = app.lease(&task.id).filter(|(_, state)| state.is_alive());
    let facts = RowFacts {
        task,
        blockers: &blockers,
        parts,
        is_folded,
        need: app.need_of(&task.id),
        since: lease.map(|(lease, _)| lease.taken),
        owner_tone: task.owner().map_or(Tone::Owner, |owner| owner_tone(app, owner)),
        spinner: if task.status == Status::InProgress { app.spinner() } else { "" },
    };
    Some(with(&facts))
}

/// Returns the colour of an agent, where a team gives it one.
pub(super) fn owner_tone(app: &App, name: &str) -> Tone {
    let member = app.team.iter().flat_map(|team| &team.members).find(|shown| shown.member.name == name);
    Tone::member(member.and_then(|shown| shown.member.colour()))
}
