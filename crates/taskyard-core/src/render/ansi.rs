//! A line with the colours of a terminal.

use super::{Line, Tone};

/// Returns the line with the escape sequences of its tones; each piece ends with a reset.
pub fn ansi(line: &Line) -> String {
    let mut text = String::new();
    for span in line.spans() {
        match sequence(span.tone()) {
            "" => text.push_str(span.text()),
            code => {
                text.push_str("\x1b[");
                text.push_str(code);
                text.push('m');
                text.push_str(span.text());
                text.push_str("\x1b[0m");
            }
        }
    }
    text
}

const fn sequence(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Strong => "1",
        Tone::Dim => "2",
        Tone::Id => "36",
        Tone::Owner => "35",
        Tone::Active => "33",
        Tone::Done => "32",
        Tone::Struck => "2;9",
        Tone::Blocked => "31",
        Tone::Warning => "33",
        Tone::Error => "1;31",
        Tone::Hint => "36",
        Tone::Emphasis => "3",
        Tone::Link => "4",
        Tone::Member(place) => MEMBERS[place % MEMBERS.len()],
    }
}

/// The colours of members, in the order of their names: the last but one and orange are none of the first sixteen.
const MEMBERS: [&str; 8] = ["31", "34", "32", "33", "35", "38;5;208", "38;5;211", "36"];

#[cfg(test)]
mod tests {
    use super::ansi;
    use crate::render::{Line, Tone};

    #[test]
    fn only_pieces_that_mean_something_are_coloured() {
        let line = Line::plain("a ").with(Tone::Done, "b");
        assert_eq!(ansi(&line), "a \x1b[32mb\x1b[0m");
    }
}
