//! The end of a job's output, with terminal colours.

use maud::{Markup, html};
use taskyard::core::JobId;
use taskyard::core::render::escaping;
use taskyard::jobs::JobError;
use taskyard_jobs::Jobs;

/// Returns the last lines of a job's output, at most `most` bytes, and the offset that follows.
pub(super) fn tail_of(jobs: &Jobs, id: &JobId, most: u64) -> Result<(String, u64), JobError> {
    let reader = jobs.output(&jobs.get(id)?)?;
    let from = reader.output()?.written.saturating_sub(most);
    let part = reader.read(from, most)?;
    let text = String::from_utf8_lossy(&part.bytes);
    let text = match (from > 0, text.split_once('\n')) {
        (true, Some((_, rest))) => rest.to_owned(),
        _ => text.into_owned(),
    };
    Ok((text, part.next))
}

/// The text style set by escape sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Style {
    colour: Option<&'static str>,
    is_bold: bool,
    is_dim: bool,
}

const COLOURS: [&str; 8] = ["", "in-red", "in-green", "in-yellow", "in-blue", "in-purple", "in-cyan", ""];

impl Style {
    fn take(&mut self, code: u32) {
        match code {
            0 => *self = Self::default(),
            1 => self.is_bold = true,
            2 => self.is_dim = true,
            22 => (self.is_bold, self.is_dim) = (false, false),
            30..=37 | 90..=97 => {
                let name = COLOURS[(code % 10) as usize];
                self.colour = Some(name).filter(|name| !name.is_empty());
            }
            39 => self.colour = None,
            _ => {}
        }
    }

    fn classes(self) -> String {
        let words = [Some("ansi"), self.colour, self.is_bold.then_some("strong"), self.is_dim.then_some("dim")];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Renders a text with its colours as CSS classes. Other control characters are removed or escaped.
pub(super) fn coloured(text: &str) -> Markup {
    html! {
        @for (style, piece) in pieces(text) {
            @if style == Style::default() { (escaping::program_output(&piece)) } @else {
                span class=(style.classes()) { (escaping::program_output(&piece)) }
            }
        }
    }
}

/// Returns a text without escape sequences.
pub(super) fn plain(text: &str) -> String {
    pieces(text).into_iter().map(|(_, piece)| piece).collect()
}

/// Splits a text at its escape sequences. An overwritten line becomes its last version.
fn pieces(text: &str) -> Vec<(Style, String)> {
    let mut pieces: Vec<(Style, String)> = Vec::new();
    let mut style = Style::default();
    let mut rest = text;
    while let Some(start) = rest.find('\x1b') {
        push(&mut pieces, style, &rest[..start]);
        rest = &rest[start + 1..];
        let Some(sequence) = rest.strip_prefix('[') else { continue };
        let Some(end) = sequence.find(|letter: char| !letter.is_ascii_digit() && !";?:".contains(letter)) else {
            break;
        };
        if sequence[end..].starts_with('m') {
            // The page has no 256-colour or true-colour palette.
            let codes = &sequence[..end];
            let is_simple = !codes.contains("38;") && !codes.contains("48;");
            codes.split(';').filter(|_| is_simple).for_each(|code| style.take(code.parse().unwrap_or(0)));
        }
        let last = sequence[end..].chars().next().map_or(0, char::len_utf8);
        rest = &sequence[end + last..];
    }
    push(&mut pieces, style, rest);
    pieces
}

fn push(pieces: &mut Vec<(Style, String)>, style: Style, text: &str) {
    let text = text.replace("\r\n", "\n");
    if text.is_empty() {
        return;
    }
    match pieces.last_mut() {
        Some((last, piece)) if *last == style => piece.push_str(&text),
        _ => pieces.push((style, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::{coloured, plain};

    #[test]
    fn colours_become_classes_and_other_sequences_go() {
        let text = "a \x1b[1;31mred\x1b[0m \x1b[2Kb<\x1b[38;5;200mc\x1b[m\x1b";
        assert_eq!(coloured(text).into_string(), "a <span class=\"ansi in-red strong\">red</span> b&lt;c");
        assert_eq!(plain(text), "a red b<c");
    }
}
