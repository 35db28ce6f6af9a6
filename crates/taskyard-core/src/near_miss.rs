//! What was meant by a word that is none of those that could stand there.

/// Returns the word that was most likely meant: one it is the beginning of, or the one that takes the fewest changes of a letter, where
/// those are few.
pub fn nearest<'a>(word: &str, words: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    if word.is_empty() {
        return None;
    }
    let begun = words.iter().find(|other| word.chars().count() > 2 && other.starts_with(&word));
    let most = (word.chars().count() + 1) / 3;
    let near = || words.iter().map(|other| (distance(&word, other), *other)).min().filter(|(by, _)| *by <= most);
    begun.copied().or_else(|| near().map(|(_, other)| other))
}

/// Returns how many letters have to be put in, taken out, replaced or swapped with their neighbour to make one word of the other.
fn distance(one: &str, two: &str) -> usize {
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=two.len()).collect();
    for row in 1..=one.len() {
        let mut now = vec![row];
        for column in 1..=two.len() {
            let is_same = one[row - 1] == two[column - 1];
            let mut least = (last[column] + 1).min(now[column - 1] + 1).min(last[column - 1] + usize::from(!is_same));
            let is_swapped =
                row > 1 && column > 1 && one[row - 1] == two[column - 2] && one[row - 2] == two[column - 1];
            if is_swapped {
                least = least.min(before[column - 2] + 1);
            }
            now.push(least);
        }
        before = std::mem::replace(&mut last, now);
    }
    last[two.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_word_is_found_and_far_ones_are_not() {
        let words = ["status", "priority", "tag", "owner", "parent"];
        assert_eq!(nearest("prio", &words), Some("priority"));
        assert_eq!(nearest("prioirty", &words), Some("priority"));
        assert_eq!(nearest("Satus", &words), Some("status"));
        assert_eq!(nearest("tags", &words), Some("tag"));
        assert_eq!(nearest("http", &words), None);
        assert_eq!(nearest("", &words), None);
    }
}
