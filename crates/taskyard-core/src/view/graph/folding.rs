//! What is not shown because the user folded what it waits for.

use crate::render::graph::Network;

/// What folding hides.
pub(super) struct FoldedAway {
    /// For each task, whether it is hidden.
    pub(super) is_hidden: Vec<bool>,
    /// For each folded task, how many are hidden behind it.
    pub(super) behind: Vec<usize>,
}

/// Hides every task that waits for folded and hidden ones alone.
pub(super) fn folded_away(network: &Network, is_folded: &[bool]) -> FoldedAway {
    let count = is_folded.len();
    let mut by_layer: Vec<usize> = (0..count).collect();
    by_layer.sort_by_key(|place| network.layer[*place]);
    let mut is_hidden = vec![false; count];
    let onward = |number: &&usize| !network.edges[**number].closes_circle;
    for place in by_layer {
        let mut before = network.into[place].iter().filter(onward).map(|number| network.edges[*number].from).peekable();
        let has_any = before.peek().is_some();
        is_hidden[place] = has_any && before.all(|from| is_folded[from] || is_hidden[from]);
    }
    let mut behind = vec![0; count];
    for place in (0..count).filter(|place| is_folded[*place] && !is_hidden[*place]) {
        let mut seen = vec![false; count];
        let mut next = vec![place];
        while let Some(at) = next.pop() {
            for number in network.out[at].iter().filter(onward) {
                let to = network.edges[*number].to;
                if is_hidden[to] && !std::mem::replace(&mut seen[to], true) {
                    behind[place] += 1;
                    next.push(to);
                }
            }
        }
    }
    FoldedAway { is_hidden, behind }
}
