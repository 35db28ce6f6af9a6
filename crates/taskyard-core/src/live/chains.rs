//! How long the chains of open tasks are that come after each other, kept up to date.

use std::collections::HashSet;

use super::list::LiveList;
use super::readiness::Above;
use super::record::Slot;
use crate::rules::graph::chains::{Member, Steps};

impl LiveList {
    /// Works out the chains that may have changed. Returns the tasks whose chain has.
    pub(super) fn judge_chains(&mut self) -> Vec<Slot> {
        let noted = std::mem::take(&mut self.unjudged.chains);
        if self.unjudged.all || self.has_circle || !self.judge_noted_chains(noted.iter().copied().collect()) {
            return self.judge_all_chains();
        }
        noted.into_iter().collect()
    }

    /// Works out chains from the ends towards the beginnings. Returns `false` if that takes longer than to work out the whole list.
    fn judge_noted_chains(&mut self, mut unsettled: Vec<Slot>) -> bool {
        // A circle goes on for ever.
        let most_visits = 8 * self.records.len();
        let mut visits = 0;
        let mut above = Above::default();
        while let Some(slot) = unsettled.pop() {
            if visits > most_visits {
                return false;
            }
            let length = self.chain_behind(slot, &mut above, &mut visits);
            let record = &mut self.records[slot as usize];
            if record.chain == length {
                continue;
            }
            record.chain = length;
            self.unjudged.readiness.insert(slot);
            unsettled.extend(&self.records[slot as usize].parts);
            // What a task waits for also holds up its parts.
            for at in std::iter::successors(Some(slot), |at| above.parent(self, *at)) {
                visits += 1;
                unsettled.extend(self.records[at as usize].blocked_by());
            }
        }
        true
    }

    fn chain_behind(&self, slot: Slot, above: &mut Above, visits: &mut usize) -> u32 {
        if !self.records[slot as usize].is_open_and_visible() {
            return 0;
        }
        let mut longest = 0;
        self.visit_next(slot, above, &mut HashSet::new(), &mut |next| {
            longest = longest.max(self.records[next as usize].chain + 1);
            *visits += 1;
        });
        let parent = above.parent(self, slot).map(|parent| &self.records[parent as usize]);
        let behind_parent = parent.filter(|parent| parent.is_open_and_visible()).map_or(0, |parent| parent.chain + 1);
        longest.max(behind_parent)
    }

    /// Calls `visit` with the open tasks that wait for a task by their own word, and with the parts that wait with them; one may come twice.
    /// What is in `held_up` was visited with its parts before.
    fn visit_next(&self, slot: Slot, above: &mut Above, held_up: &mut HashSet<Slot>, visit: &mut dyn FnMut(Slot)) {
        for waiting in self.records[slot as usize].waiting.iter().copied() {
            if waiting == slot || !self.is_open(waiting) {
                continue;
            }
            // A task that waits for its own part holds up none of the others.
            let holds_up_parts = !above.is_below(self, slot, waiting);
            let mut pending = vec![waiting];
            while let Some(next) = pending.pop() {
                if held_up.contains(&next) {
                    continue;
                }
                if self.records[next as usize].is_open_and_visible() {
                    visit(next);
                }
                if holds_up_parts {
                    held_up.insert(next);
                    let parts = self.records[next as usize].parts.iter().copied();
                    pending.extend(parts.filter(|part| above.parent(self, *part) == Some(next)));
                }
            }
        }
    }

    /// Returns how many open tasks wait for a task: those that wait for it or for what it is a part of, their parts, and what it is a part of.
    pub(super) fn count_behind(&self, slot: Slot) -> usize {
        let mut above = Above::default();
        let (mut behind, mut held_up) = (HashSet::new(), HashSet::new());
        let mut at = Some(slot);
        while let Some(end) = at {
            self.visit_next(end, &mut above, &mut held_up, &mut |next| {
                behind.insert(next);
            });
            at = above.parent(self, end).filter(|parent| self.records[*parent as usize].is_open_and_visible());
            behind.extend(at);
        }
        behind.remove(&slot);
        behind.len()
    }

    /// Works out every chain, in the order of the list: where circles are, the order decides.
    fn judge_all_chains(&mut self) -> Vec<Slot> {
        let order: Vec<Slot> = self.places.values().copied().collect();
        let mut positions = vec![usize::MAX; self.records.len()];
        order.iter().enumerate().for_each(|(position, slot)| positions[*slot as usize] = position);
        let mut above = Above::default();
        let members: Vec<Member> = order
            .iter()
            .map(|slot| {
                let record = &self.records[*slot as usize];
                Member {
                    is_open: record.is_open(),
                    is_visible: record.facts.as_ref().is_some_and(|facts| !facts.is_internal),
                    blockers: record.blocked_by().iter().map(|blocker| positions[*blocker as usize]).collect(),
                    parent: above.parent(self, *slot).map(|parent| positions[parent as usize]),
                }
            })
            .collect();
        let steps = Steps::of(&members, |position, other| above.is_below(self, order[position], order[other]));
        self.has_circle = steps.has_circle;
        for (slot, length) in order.iter().zip(&steps.lengths) {
            self.records[*slot as usize].chain = u32::try_from(*length).unwrap_or(u32::MAX);
        }
        order
    }
}
