//! What all drawings of a graph in layers share: which nodes hang together, and the order within a layer.

use std::collections::HashMap;

/// Returns the groups of nodes that hang together, each by rising number.
pub(crate) fn groups<I: IntoIterator<Item = usize>>(count: usize, neighbours: impl Fn(usize) -> I) -> Vec<Vec<usize>> {
    let mut is_found = vec![false; count];
    let mut groups = Vec::new();
    for start in 0..count {
        if std::mem::replace(&mut is_found[start], true) {
            continue;
        }
        let (mut members, mut pending) = (Vec::new(), vec![start]);
        while let Some(node) = pending.pop() {
            members.push(node);
            for next in neighbours(node) {
                if !std::mem::replace(&mut is_found[next], true) {
                    pending.push(next);
                }
            }
        }
        members.sort_unstable();
        groups.push(members);
    }
    groups
}

/// Brings each layer into the order of the mean place of its neighbours, alternately by those in the layer before and those in the layer
/// behind, so that fewer edges cross.
pub(crate) fn order_layers<B, A>(
    layers: &mut [Vec<usize>],
    sweeps: usize,
    before: impl Fn(usize) -> B,
    behind: impl Fn(usize) -> A,
) where
    B: IntoIterator<Item = usize>,
    A: IntoIterator<Item = usize>,
{
    // The place of each node within its layer, 1024 to the place, so that means stay whole numbers.
    let mut places: HashMap<usize, usize> = HashMap::new();
    let note = |layer: &[usize], places: &mut HashMap<usize, usize>| {
        places.extend(layer.iter().enumerate().map(|(place, node)| (*node, place * 1024)));
    };
    layers.iter().for_each(|layer| note(layer, &mut places));
    let depth = layers.len();
    for sweep in 0..sweeps {
        let is_forward = sweep % 2 == 0;
        for step in 1..depth {
            let layer = &mut layers[if is_forward { step } else { depth - 1 - step }];
            layer.sort_by_cached_key(|node| {
                let place = |neighbour: usize| places[&neighbour];
                let mean = if is_forward {
                    mean(before(*node).into_iter().map(place))
                } else {
                    mean(behind(*node).into_iter().map(place))
                };
                mean.unwrap_or(places[node])
            });
            note(layer, &mut places);
        }
    }
}

fn mean(values: impl Iterator<Item = usize>) -> Option<usize> {
    let (sum, count) = values.fold((0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::{groups, order_layers};

    #[test]
    fn groups_are_what_hangs_together() {
        let neighbours = [vec![2], vec![], vec![0, 3], vec![2]];
        assert_eq!(groups(4, |node| neighbours[node].clone()), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn crossed_edges_are_uncrossed() {
        // 0 -> 3 and 1 -> 2 cross.
        let mut layers = [vec![0, 1], vec![2, 3]];
        let before = |node: usize| (node > 1).then(|| 3 - node);
        let behind = |node: usize| (node < 2).then(|| 3 - node);
        order_layers(&mut layers, 2, before, behind);
        assert_eq!(layers, [vec![0, 1], vec![3, 2]]);
    }
}
