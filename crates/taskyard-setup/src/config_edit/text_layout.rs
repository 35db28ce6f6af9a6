//! How a text is laid out: its line ends and its indentation.

/// Returns the line end a text uses, by its first one.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns where the line begins that a place is in.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the spaces and tabs that the line of a place begins with.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Tells whether nothing but spaces and tabs stands before a place on its line.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    text[line_start(text, at)..at].bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}
