//! How lines run between a rank and the next: out of a task, up or down in a slot of their own, and into what waits.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// So many slots there are between two ranks; beyond them lines share the last.
const MOST_SLOTS: usize = 8;

/// All lines between a rank and the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) wires: Vec<Wire>,
    /// How many slots there are.
    pub(super) slots: usize,
}

/// The lines that leave one place of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wire {
    /// The row on which it begins.
    pub(super) from: usize,
    pub(super) ends: Vec<WireEnd>,
    /// The slot in which it runs up and down; none where it runs straight on.
    pub(super) slot: Option<usize>,
}

/// Where a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WireEnd {
    pub(super) row: usize,
    pub(super) is_critical: bool,
    /// Whether it ends at a task; else it goes on in a lane.
    pub(super) is_task: bool,
    /// Whether it leads from a parent to its part.
    pub(super) is_part: bool,
}

impl Wire {
    pub(super) fn new(from: usize, mut ends: Vec<WireEnd>) -> Self {
        ends.sort_by_key(|end| end.row);
        Self { from, ends, slot: None }
    }

    /// Returns the first and the last row it touches.
    pub(super) fn span(&self) -> (usize, usize) {
        let rows = || self.ends.iter().map(|end| end.row).chain([self.from]);
        (rows().min().unwrap_or(self.from), rows().max().unwrap_or(self.from))
    }
}

impl Gap {
    /// Gives each line a slot. Two lines that run up and down beside each other have different ones, and a line that begins on the row on
    /// which another ends turns before that: otherwise they would look joined.
    pub(super) fn of(mut wires: Vec<Wire>) -> Self {
        wires.sort_by_key(Wire::span);
        let mut slots: Vec<BTreeMap<usize, usize>> = Vec::new();
        let begins: HashMap<usize, usize> =
            wires.iter().enumerate().map(|(number, wire)| (wire.from, number)).collect();
        for number in in_turn(&wires, &begins) {
            let (first, last) = wires[number].span();
            let ends = wires[number].ends.iter().filter_map(|end| wires[*begins.get(&end.row)?].slot);
            let least = ends.map(|slot| slot + 1).max().unwrap_or(0).min(MOST_SLOTS - 1);
            let slot = (least..MOST_SLOTS).find(|slot| is_free(slots.get(*slot), first, last));
            let slot = slot.unwrap_or(MOST_SLOTS - 1);
            slots.resize_with(slots.len().max(slot + 1), BTreeMap::new);
            slots[slot].insert(first, last);
            wires[number].slot = Some(slot);
        }
        Self { wires, slots: slots.len() }
    }
}

/// Returns the lines that bend in the order in which they get their slots: each after those that begin on the rows on which it ends. Where
/// lines wait for each other in a circle the first goes, and crosses another.
fn in_turn(wires: &[Wire], begins: &HashMap<usize, usize>) -> Vec<usize> {
    let bends = |number: usize| wires[number].span().0 != wires[number].span().1;
    let mut waiting: BTreeSet<usize> = (0..wires.len()).filter(|number| bends(*number)).collect();
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); wires.len()];
    let mut missing = vec![0_usize; wires.len()];
    for number in &waiting {
        for other in wires[*number].ends.iter().filter_map(|end| begins.get(&end.row)) {
            if other != number && bends(*other) {
                behind[*other].push(*number);
                missing[*number] += 1;
            }
        }
    }
    let mut free: BTreeSet<usize> = waiting.iter().copied().filter(|number| missing[*number] == 0).collect();
    let mut order = Vec::with_capacity(waiting.len());
    while let Some(next) = free.pop_first().or_else(|| waiting.first().copied()) {
        if !waiting.remove(&next) {
            continue;
        }
        order.push(next);
        for later in &behind[next] {
            missing[*later] = missing[*later].saturating_sub(1);
            if missing[*later] == 0 {
                free.insert(*later);
            }
        }
    }
    order
}

fn is_free(slot: Option<&BTreeMap<usize, usize>>, first: usize, last: usize) -> bool {
    let Some(slot) = slot else { return true };
    slot.range(..=last).next_back().is_none_or(|(_, end)| *end < first)
}

#[cfg(test)]
mod tests {
    use super::{Gap, Wire, WireEnd};

    fn wire(from: usize, to: &[usize]) -> Wire {
        let end = |row: &usize| WireEnd { row: *row, is_critical: false, is_task: true, is_part: false };
        Wire::new(from, to.iter().map(end).collect())
    }

    #[test]
    fn lines_beside_each_other_have_slots_of_their_own() {
        let gap = Gap::of(vec![wire(0, &[0]), wire(1, &[4]), wire(2, &[5]), wire(8, &[9])]);
        let slots: Vec<Option<usize>> = gap.wires.iter().map(|wire| wire.slot).collect();
        assert_eq!((slots, gap.slots), (vec![None, Some(0), Some(1), Some(0)], 2));
    }

    #[test]
    fn a_line_turns_before_another_ends_on_its_row() {
        // The second begins on row 2, where the first ends.
        let gap = Gap::of(vec![wire(0, &[2]), wire(2, &[3])]);
        assert!(gap.wires[0].slot > gap.wires[1].slot);
    }

    #[test]
    fn ten_thousand_lines_have_their_slots_at_once() {
        let gap = Gap::of((0..10_000).map(|row| wire(row, &[row + 1])).collect());
        assert!(gap.wires.iter().all(|wire| wire.slot.is_some()));
    }

    #[test]
    fn lines_that_change_places_are_drawn_all_the_same() {
        let gap = Gap::of(vec![wire(0, &[1]), wire(1, &[0])]);
        assert!(gap.wires.iter().all(|wire| wire.slot.is_some()));
    }
}
