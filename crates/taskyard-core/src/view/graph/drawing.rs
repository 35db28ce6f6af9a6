//! A part of the picture as lines of text.

use std::collections::HashSet;
use std::ops::Range;

use crate::TaskId;
use crate::render::{Line, Look, Tone};

use super::box_lines::Arms;
use super::picture::{GraphNode, GraphPicture};
use super::ranks::Cell;
use super::wiring::{Gap, Wire};

/// The narrowest a rank is drawn.
const NARROWEST: usize = 6;

/// The part of a picture that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphWindow {
    /// The first rank.
    pub first_rank: usize,
    /// How many ranks stand side by side.
    pub ranks: usize,
    /// The first row.
    pub first_row: usize,
    /// How many rows.
    pub rows: usize,
    /// How many columns there are for all of it.
    pub width: usize,
}

/// A row of a picture as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLine {
    /// The text.
    pub line: Line,
    /// Which columns belong to which task.
    pub tasks: Vec<(Range<usize>, TaskId)>,
}

/// Draws a part of a picture. `label` says what is written of a task in so many columns.
pub fn graph_lines(
    picture: &GraphPicture,
    window: &GraphWindow,
    look: &Look,
    label: impl Fn(&GraphNode, usize) -> Line,
) -> Vec<GraphLine> {
    let ranks = window.first_rank..(window.first_rank + window.ranks.max(1)).min(picture.ranks());
    let gap_width = |rank: usize| picture.gaps.get(rank).map_or(0, |gap| gap.slots + 3);
    let gaps: usize = ranks.clone().map(gap_width).sum();
    let count = ranks.len().max(1);
    let column = (window.width.saturating_sub(gaps + 1) / count).max(NARROWEST);
    let rows = window.first_row..(window.first_row + window.rows).min(picture.rows());
    let widths: Vec<usize> = ranks.clone().map(|rank| width_of(picture, rank, &rows, column, &label)).collect();
    let crossing: Vec<Vec<&Wire>> = ranks.clone().map(|rank| crossing(picture.gaps.get(rank), &rows)).collect();
    let before = window.first_rank.checked_sub(1).and_then(|rank| picture.gaps.get(rank));
    let led_to: HashSet<usize> = before.map(|gap| rows_led_to(gap, &rows)).unwrap_or_default();
    let mut lines = Vec::with_capacity(rows.len());
    for row in rows {
        // Nothing is drawn to the left of the first rank, so the margin says that something there is waited for.
        let margin = if led_to.contains(&row) { look.either("‹", "<") } else { " " };
        let mut drawn = GraphLine { line: Line::new().with(Tone::Dim, margin), tasks: Vec::new() };
        let mut used = 1;
        for (place, rank) in ranks.clone().enumerate() {
            let column = widths[place];
            match picture.ranks[rank].get(&row) {
                Some(Cell::Task { place: node, goes_on, is_critical }) => {
                    let node = &picture.nodes[*node];
                    let text = label(node, column).cut(column, look.ellipsis());
                    drawn.tasks.push((used..used + text.width(), node.task.clone()));
                    let rest = column.saturating_sub(text.width());
                    drawn.line.append(text);
                    drawn.line.append(run(rest, *goes_on, *is_critical, look));
                }
                Some(Cell::Lane { is_critical }) => drawn.line.append(passing(column, *is_critical, look)),
                None => drawn.line.push(Tone::Plain, &" ".repeat(column)),
            }
            used += column;
            let width = gap_width(rank);
            drawn.line.append(gap_line(&crossing[place], row, width, look));
            used += width;
        }
        lines.push(drawn);
    }
    lines
}

/// Returns how wide a rank is drawn: as wide as what is seen in it, and a piece of line.
fn width_of(
    picture: &GraphPicture,
    rank: usize,
    rows: &Range<usize>,
    most: usize,
    label: &impl Fn(&GraphNode, usize) -> Line,
) -> usize {
    const PIECE: usize = 4;
    let seen = picture.ranks[rank].range(rows.clone());
    let widest = seen.filter_map(|(_, cell)| match cell {
        Cell::Task { place, .. } => Some(label(&picture.nodes[*place], most).width() + PIECE),
        Cell::Lane { .. } => None,
    });
    widest.max().unwrap_or(NARROWEST).clamp(NARROWEST, most)
}

