//! Which known word a mistyped one was meant to be.

use std::collections::HashMap;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

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

/// Shorter words are taken as they are: every other word is near them.
const SHORTEST: usize = 4;
/// Longer texts than this are no words that a user mistypes.
const LONGEST: usize = 48;

/// Finds words that are spelt nearly like one: letters may be missing, and one may be wrong, too many, or have changed places with the
/// next.
#[derive(Debug)]
pub(crate) struct NearWords {
    matcher: Matcher,
    /// What was typed, and what was typed without one of its letters each: a word that has all letters of one of these in their order is near.
    spellings: Vec<Spelling>,
    length: usize,
    /// What was found out of words that were met.
    known: HashMap<String, Option<u32>>,
}

#[derive(Debug)]
struct Spelling {
    atom: Atom,
    /// How long a word may be that is meant by it.
    longest: usize,
}

impl NearWords {
    /// Returns what finds words near to this one; none where it is too short, or no word.
    pub(crate) fn to(word: &str) -> Option<Self> {
        let letters: Vec<char> = word.chars().collect();
        let is_word = letters.iter().all(|letter| letter.is_alphanumeric());
        if !is_word || !(SHORTEST..=LONGEST).contains(&letters.len()) {
            return None;
        }
        let atom = |text: &str| Atom::new(text, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy, false);
        let missing = if letters.len() > SHORTEST { 2 } else { 1 };
        let mut spellings = vec![Spelling { atom: atom(word), longest: letters.len() + missing }];
        for left_out in 0..letters.len() {
            let rest = letters.iter().enumerate().filter(|(place, _)| *place != left_out);
            let text: String = rest.map(|(_, letter)| letter).collect();
            spellings.push(Spelling { atom: atom(&text), longest: letters.len() });
        }
        let matcher = Matcher::new(Config::DEFAULT);
        Some(Self { matcher, spellings, length: letters.len(), known: HashMap::new() })
    }

    /// Returns the word of a text that is nearest, and how near it is, 1 or 2.
    pub(crate) fn best_in(&mut self, text: &str) -> Option<(u32, String)> {
        let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut best: Option<(u32, &str)> = None;
        for word in words {
            if let Some(nearness) =
                self.nearness(word).filter(|nearness| best.is_none_or(|(other, _)| other < *nearness))
            {
                best = Some((nearness, word));
            }
        }
        best.map(|(nearness, word)| (nearness, word.to_owned()))
    }

    fn nearness(&mut self, word: &str) -> Option<u32> {
        let length = word.chars().count();
        if length + 1 < self.length || length > self.length + 2 {
            return None;
        }
        if let Some(known) = self.known.get(word) {
            return *known;
        }
        let mut room = Vec::new();
        let text = Utf32Str::new(word, &mut room);
        let matches =
            |spelling: &Spelling| length <= spelling.longest && spelling.atom.score(text, &mut self.matcher).is_some();
        let nearness = self.spellings.iter().position(matches).map(|place| if place == 0 { 2 } else { 1 });
        self.known.insert(word.to_owned(), nearness);
        nearness
    }
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
