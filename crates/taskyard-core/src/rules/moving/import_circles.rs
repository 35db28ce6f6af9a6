//! Circles that an import would close through edges and parts together: what closes one is left out, and told.

use std::collections::HashMap;

use crate::dialect::foreign::Loss;
use crate::dialect::macf::set_parent;
use crate::rules::graph::circles::find_circle;
use crate::rules::graph::dependencies::Edge;
use crate::{Task, TaskId};

/// Takes the edges and parents away that close a circle through edges and parts together, and tells of each.
pub(crate) fn cut_circles(
    tasks: &[Task],
    after: &mut HashMap<TaskId, Task>,
    edges: &[Edge],
    mapping: &[(TaskId, TaskId)],
    losses: &mut Vec<Loss>,
) {
    let parts: Vec<TaskId> = mapping
        .iter()
        .map(|(_, id)| id)
        .filter(|id| after.get(id).is_some_and(|task| task.parent().is_some()))
        .cloned()
        .collect();
    if parts.is_empty() && tasks.iter().all(|task| task.parent().is_none()) {
        return;
    }
    loop {
        let stay = tasks.iter().filter(|task| !after.contains_key(&task.id));
        let all: Vec<Task> = stay.chain(after.values()).cloned().collect();
        let Some(circle) = find_circle(&all, edges, &parts) else { return };
        // The first step of the circle is a new one.
        let [first, second, ..] = &circle[..] else { return };
        let waits = after.get(first).is_some_and(|task| task.blocked_by.contains(second));
        let is_part = |part: &TaskId, of: &TaskId| after.get(part).and_then(Task::parent).as_ref() == Some(of);
        let way = circle.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(" -> ");
        let (of, what) = if waits {
            (first.clone(), format!("waiting for #{second} would close the circle {way}"))
        } else if is_part(first, second) {
            (first.clone(), format!("being a part of #{second} would close the circle {way}"))
        } else {
            (second.clone(), format!("being a part of #{first} would close the circle {way}"))
        };
        let Some(task) = after.get_mut(&of) else { return };
        match waits {
            true => task.blocked_by.retain(|id| id != second),
            false => set_parent(task, None),
        }
        if waits && let Some(blocker) = after.get_mut(second) {
            blocker.blocks.retain(|id| *id != of);
        }
        let source = mapping.iter().find(|(_, id)| *id == of).map_or(&of, |(from, _)| from);
        losses.push(Loss { of: source.as_str().to_owned(), what });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::dialect::foreign::{ImportFormat, Imported};
    use crate::rules::moving::importing::{ImportPlan, Source, plan_import};
    use crate::{Task, TaskId};

    fn part(id: &str, parent: &str, on: &[&str]) -> Task {
        Task {
            blocked_by: on.iter().copied().map(TaskId::stored).collect(),
            metadata: (!parent.is_empty())
                .then(|| json!({ "parent": parent }))
                .and_then(|value| value.as_object().cloned()),
            ..Task::new(TaskId::stored(id), id)
        }
    }

    fn plan(tasks: Vec<Task>) -> ImportPlan {
        let new_ids: Vec<TaskId> = (1..).map(TaskId::number).take(tasks.len()).collect();
        let source = Source { format: ImportFormat::Beads, name: "/tasks".to_owned() };
        plan_import(&[], &Imported::of(tasks), &source, &new_ids)
    }

    fn losses(plan: &ImportPlan) -> Vec<(&str, &str)> {
        plan.losses.iter().map(|loss| (loss.of.as_str(), loss.what.as_str())).collect()
    }

    #[test]
    fn a_part_that_waits_for_its_parent_does_so_no_longer() {
        let plan = plan(vec![part("a", "", &[]), part("b", "a", &["a"])]);
        assert_eq!(losses(&plan), [("b", "waiting for #1 would close the circle #2 -> #1 -> #2")]);
        assert_eq!((&plan.created[1].blocked_by, &plan.created[0].blocks), (&vec![], &vec![]));
        assert_eq!(plan.created[1].parent(), Some(TaskId::number(1)));
    }

    #[test]
    fn nobody_is_a_part_of_itself_or_of_its_parts() {
        let plan = plan(vec![part("a", "b", &[]), part("b", "a", &[]), part("c", "c", &[])]);
        assert_eq!(
            losses(&plan),
            [("c", "it is a part of itself"), ("a", "being a part of #2 would close the circle #1 -> #2 -> #1")]
        );
        let parents: Vec<Option<TaskId>> = plan.created.iter().map(Task::parent).collect();
        assert_eq!(parents, [None, Some(TaskId::number(1)), None]);
    }
}