/// Returns the lines that touch some rows.
fn crossing<'a>(gap: Option<&'a Gap>, rows: &Range<usize>) -> Vec<&'a Wire> {
    let touches = |wire: &&Wire| {
        let (first, last) = wire.span();
        first < rows.end && last >= rows.start
    };
    gap.map(|gap| gap.wires.iter().filter(touches).collect()).unwrap_or_default()
}

/// Returns the rows, of some, on which a line ends at a task.
fn rows_led_to(gap: &Gap, rows: &Range<usize>) -> HashSet<usize> {
    let ends = gap.wires.iter().flat_map(|wire| &wire.ends);
    ends.filter(|end| end.is_task && rows.contains(&end.row)).map(|end| end.row).collect()
}

/// Returns what fills the rest of a rank behind a task: a line where one goes on.
fn run(width: usize, goes_on: bool, is_heavy: bool, look: &Look) -> Line {
    if !goes_on || width == 0 {
        return Line::plain(&" ".repeat(width));
    }
    let mut line = Line::plain(" ");
    line.append(passing(width - 1, is_heavy, look));
    line
}

/// Returns a line that passes so many columns.
fn passing(width: usize, is_heavy: bool, look: &Look) -> Line {
    let mut arms = Arms::default();
    arms.add([false, false, true, true], is_heavy);
    let joint = arms.joint(look).to_string();
    let tone = if is_heavy { Tone::Warning } else { Tone::Dim };
    Line::new().with(tone, &joint.repeat(width))
}

