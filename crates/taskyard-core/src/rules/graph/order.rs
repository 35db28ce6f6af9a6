//! An order in which everything could be done, kept while edges are added one by one.
//!
//! This is the algorithm of Pearce and Kelly: an edge that agrees with the order costs nothing, and any other one moves only
//! what lies between its ends. It begins with an order that agrees with all edges that are in no circle, so that only circles cost
//! something, however long the list.

use std::collections::{HashMap, VecDeque};

/// Tasks, by their index, in an order in which each comes after what it waits for.
#[derive(Debug)]
pub(crate) struct Order {
    /// Where each task stands.
    place: Vec<usize>,
    waits_for: Vec<Vec<usize>>,
    waited_for_by: Vec<Vec<usize>>,
}

/// The edge was not added: it closes this circle. Each task waits for the next, and the first comes again at the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClosesCircle(pub(crate) Vec<usize>);

impl Order {
    /// Returns so many tasks, none of which waits for another yet, given the edges that may be added, each from the task that waits.
    pub(crate) fn of(count: usize, edges: &[(usize, usize)]) -> Self {
        let mut place = vec![0; count];
        for (index, at) in arrange(count, edges).into_iter().enumerate() {
            place[at] = index;
        }
        Self { place, waits_for: vec![Vec::new(); count], waited_for_by: vec![Vec::new(); count] }
    }

    /// Lets a task wait for another, unless that closes a circle.
    pub(crate) fn add(&mut self, task: usize, on: usize) -> Result<(), ClosesCircle> {
        if self.place[on] >= self.place[task] {
            let (lowest, highest) = (self.place[task], self.place[on]);
            let came_from = reach(on, |at| &self.waits_for[at], |at| self.place[at] >= lowest);
            if came_from.contains_key(&task) {
                return Err(ClosesCircle(circle(task, on, &came_from)));
            }
            let behind = reach(task, |at| &self.waited_for_by[at], |at| self.place[at] <= highest);
            self.rearrange(came_from.into_keys().collect(), behind.into_keys().collect());
        }
        self.waits_for[task].push(on);
        self.waited_for_by[on].push(task);
        Ok(())
    }

    /// Puts the first ones before the others, in the places that they have together.
    fn rearrange(&mut self, mut first: Vec<usize>, mut then: Vec<usize>) {
        first.sort_unstable_by_key(|at| self.place[*at]);
        then.sort_unstable_by_key(|at| self.place[*at]);
        first.extend(then);
        let mut places: Vec<usize> = first.iter().map(|at| self.place[*at]).collect();
        places.sort_unstable();
        for (at, place) in first.into_iter().zip(places) {
            self.place[at] = place;
        }
    }
}

/// Returns the tasks in an order that agrees with all edges but those of circles and between them.
fn arrange(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut is_placed = vec![false; count];
    let mut first = peel(edges.iter().copied(), &mut is_placed);
    let left: Vec<(usize, usize)> =
        edges.iter().copied().filter(|(task, on)| !is_placed[*task] && !is_placed[*on]).collect();
    let last = peel(left.into_iter().map(|(task, on)| (on, task)), &mut is_placed);
    first.extend((0..count).filter(|at| !is_placed[*at]));
    first.extend(last.into_iter().rev());
    first
}

/// Takes away, again and again, what waits for nothing that is left, and returns it in that order.
pub(in crate::rules) fn peel(edges: impl Iterator<Item = (usize, usize)>, is_placed: &mut [bool]) -> Vec<usize> {
    let mut open = vec![0_usize; is_placed.len()];
    let mut behind = vec![Vec::new(); is_placed.len()];
    for (task, on) in edges {
        open[task] += 1;
        behind[on].push(task);
    }
    let mut peeled: Vec<usize> = (0..open.len()).filter(|at| open[*at] == 0 && !is_placed[*at]).collect();
    let mut next = 0;
    while let Some(&at) = peeled.get(next) {
        next += 1;
        is_placed[at] = true;
        for &task in &behind[at] {
            open[task] -= 1;
            if open[task] == 0 {
                peeled.push(task);
            }
        }
    }
    peeled
}

/// Returns everything that can be reached, each with the one it was reached from, by the shortest way.
fn reach<'a>(
    start: usize,
    next: impl Fn(usize) -> &'a Vec<usize>,
    counts: impl Fn(usize) -> bool,
) -> HashMap<usize, usize> {
    let mut came_from = HashMap::from([(start, start)]);
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        for &to in next(at) {
            if counts(to) && !came_from.contains_key(&to) {
                came_from.insert(to, at);
                waiting.push_back(to);
            }
        }
    }
    came_from
}

fn circle(task: usize, on: usize, came_from: &HashMap<usize, usize>) -> Vec<usize> {
    let mut back = vec![task];
    let mut at = task;
    while at != on {
        at = came_from[&at];
        back.push(at);
    }
    back.push(task);
    back.reverse();
    back
}

#[cfg(test)]
mod tests {
    use super::{ClosesCircle, Order};

    #[test]
    fn only_an_edge_that_closes_a_circle_is_refused() {
        let mut order = Order::of(5, &[(3, 0)]);
        for (task, on) in [(0, 1), (1, 2), (4, 0), (2, 3)] {
            order.add(task, on).unwrap();
        }
        assert_eq!(order.add(3, 0), Err(ClosesCircle(vec![3, 0, 1, 2, 3])));
        assert_eq!(order.add(2, 2), Err(ClosesCircle(vec![2, 2])));
        order.add(3, 4).unwrap_err();
        order.add(4, 3).unwrap();
    }

    #[test]
    fn edges_outside_of_circles_agree_from_the_beginning() {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 2), (4, 2), (5, 4), (3, 6)];
        let order = Order::of(7, &edges);
        for (task, on) in edges.into_iter().filter(|edge| ![(2, 3), (3, 2)].contains(edge)) {
            assert!(order.place[on] < order.place[task], "{task} waits for {on}");
        }
    }

    #[test]
    fn the_order_always_agrees_with_the_edges() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % 60
        };
        let edges: Vec<(usize, usize)> = (0..600).map(|_| (random(), random())).collect();
        let mut order = Order::of(60, &edges[..100]);
        let mut refused = 0;
        for (task, on) in edges {
            if let Err(ClosesCircle(circle)) = order.add(task, on) {
                refused += 1;
                assert_eq!((circle[0], circle[1], circle[circle.len() - 1]), (task, on, task));
                for pair in circle[1..].windows(2).filter(|_| task != on) {
                    assert!(order.waits_for[pair[0]].contains(&pair[1]), "{circle:?}");
                }
            }
            for (task, ons) in order.waits_for.iter().enumerate() {
                assert!(ons.iter().all(|on| order.place[*on] < order.place[task]));
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
