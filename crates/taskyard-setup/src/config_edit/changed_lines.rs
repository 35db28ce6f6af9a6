//! The difference between two texts, line by line.

use super::Additions;

/// A line of a change. The text is without its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedLine {
    /// An unchanged line, shown as context.
    Same(String),
    /// An added line.
    Added(String),
    /// A removed line.
    Removed(String),
    /// The number of unchanged lines that are not shown.
    Skipped(usize),
}

/// The number of context lines around a change.
const AROUND: usize = 2;

/// Returns the line-by-line difference made by additions. `longer` is the text with the additions.
pub fn changed_lines(longer: &str, additions: &Additions) -> Vec<ChangedLine> {
    let mut lines = Vec::new();
    let mut old = String::new();
    let mut piece = String::new();
    let mut touched = false;
    let mut at = 0;
    // A line of the shorter text, and what it became, end together: at a line end that was there before, or at the very end.
    for (start, end, is_new) in parts(longer, additions) {
        debug_assert_eq!(at, start);
        at = end;
        if is_new {
            piece.push_str(&longer[start..end]);
            touched = true;
            continue;
        }
        for line in longer[start..end].split_inclusive('\n') {
            old.push_str(line);
            piece.push_str(line);
            if line.ends_with('\n') {
                push(&mut lines, &old, &piece, touched);
                old.clear();
                piece.clear();
                touched = false;
            }
        }
    }
    push(&mut lines, &old, &piece, touched);
    shortened(lines)
}

/// Returns the parts of a text in order, each with its range and whether it was added.
fn parts(longer: &str, additions: &Additions) -> Vec<(usize, usize, bool)> {
    let mut parts = Vec::new();
    let mut done = 0;
    for range in additions.ranges() {
        parts.push((done, range.start, false));
        parts.push((range.start, range.end, true));
        done = range.end;
    }
    parts.push((done, longer.len(), false));
    parts
}

fn push(lines: &mut Vec<ChangedLine>, old: &str, piece: &str, touched: bool) {
    let bare = |line: &str| line.trim_end_matches(['\n', '\r']).to_owned();
    if !touched {
        if !old.is_empty() {
            lines.push(ChangedLine::Same(bare(old)));
        }
        return;
    }
    let new: Vec<String> = piece.split_inclusive('\n').map(bare).collect();
    let kept = new.iter().position(|line| !old.is_empty() && *line == bare(old));
    if kept.is_none() && !old.is_empty() {
        lines.push(ChangedLine::Removed(bare(old)));
    }
    for (number, line) in new.into_iter().enumerate() {
        let stays = kept == Some(number);
        lines.push(if stays { ChangedLine::Same(line) } else { ChangedLine::Added(line) });
    }
}

/// Leaves out unchanged lines that are far from a change.
fn shortened(lines: Vec<ChangedLine>) -> Vec<ChangedLine> {
    let changes: Vec<usize> =
        (0..lines.len()).filter(|number| !matches!(lines[*number], ChangedLine::Same(_))).collect();
    let is_near = |number: usize| {
        let next = changes.partition_point(|change| *change < number);
        let near = |place: Option<&usize>| place.is_some_and(|change| change.abs_diff(number) <= AROUND);
        near(changes.get(next)) || near(next.checked_sub(1).and_then(|before| changes.get(before)))
    };
    let mut shown = Vec::new();
    for (number, line) in lines.into_iter().enumerate() {
        if is_near(number) {
            shown.push(line);
        } else if let Some(ChangedLine::Skipped(count)) = shown.last_mut() {
            *count += 1;
        } else {
            shown.push(ChangedLine::Skipped(1));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::Additions;
    use super::{ChangedLine, changed_lines};

    fn diff(text: &str, insertions: &[(usize, &str)]) -> String {
        let insertions: Vec<(usize, String)> = insertions.iter().map(|(at, new)| (*at, (*new).to_owned())).collect();
        let (longer, added) = Additions::insert(text, &insertions);
        let line = |line| match line {
            ChangedLine::Same(text) => format!(" {text}\n"),
            ChangedLine::Added(text) => format!("+{text}\n"),
            ChangedLine::Removed(text) => format!("-{text}\n"),
            ChangedLine::Skipped(count) => format!("..{count}\n"),
        };
        changed_lines(&longer, &added).into_iter().map(line).collect()
    }

    #[test]
    fn a_line_that_gets_a_comma_goes_and_comes() {
        assert_eq!(diff("{\n  a\n}\n", &[(5, ","), (5, "\n  b")]), " {\n-  a\n+  a,\n+  b\n }\n");
    }

    #[test]
    fn whole_lines_only_come() {
        assert_eq!(diff("1\n2\n3\n4\n5\n", &[(8, "new\n")]), "..2\n 3\n 4\n+new\n 5\n");
        assert_eq!(diff("1\n2\n", &[(4, "\n[x]\n")]), " 1\n 2\n+\n+[x]\n");
        assert_eq!(diff("a\r\nb", &[(1, "\r\nnew")]), " a\n+new\n b\n");
        assert_eq!(diff("", &[(0, "{}\n")]), "+{}\n");
    }
}
