//! What changed in a text of several lines.

use diffy::DiffOptions;

use super::wrapping::wrapped;
use super::{Line, Look, Tone, escaping};

/// So many lines of a difference are shown.
const MOST: usize = 60;

/// Returns what changed between two texts, line by line: what went behind a minus, what came behind a plus, and a line of what stays around it.
pub(super) fn text_difference(from: &str, to: &str, indent: usize, look: &Look) -> Vec<Line> {
    let [from, to] = [from, to].map(|text| format!("{text}\n"));
    let patch = DiffOptions::new().set_context_len(1).create_patch(&from, &to);
    let mut lines = Vec::new();
    let spaces = " ".repeat(indent);
    for (number, hunk) in patch.hunks().iter().enumerate() {
        if number > 0 {
            lines.push(Line::new().with(Tone::Dim, &format!("{spaces}  {}", look.ellipsis())));
        }
        for line in hunk.lines() {
            let (tone, mark, text) = match line {
                diffy::Line::Context(text) => (Tone::Dim, "  ", text),
                diffy::Line::Delete(text) => (Tone::Blocked, "- ", text),
                diffy::Line::Insert(text) => (Tone::Done, "+ ", text),
            };
            let text = escaping::one_line(text.trim_end_matches('\n'));
            let parts = match look.width {
                Some(width) => wrapped(&text, width.saturating_sub(indent + 2).max(20)),
                None => vec![text.into_owned()],
            };
            for part in parts {
                lines.push(Line::plain(&spaces).with(tone, &format!("{mark}{part}")));
            }
        }
    }
    let hidden = lines.len().saturating_sub(MOST);
    if hidden > 0 {
        lines.truncate(MOST);
        lines.push(Line::new().with(Tone::Dim, &format!("{spaces}  and {hidden} more lines")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::text_difference;
    use crate::render::Look;

    #[test]
    fn what_went_and_what_came_stand_among_what_stays() {
        let lines = text_difference("a\nb\nc\nd\ne\nf\ng", "a\nB\nc\nd\ne\nf\ng\nh", 2, &Look::PIPE);
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["    a", "  - b", "  + B", "    c", "    …", "    g", "  + h"]);
    }
}
