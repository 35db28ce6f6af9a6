//! Whether a text occurs in a task, in any case.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::{Task, TaskId};

/// A text to be found in any case: what [`str::to_lowercase`] makes of it occurs in what that makes of another.
///
/// Nothing is lowered to find that out, and no letter is frequent enough to make it slow: two bytes of the text are looked for at once, in
/// many places at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needle {
    lowered: String,
    /// The same in capitals, each as long as its letter; what has no such capital stands in it as it is.
    raised: String,
    /// Where the two bytes stand by which it is looked for: the rarest in what people write.
    rarest: [usize; 2],
    /// Further letters that are its own in lower case. A text that holds one has to be lowered.
    odd: Vec<char>,
}

/// Letters and what else is often in texts, the most frequent first.
const FREQUENT: &[u8] = b" etaoinsrhldcumfpgwybvkxjqz";

/// Letters that are, in lower case, several letters, a letter with another capital, or one that depends on what is around it.
const ODD: &str = "İǅǈǋǲΣϴẞᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾼῌῼ\u{2126}\u{212a}\u{212b}";

/// So many places are looked at in one go, and of a short text so many.
const BLOCK: usize = 32;
const FEW: usize = 8;

impl Needle {
    /// Returns what is to be found.
    pub(crate) fn new(text: &str) -> Self {
        let lowered = text.to_lowercase();
        let raised: String = lowered.chars().map(|letter| even_capital(letter).unwrap_or(letter)).collect();
        let rarity = |position: &usize| rarity(lowered.as_bytes()[*position]);
        // Far from each other, since words begin alike.
        let last = (0..lowered.len()).max_by_key(rarity).unwrap_or(0);
        let first = (0..lowered.len()).rev().filter(|position| *position != last).max_by_key(rarity).unwrap_or(last);
        // At the end of a word the small sigma is another one, which only whole texts tell.
        let is_last_sigma = |letter: char| letter == 'Σ' && lowered.contains('ς');
        let is_own =
            |letter: &char| letter.to_lowercase().any(|letter| lowered.contains(letter)) || is_last_sigma(*letter);
        let uneven = lowered.chars().filter(|letter| even_capital(*letter).is_none()).filter_map(capital);
        let odd = ODD.chars().filter(is_own).chain(uneven).collect();
        Self { rarest: [first, last], lowered, raised, odd }
    }

    /// Returns the text in lower case.
    pub(crate) fn as_str(&self) -> &str {
        &self.lowered
    }

    /// Tells whether it occurs in a text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.is_in_bytes(text.as_bytes()) || (!self.odd.is_empty() && self.is_oddly_in(text))
    }

    fn is_oddly_in(&self, text: &str) -> bool {
        !text.is_ascii()
            && self.odd.iter().any(|letter| text.contains(*letter))
            && text.to_lowercase().contains(&self.lowered)
    }

    fn is_in_bytes(&self, text: &[u8]) -> bool {
        let Some(last) = text.len().checked_sub(self.lowered.len()).filter(|_| !self.lowered.is_empty()) else {
            return self.lowered.is_empty();
        };
        match last + 1 {
            FEW..BLOCK => self.is_in_blocks::<FEW>(text, last),
            BLOCK.. => self.is_in_blocks::<BLOCK>(text, last),
            _ => self.begins_within(text, 0..=last),
        }
    }

    /// Tells whether it occurs in a text in which it may begin in so many places, or more.
    fn is_in_blocks<const SIZE: usize>(&self, text: &[u8], last: usize) -> bool {
        // Where it may begin, as seen from each of the two bytes.
        let [ones, twos] = self.rarest.map(|position| &text[position..=position + last]);
        let blocks = ones.as_chunks::<SIZE>().0.iter().zip(twos.as_chunks::<SIZE>().0).enumerate();
        let mut blocks = blocks.filter(|(_, (ones, twos))| self.may_begin(ones, twos)).map(|(block, _)| block * SIZE);
        let last_block = ones.last_chunk::<SIZE>().zip(twos.last_chunk::<SIZE>());
        blocks.any(|start| self.begins_within(text, start..=start + SIZE - 1))
            || last_block.is_some_and(|(ones, twos)| {
                self.may_begin(ones, twos) && self.begins_within(text, last + 1 - SIZE..=last)
            })
    }

    /// Tells whether both bytes stand where they must in one of the places of a block.
    fn may_begin<const SIZE: usize>(&self, ones: &[u8; SIZE], twos: &[u8; SIZE]) -> bool {
        let [one, two] = self.pairs();
        let mut found = false;
        // Without a branch for each byte, so that the compiler compares many of them at once.
        for (first, second) in ones.iter().zip(twos) {
            found |= is_one_of(*first, one) & is_one_of(*second, two);
        }
        found
    }

    fn begins_within(&self, text: &[u8], mut positions: RangeInclusive<usize>) -> bool {
        let ([one, two], [first, second]) = (self.pairs(), self.rarest);
        positions.any(|position| {
            is_one_of(text[position + first], one)
                && is_one_of(text[position + second], two)
                && self.begins(&text[position..])
        })
    }

    /// Returns each of the two bytes as it is in small letters and in capitals.
    fn pairs(&self) -> [(u8, u8); 2] {
        self.rarest.map(|position| (self.lowered.as_bytes()[position], self.raised.as_bytes()[position]))
    }

    /// Tells whether a text begins with it.
    fn begins(&self, text: &[u8]) -> bool {
        let (lowered, raised) = (self.lowered.as_bytes(), self.raised.as_bytes());
        self.lowered.char_indices().all(|(start, letter)| {
            let bytes = start..start + letter.len_utf8();
            let found = &text[bytes.clone()];
            found == &lowered[bytes.clone()] || found == &raised[bytes]
        })
    }

    /// Tells whether it occurs in a task: in one of its texts, as its number, or as the number of one it is tied to.
    pub(crate) fn is_in_task(&self, task: &Task) -> bool {
        let numbered = self.lowered.strip_prefix('#');
        let is_tied = |number: &str| {
            let mut ids = task.blocks.iter().chain(&task.blocked_by);
            ids.any(|id: &TaskId| id.as_str().eq_ignore_ascii_case(number))
        };
        task.id.as_str().eq_ignore_ascii_case(numbered.unwrap_or(&self.lowered))
            || any_text(task, &|text| self.is_in(text))
            || numbered.is_some_and(is_tied)
    }
}

