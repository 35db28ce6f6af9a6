//! How long the chains of open tasks are that wait for each other, kept up to date.

use super::list::LiveList;
use super::record::{Key, Slot};

impl LiveList {
    /// Works out the chains that may have changed. Returns the tasks whose chain has.
    pub(super) fn judge_chains(&mut self) -> Vec<Slot> {
        let noted = std::mem::take(&mut self.unjudged.chains);
        if self.unjudged.all || self.has_circle || !self.judge_noted_chains(noted.iter().copied().collect()) {
            return self.judge_all_chains();
        }
        noted.into_iter().collect()
    }

    /// Works out chains from the ends towards the beginnings. Returns no where that has no end in sight.
    fn judge_noted_chains(&mut self, mut unsettled: Vec<Slot>) -> bool {
        // A circle goes on for ever, and some lists are worked out sooner as a whole.
        let mut steps = 4 * self.records.len();
        while let Some(slot) = unsettled.pop() {
            let length = self.chain_behind(slot);
            let record = &mut self.records[slot as usize];
            if record.chain == length {
                continue;
            }
            if steps == 0 {
                return false;
            }
            steps -= 1;
            record.chain = length;
            self.unjudged.readiness.insert(slot);
            unsettled.extend(self.records[slot as usize].blocked_by());
        }
        true
    }

    fn chain_behind(&self, slot: Slot) -> u32 {
        if !self.records[slot as usize].is_open_and_visible() {
            return 0;
        }
        self.behind(slot).map(|next| self.records[next as usize].chain + 1).max().unwrap_or(0)
    }

    /// Returns the open tasks that wait for a task, in no order.
    fn behind(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        let waiting = self.records[slot as usize].waiting.iter().copied();
        waiting.filter(move |next| *next != slot && self.records[*next as usize].is_open_and_visible())
    }

    /// Returns how many open tasks wait for a task.
    pub(super) fn count_behind(&self, slot: Slot) -> usize {
        self.behind(slot).count()
    }

    /// Works out every chain, each task entered once, in the order of the list: where circles are, the order decides.
    fn judge_all_chains(&mut self) -> Vec<Slot> {
        self.has_circle = false;
        let order: Vec<Slot> = self.places.values().copied().collect();
        let mut entered = vec![false; self.records.len()];
        let mut lengths: Vec<Option<u32>> = vec![None; self.records.len()];
        for start in &order {
            if std::mem::replace(&mut entered[*start as usize], true) {
                continue;
            }
            // A walk in depth with a stack of our own: a chain may be longer than the thread's stack is deep.
            let mut walk = vec![(*start, self.behind_in_order(*start), 0)];
            while let Some((at, behind, step)) = walk.last_mut() {
                if let Some(next) = behind.get(*step).copied() {
                    *step += 1;
                    if !std::mem::replace(&mut entered[next as usize], true) {
                        let behind = self.behind_in_order(next);
                        walk.push((next, behind, 0));
                    }
                    continue;
                }
                let known = behind.iter().map(|next| lengths[*next as usize]);
                // What was entered and has no length yet lies on the way here.
                self.has_circle |= known.clone().any(|length| length.is_none());
                lengths[*at as usize] = Some(known.flatten().map(|length| length + 1).max().unwrap_or(0));
                walk.pop();
            }
        }
        for slot in &order {
            self.records[*slot as usize].chain = lengths[*slot as usize].unwrap_or(0);
        }
        order
    }

    fn behind_in_order(&self, slot: Slot) -> Vec<Slot> {
        if !self.records[slot as usize].is_open_and_visible() {
            return Vec::new();
        }
        let mut behind: Vec<(&Key, Slot)> =
            self.behind(slot).map(|next| (&self.records[next as usize].key, next)).collect();
        behind.sort();
        behind.into_iter().map(|(_, next)| next).collect()
    }
}