/// Draws one row of what lies between two ranks.
fn gap_line(wires: &[&Wire], row: usize, width: usize, look: &Look) -> Line {
    if width == 0 {
        return Line::new();
    }
    let mut cells = vec![Arms::default(); width];
    let mut leads_to_task = false;
    let mut leads_to_part = true;
    for wire in wires {
        let (first, last) = wire.span();
        if row < first || row > last {
            continue;
        }
        let Some(slot) = wire.slot else {
            let is_heavy = wire.ends.iter().any(|end| end.is_critical);
            cells.iter_mut().for_each(|cell| cell.add([false, false, true, true], is_heavy));
            leads_to_task |= wire.ends.iter().any(|end| end.is_task);
            leads_to_part &= wire.ends.iter().all(|end| end.is_part);
            continue;
        };
        // A free column before the slots, and one behind them with the point of the arrow.
        let turn = slot + 1;
        for end in &wire.ends {
            let heavy = end.is_critical;
            let (top, bottom) = (end.row.min(wire.from), end.row.max(wire.from));
            if row >= top && row <= bottom {
                cells[turn].add([row > top, row < bottom, false, false], heavy);
            }
            if row == wire.from {
                cells[..turn].iter_mut().for_each(|cell| cell.add([false, false, true, true], heavy));
                cells[turn].add([false, false, true, false], heavy);
            }
            if row == end.row {
                cells[turn].add([false, false, false, true], heavy);
                cells[turn + 1..].iter_mut().for_each(|cell| cell.add([false, false, true, true], heavy));
                leads_to_task |= end.is_task;
                leads_to_part &= end.is_part;
            }
        }
    }
    let point = if leads_to_task { width - 2 } else { usize::MAX };
    let mut line = Line::new();
    for (place, cell) in cells.iter().enumerate() {
        let tone = if cell.is_heavy() { Tone::Warning } else { Tone::Dim };
        if leads_to_task && place == width - 1 {
            line.push(tone, " ");
        } else if place == point && cell.goes_right() {
            line.push(tone, if leads_to_part { look.either("•", "o") } else { look.either("▸", ">") });
        } else {
            line.push(tone, cell.joint(look).encode_utf8(&mut [0; 4]));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::{GraphWindow, graph_lines};
    use crate::render::{Line, Look};
    use crate::view::graph::GraphPicture;
    use crate::{Rules, Task, TaskId};

    fn waiting(number: u64, on: &[u64]) -> Task {
        let mut task = Task::new(TaskId::number(number), "x");
        task.blocked_by = on.iter().copied().map(TaskId::number).collect();
        task
    }

    fn drawn(tasks: &[Task], folded: &[u64]) -> Vec<String> {
        let folded: HashSet<TaskId> = folded.iter().copied().map(TaskId::number).collect();
        let picture = GraphPicture::of(tasks, &folded, Rules::Strict);
        let window = GraphWindow { first_rank: 0, ranks: 9, first_row: 0, rows: 99, width: 0 };
        let label = |node: &super::GraphNode, _| Line::plain(&format!("#{}", node.task));
        let lines = graph_lines(&picture, &window, &Look::PIPE, label);
        lines.into_iter().map(|line| line.line.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn branches_part_and_meet_and_the_critical_path_is_heavy() {
        let tasks = [
            waiting(1, &[]),
            waiting(2, &[1]),
            waiting(3, &[1]),
            waiting(4, &[2, 3]),
            waiting(5, &[4]),
            waiting(6, &[]),
        ];
        insta::assert_snapshot!(drawn(&tasks, &[]).join("\n"));
    }

    #[test]
    fn a_line_passes_the_ranks_between() {
        let tasks = [waiting(1, &[]), waiting(2, &[1]), waiting(3, &[2]), waiting(4, &[3, 1]), waiting(5, &[1])];
        insta::assert_snapshot!(drawn(&tasks, &[]).join("\n"));
    }

    #[test]
    fn parts_hang_on_their_parent_by_a_dot_instead_of_an_arrow() {
        let part = |number: u64, parent: u64| Task {
            metadata: serde_json::json!({ "parent": parent.to_string() }).as_object().cloned(),
            ..waiting(number, &[])
        };
        let tasks = [waiting(1, &[]), part(2, 1), part(3, 1), waiting(4, &[1]), part(5, 4)];
        insta::assert_snapshot!(drawn(&tasks, &[]).join("\n"));
    }

    #[test]
    fn what_is_folded_is_not_drawn() {
        let tasks = [waiting(1, &[]), waiting(2, &[1]), waiting(3, &[2])];
        assert_eq!(drawn(&tasks, &[2]).len(), 1);
        assert!(!drawn(&tasks, &[1]).join("").contains("#2"));
    }

    proptest! {
        #[test]
        fn every_task_is_drawn_once_and_every_line_is_as_wide_as_the_others(
            edges in prop::collection::vec((1..30_u64, 1..30_u64), 0..80),
        ) {
            let tasks: Vec<Task> = (1..30)
                .map(|number| {
                    let on: Vec<u64> = edges.iter().filter(|(_, to)| *to == number).map(|(from, _)| *from).collect();
                    waiting(number, &on)
                })
                .collect();
            let picture = GraphPicture::of(&tasks, &HashSet::new(), Rules::Strict);
            let window = GraphWindow { first_rank: 0, ranks: 40, first_row: 0, rows: 999, width: 0 };
            let label = |node: &super::GraphNode, _| Line::plain(&format!("#{}", node.task));
            let lines = graph_lines(&picture, &window, &Look::PIPE, label);
            let mut seen: Vec<TaskId> = lines.iter().flat_map(|line| line.tasks.iter().map(|(_, id)| id.clone())).collect();
            seen.sort_by_key(TaskId::as_number);
            prop_assert_eq!(seen, (1..30).map(TaskId::number).collect::<Vec<_>>());
            let widths: HashSet<usize> = lines.iter().map(|line| line.line.width()).filter(|width| *width > 0).collect();
            prop_assert!(widths.len() <= 1, "{:?}", widths);
        }
    }
}