fn is_one_of(byte: u8, (low, high): (u8, u8)) -> bool {
    (byte == low) | (byte == high)
}

/// Returns how rare a byte is in what people write.
fn rarity(byte: u8) -> usize {
    match byte {
        // Letters of one alphabet begin alike, and go on as differently as letters are.
        0xc0.. => 0,
        0x80..0xc0 => FREQUENT.len() / 2,
        byte => FREQUENT.iter().position(|other| *other == byte).unwrap_or(FREQUENT.len()),
    }
}

/// Returns the capital of which a letter is the lower case, whatever is around it.
fn capital(letter: char) -> Option<char> {
    let mut capitals = letter.to_uppercase();
    let capital = capitals.next().filter(|_| capitals.next().is_none())?;
    (capital != letter && capital != 'Σ' && capital.to_lowercase().eq([letter])).then_some(capital)
}

/// Returns the capital of a letter that is as long as the letter.
fn even_capital(letter: char) -> Option<char> {
    capital(letter).filter(|capital| capital.len_utf8() == letter.len_utf8())
}

/// Tells whether one of a task's texts is like that, the subject first.
fn any_text(task: &Task, is_wanted: &impl Fn(&str) -> bool) -> bool {
    is_wanted(&task.shown_subject())
        || is_wanted(&task.description)
        || task.active_form.as_deref().is_some_and(is_wanted)
        || task.owner().is_some_and(is_wanted)
        || is_wanted(task.status.as_str())
        || task.metadata.iter().flatten().any(|(key, value)| is_wanted(key) || any_text_in(value, is_wanted))
}

fn any_text_in(value: &Value, is_wanted: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_wanted(text),
        Value::Array(items) => items.iter().any(|item| any_text_in(item, is_wanted)),
        Value::Object(object) => object.iter().any(|(key, value)| is_wanted(key) || any_text_in(value, is_wanted)),
        Value::Number(number) => is_wanted(&number.to_string()),
        Value::Bool(_) | Value::Null => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Needle, ODD, capital};

    fn is_plainly_in(needle: &str, text: &str) -> bool {
        text.to_lowercase().contains(&needle.to_lowercase())
    }

    #[test]
    fn letters_of_any_case_and_alphabet_are_found() {
        for (needle, text, is_in) in [
            ("parser", "the PARSER", true),
            ("ÜBER", "überfällig", true),
            ("привет", "скажи ПРИВЕТ", true),
            // Р and р begin with different bytes, and so does Ѡ, which is neither.
            ("р", "Ѡ", false),
            ("k", "\u{212a}elvin", true),
            ("i", "\u{130}", true),
            ("ⱥ", "Ⱥ", true),
            ("ς", "ΛΌΓΟΣ", true),
            ("σ", "ΛΌΓΟΣ", false),
            ("", "x", true),
            ("", "", true),
            ("x", "", false),
            ("longer than it", "short", false),
            ("aab", "aaab", true),
            ("xa", "ax", false),
            ("ex", "EX", true),
            ("box!", "a BOX!", true),
            ("[", "{", false),
        ] {
            assert_eq!(Needle::new(needle).is_in(text), is_in, "{needle} in {text}");
            assert_eq!(is_plainly_in(needle, text), is_in, "{needle} in {text}");
        }
    }

    #[test]
    fn a_text_is_found_wherever_it_stands() {
        for length in 0..200 {
            let text = format!("{}Xy{}", "x".repeat(length), "-".repeat(199 - length));
            assert!(Needle::new("xY").is_in(&text) && !Needle::new("yx").is_in(&text), "{text}");
        }
    }

    #[test]
    fn every_letter_that_has_a_lower_case_is_looked_for() {
        for letter in '\0'..=char::MAX {
            let lowered = letter.to_lowercase();
            let is_known = ODD.contains(letter) || lowered.clone().next().and_then(capital) == Some(letter);
            assert!(is_known || lowered.eq([letter]), "{letter} ({:x})", u32::from(letter));
        }
    }

    proptest! {
        #[test]
        fn what_occurs_when_all_is_lowered_is_found(
            needle in "[aAkKiIÅåßẞsSσΣςİǅǆⱥȺпПрРѠ\u{212a}\u{212b}\u{307} ]{0,3}",
            text in "[aAkKiIÅåßẞsSσΣςİǅǆⱥȺпПрРѠ\u{212a}\u{212b}\u{307} ]{0,12}",
        ) {
            prop_assert_eq!(Needle::new(&needle).is_in(&text), is_plainly_in(&needle, &text));
        }
    }
}
