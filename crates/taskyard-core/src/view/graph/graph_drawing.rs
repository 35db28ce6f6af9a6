//! Draws a section of the ranked graph as lines of text.

use std::collections::HashSet;
use std::ops::Range;

use crate::TaskId;
use crate::render::{Line, Look, Tone};
use crate::view::graph::ranked_graph::{Cell, Gap, GraphNode, GraphPicture, Wire};

/// The minimum width of a rank.
const NARROWEST: usize = 6;

/// The section of a graph to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphWindow {
    /// The first rank.
    pub first_rank: usize,
    /// The number of ranks side by side.
    pub ranks: usize,
    /// The first row.
    pub first_row: usize,
    /// The number of rows.
    pub rows: usize,
    /// The total width in columns.
    pub width: usize,
}

/// A row of the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLine {
    /// The text.
    pub line: Line,
    /// The columns occupied by each task.
    pub tasks: Vec<(Range<usize>, TaskId)>,
}

/// Draws a section of a graph. `label` returns the text for a task in a given width.
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
        // Blockers to the left of the first rank are not drawn, so the margin indicates them.
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

/// Returns the width of a rank: that of its visible contents plus a piece of line.
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

/// Returns the lines that touch any of the rows.
fn crossing<'a>(gap: Option<&'a Gap>, rows: &Range<usize>) -> Vec<&'a Wire> {
    let touches = |wire: &&Wire| {
        let (first, last) = wire.span();
        first < rows.end && last >= rows.start
    };
    gap.map(|gap| gap.wires.iter().filter(touches).collect()).unwrap_or_default()
}

/// Returns the rows on which a line ends at a task.
fn rows_led_to(gap: &Gap, rows: &Range<usize>) -> HashSet<usize> {
    let ends = gap.wires.iter().flat_map(|wire| &wire.ends);
    ends.filter(|end| end.is_task && rows.contains(&end.row)).map(|end| end.row).collect()
}

/// Fills the rest of a rank behind a task, with a line if one continues.
fn run(width: usize, goes_on: bool, is_heavy: bool, look: &Look) -> Line {
    if !goes_on || width == 0 {
        return Line::plain(&" ".repeat(width));
    }
    let mut line = Line::plain(" ");
    line.append(passing(width - 1, is_heavy, look));
    line
}

/// Returns a horizontal line of a given width.
fn passing(width: usize, is_heavy: bool, look: &Look) -> Line {
    let mut arms = Arms::default();
    arms.add([false, false, true, true], is_heavy);
    let joint = arms.joint(look).to_string();
    let tone = if is_heavy { Tone::Warning } else { Tone::Dim };
    Line::new().with(tone, &joint.repeat(width))
}

/// Draws one row of the gap between two ranks.
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
        // One free column before the slots, and one behind them for the arrowhead.
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

/// The weight of a line on one side of a cell: none, light or heavy.
type Weight = u8;

/// The lines that leave a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arms {
    up: Weight,
    down: Weight,
    left: Weight,
    right: Weight,
}

/// All box-drawing characters, indexed by the weights up, down, left and right as digits in base three.
const JOINTS: &str = " ╶╺╴─╼╸╾━╷┌┍┐┬┮┑┭┯╻┎┏┒┰┲┓┱┳╵└┕┘┴┶┙┵┷│├┝┤┼┾┥┽┿╽┟┢┧╁╆┪╅╈╹┖┗┚┸┺┛┹┻╿┞┡┦╀╄┩╃╇┃┠┣┨╂╊┫╉╋";

impl Arms {
    /// Adds lines; the heavier of two on the same side remains.
    pub(super) fn add(&mut self, [up, down, left, right]: [bool; 4], is_heavy: bool) {
        let weight = if is_heavy { 2 } else { 1 };
        for (arm, is_there) in
            [(&mut self.up, up), (&mut self.down, down), (&mut self.left, left), (&mut self.right, right)]
        {
            *arm = (*arm).max(if is_there { weight } else { 0 });
        }
    }

    /// Returns whether any line is heavy.
    pub(super) fn is_heavy(self) -> bool {
        [self.up, self.down, self.left, self.right].contains(&2)
    }

    /// Returns whether a line leaves it to the right.
    pub(super) const fn goes_right(self) -> bool {
        self.right > 0
    }

    /// Returns the box-drawing character.
    pub(super) fn joint(self, look: &Look) -> char {
        if look.unicode {
            let number =
                usize::from(self.up) * 27 + usize::from(self.down) * 9 + usize::from(self.left * 3 + self.right);
            return JOINTS.chars().nth(number).unwrap_or(' ');
        }
        match (self.up + self.down > 0, self.left + self.right > 0) {
            (false, false) => ' ',
            (false, true) => {
                if self.is_heavy() {
                    '='
                } else {
                    '-'
                }
            }
            (true, false) => '|',
            (true, true) => '+',
        }
    }
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
        fn every_task_is_drawn_once_and_lines_are_equally_wide(
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

#[cfg(test)]
mod box_lines_tests {
    use super::Arms;
    use crate::render::Look;

    #[test]
    fn lines_join_where_they_meet_and_the_heavier_shows() {
        let mut arms = Arms::default();
        assert_eq!(arms.joint(&Look::PIPE), ' ');
        arms.add([false, false, true, true], false);
        assert_eq!(arms.joint(&Look::PIPE), '─');
        arms.add([false, true, true, false], true);
        assert_eq!(arms.joint(&Look::PIPE), '┱');
        arms.add([true, true, true, true], true);
        assert_eq!(arms.joint(&Look::PIPE), '╋');
        assert_eq!(arms.joint(&Look { unicode: false, ..Look::PIPE }), '+');
    }
}
