//! Styled lines of text, and what the display can show.

use std::fmt;

use jiff::tz::TimeZone;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::escaping;
use crate::rules::leases::leasing::LeaseState;
use crate::timing::{moment_in_speech, span_in_speech, time_in_speech};
use crate::{Lease, Status, Task, Timestamp};

/// The meaning of a piece of text, from which each display chooses its own colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// Ordinary text.
    Plain,
    /// Important text.
    Strong,
    /// Secondary text.
    Dim,
    /// A task id.
    Id,
    /// The name of an agent or person.
    Owner,
    /// Work in progress.
    Active,
    /// Completed work.
    Done,
    /// The title of completed work.
    Struck,
    /// A blocker.
    Blocked,
    /// Something that needs attention.
    Warning,
    /// An error.
    Error,
    /// A suggested command.
    Hint,
    /// Emphasised text.
    Emphasis,
    /// A link.
    Link,
    /// A team member in its own colour, as an index into [`crate::COLOURS`].
    Member(usize),
}

impl Tone {
    /// Returns the tone of a team member, given the name of its colour.
    pub fn member(colour: Option<&str>) -> Self {
        let place = colour.and_then(|colour| crate::COLOURS.iter().position(|known| *known == colour));
        place.map_or(Self::Owner, Self::Member)
    }
}

/// A piece of a line. Its text is safe to write to a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    tone: Tone,
    text: String,
}

impl Span {
    /// Creates a span. Characters that could control a terminal are escaped.
    pub(crate) fn new(tone: Tone, text: &str) -> Self {
        Self { tone, text: escaping::one_line(text).into_owned() }
    }

    /// Returns the tone.
    pub fn tone(&self) -> Tone {
        self.tone
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// One line of output, without the line ending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
}

impl Line {
    /// Returns an empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a line of ordinary text.
    pub fn plain(text: &str) -> Self {
        Self::new().with(Tone::Plain, text)
    }

    /// Returns the line with a span appended.
    #[must_use]
    pub fn with(mut self, tone: Tone, text: &str) -> Self {
        self.push(tone, text);
        self
    }

    /// Appends a span.
    pub fn push(&mut self, tone: Tone, text: &str) {
        if !text.is_empty() {
            self.spans.push(Span::new(tone, text));
        }
    }

    /// Appends the spans of another line.
    pub fn append(&mut self, other: Self) {
        self.spans.extend(other.spans);
    }

    /// Returns the spans.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the width of the line in terminal columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Truncates the line to at most `columns` columns, ending in `mark` if something was cut off.
    #[must_use]
    pub fn cut(self, columns: usize, mark: &str) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut room = columns.saturating_sub(mark.width());
        let mut spans = Vec::new();
        for mut span in self.spans {
            let width = span.text.width();
            if width <= room {
                room -= width;
                spans.push(span);
                continue;
            }
            span.text.truncate(fitting(&span.text, room));
            // What was cut before ends with the mark already.
            let is_marked = span.text.is_empty() && spans.last().is_some_and(|last: &Span| last.text.ends_with(mark));
            span.text.push_str(if columns == 0 || is_marked { "" } else { mark });
            spans.push(span);
            break;
        }
        Self { spans }
    }

    /// Wraps the line to at most `columns` columns, breaking between words and indenting all lines but the first. A
    /// word longer than a line is not broken, so that it can be copied.
    pub fn wrapped(self, columns: usize, indent: usize) -> Vec<Self> {
        if self.width() <= columns {
            return vec![self];
        }
        let mut lines = Vec::new();
        let mut current = Self::new();
        for word in self.words() {
            let width = word.to_string().trim_end().width();
            if current.width() > indent && current.width() + width > columns {
                lines.push(std::mem::take(&mut current));
                current.push(Tone::Plain, &" ".repeat(indent));
            }
            word.spans.into_iter().for_each(|span| current.push_joined(span));
        }
        lines.push(current);
        lines
    }

    /// Returns the words, each with its trailing spaces. A word may have spans of several tones, such as quotes and
    /// their contents.
    fn words(self) -> Vec<Self> {
        let mut words = vec![Self::new()];
        for span in self.spans {
            for piece in span.text.split_inclusive(' ') {
                if let Some(word) = words.last_mut() {
                    word.push(span.tone, piece);
                }
                if piece.ends_with(' ') {
                    words.push(Self::new());
                }
            }
        }
        words
    }

    /// Appends a span, merging it with the last one if the tones are equal.
    fn push_joined(&mut self, span: Span) {
        match self.spans.last_mut().filter(|last| last.tone == span.tone) {
            Some(last) => last.text.push_str(&span.text),
            None => self.spans.push(span),
        }
    }

    /// Pads the line with spaces to `columns` columns.
    #[must_use]
    pub fn padded(mut self, columns: usize) -> Self {
        let missing = columns.saturating_sub(self.width());
        self.push(Tone::Plain, &" ".repeat(missing));
        self
    }
}

impl fmt::Display for Line {
    /// Writes the text without styles.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spans.iter().try_for_each(|span| formatter.write_str(&span.text))
    }
}

/// Truncates text to at most `columns` columns, ending in `mark` if something was cut off.
pub fn cut_text(text: &str, columns: usize, mark: &str) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let kept = fitting(text, columns.saturating_sub(mark.width()));
    format!("{}{mark}", text[..kept].trim_end())
}

/// Returns how many bytes of the text fit into `columns` columns. Grapheme clusters are never split.
fn fitting(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, character) in text.grapheme_indices(true) {
        used += character.width();
        if used > columns {
            return at;
        }
    }
    text.len()
}

const UTC: &TimeZone = &TimeZone::UTC;

/// The capabilities of the display: its character set and width, and how times are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether it can show characters beyond ASCII.
    pub unicode: bool,
    /// Its width in columns; `None` if lines may have any length.
    pub width: Option<usize>,
    /// The present moment if times are shown relative to it; `None` if they are shown as full timestamps.
    pub now: Option<Timestamp>,
    /// The time zone in which times are shown.
    pub zone: &'static TimeZone,
    /// Whether past times are shown as clock times rather than as ages.
    pub by_clock: bool,
}

impl Look {
    /// The settings for a pipe: unlimited width and full timestamps.
    pub const PIPE: Self = Self { unicode: true, width: None, now: None, zone: UTC, by_clock: false };

    /// Returns the mark of a task's status.
    pub fn mark(&self, task: &Task) -> (Tone, &'static str) {
        match task.status {
            Status::Pending => (Tone::Plain, self.either("◻", "[ ]")),
            Status::InProgress => (Tone::Active, self.either("◼", "[>]")),
            Status::Completed if task.is_cancelled() => (Tone::Dim, self.either("✘", "[-]")),
            Status::Completed => (Tone::Done, self.either("✔", "[x]")),
        }
    }

    /// Returns the mark for truncated text.
    pub fn ellipsis(&self) -> &'static str {
        self.either("…", "...")
    }

    /// Truncates a line to the width of the display.
    pub fn fitted(&self, line: Line) -> Line {
        match self.width {
            Some(width) => line.cut(width, self.ellipsis()),
            None => line,
        }
    }

    /// Returns an arrow.
    pub fn arrow(&self) -> &'static str {
        self.either("→", "->")
    }

    /// Returns the separator between items of a line.
    pub fn dot(&self) -> &'static str {
        self.either(" · ", ", ")
    }

    /// Returns the first text if the display supports Unicode, otherwise the second.
    pub fn either(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }

    /// Formats a past moment as an age, a clock time or a full timestamp.
    pub fn time(&self, moment: Timestamp) -> String {
        match self.now {
            Some(now) if self.by_clock => time_in_speech(moment, now, self.zone),
            Some(now) => age(now.0.saturating_sub(moment.0)),
            None => moment.to_string(),
        }
    }

    /// Formats a planned moment with the time until then, as in `Mon 23 Nov, 00:00 (in 2 days)`, or as a full
    /// timestamp.
    pub fn planned(&self, moment: Timestamp) -> String {
        match self.now {
            Some(now) => {
                let distance = span_in_speech((moment.0 - now.0).saturating_abs());
                let distance = if moment < now { format!("{distance} ago") } else { format!("in {distance}") };
                format!("{} ({distance})", moment_in_speech(moment, now, self.zone))
            }
            None => moment.to_string(),
        }
    }

    /// Formats a moment in the time zone of the display, or as a full timestamp.
    pub fn moment(&self, moment: Timestamp) -> String {
        match self.now {
            Some(now) => moment_in_speech(moment, now, self.zone),
            None => moment.to_string(),
        }
    }
}

impl Look {
    /// Describes the remaining life of a lease: the time left, or the moment of expiry.
    pub fn lease(&self, lease: &Lease, state: &LeaseState) -> String {
        let pid = lease.holder.as_ref().map_or(0, |holder| holder.process().pid);
        match state {
            LeaseState::Live => self.live_lease(lease),
            LeaseState::Lapsing(end) => format!("its server (process {pid}) has ended, free {}", self.until(end.wall)),
            LeaseState::Unseen(end) => {
                format!("process {pid} is not visible from here, free {} if it stays silent", self.until(end.wall))
            }
            LeaseState::TimeIsOver => "expired".to_owned(),
            LeaseState::ProcessEnded => format!("ended, process {pid} has ended"),
            LeaseState::Silent => format!("ended, process {pid} is not visible from here and stays silent"),
        }
    }

    fn live_lease(&self, lease: &Lease) -> String {
        let time = lease.ends.as_ref().map(|end| match self.now {
            Some(now) if end.wall <= now => "ended".to_owned(),
            Some(now) => format!("for {} more", span(end.wall.0 - now.0)),
            None => format!("until {}", end.wall),
        });
        let process = lease.holder.as_ref().map(|holder| format!("while process {} runs", holder.process().pid));
        let words: Vec<String> = time.into_iter().chain(process).collect();
        if words.is_empty() { "without end".to_owned() } else { words.join(", ") }
    }

    /// Formats a future moment as the time until then, or as a full timestamp.
    pub fn until(&self, moment: Timestamp) -> String {
        match self.now {
            Some(now) => format!("in {}", span(moment.0 - now.0)),
            None => format!("at {moment}"),
        }
    }
}

/// Formats a duration in its largest unit, rounded up.
fn span(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0).unsigned_abs().div_ceil(1000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        7200..172_800 => format!("{} h", seconds.div_ceil(3600)),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}

/// Returns the state of a task in words.
pub fn state_in_words(task: &Task) -> &'static str {
    match task.status {
        Status::Pending => "pending",
        Status::InProgress => "in progress",
        Status::Completed if task.is_cancelled() => "cancelled",
        Status::Completed => "completed",
    }
}

fn age(milliseconds: i64) -> String {
    let minutes = milliseconds / 60_000;
    match minutes {
        ..1 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} h ago", minutes / 60),
        1440..2880 => "yesterday".to_owned(),
        2880..86_400 => format!("{} days ago", minutes / 1440),
        86_400..1_051_200 => format!("{} months ago", minutes / 43_200),
        _ => format!("{} years ago", minutes / 525_600),
    }
}

/// Renders the line with ANSI escape sequences; each styled span ends with a reset.
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

/// The ANSI codes of the member colours, in the order of [`crate::COLOURS`]. Orange and pink are not among the 16
/// basic colours.
const MEMBERS: [&str; 8] = ["31", "34", "32", "33", "35", "38;5;208", "38;5;211", "36"];

/// Wraps a paragraph to at most `columns` columns, breaking between words if possible. Leading spaces are repeated on
/// every line.
pub fn wrapped(paragraph: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let indent = paragraph.len() - paragraph.trim_start().len();
    let lead = " ".repeat(indent.min(columns / 2));
    let mut lines = Vec::new();
    let mut current = lead.clone();
    let mut is_empty = true;
    for word in paragraph.split_whitespace() {
        if !is_empty && current.width() + 1 + word.width() > columns {
            lines.push(std::mem::replace(&mut current, lead.clone()));
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        }
        for character in word.chars() {
            if !is_empty && current.width() + character.width().unwrap_or(0) > columns {
                lines.push(std::mem::replace(&mut current, lead.clone()));
            }
            current.push(character);
            is_empty = false;
        }
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::{Line, Tone, cut_text};

    #[test]
    fn a_line_is_cut_by_columns_and_not_by_characters() {
        let line = Line::plain("ab").with(Tone::Strong, "日本語です");
        assert_eq!(line.width(), 12);
        assert_eq!(line.clone().cut(12, "…").to_string(), "ab日本語です");
        assert_eq!(line.clone().cut(8, "…").to_string(), "ab日本…");
        assert_eq!(line.cut(0, "…").to_string(), "");
    }

    #[test]
    fn line_that_is_cut_twice_has_one_mark() {
        let line = Line::plain("ab…").with(Tone::Strong, ": rest").with(Tone::Dim, "!");
        assert_eq!(line.clone().cut(4, "…").to_string(), "ab…");
        assert_eq!(line.cut(6, "…").to_string(), "ab…: …");
    }

    #[test]
    fn a_line_is_wrapped_between_words_and_keeps_its_tones() {
        let line =
            Line::new().with(Tone::Error, "error: ").with(Tone::Plain, "one two three").with(Tone::Hint, " four");
        let wrapped = line.wrapped(14, 7);
        let texts: Vec<String> = wrapped.iter().map(|line| line.to_string().trim_end().to_owned()).collect();
        assert_eq!(texts, ["error: one two", "       three", "       four"]);
        assert_eq!(wrapped[2].spans().last().map(super::Span::tone), Some(Tone::Hint));
    }

    #[test]
    fn what_stands_in_quotes_stays_with_them() {
        let line = Line::plain("see it with `").with(Tone::Hint, "taskyard list --all").with(Tone::Plain, "`, or not");
        let texts: Vec<String> =
            line.wrapped(22, 2).iter().map(|line| line.to_string().trim_end().to_owned()).collect();
        assert_eq!(texts, ["see it with `taskyard", "  list --all`, or not"]);
    }

    #[test]
    fn a_piece_never_carries_an_escape_sequence() {
        assert_eq!(Line::plain("\x1b[2J").to_string(), "\\x1b[2J");
    }

    #[test]
    fn what_people_see_as_one_character_is_never_taken_apart() {
        assert_eq!(cut_text("a👩‍👩‍👧b", 3, "…"), "a…");
        assert_eq!(cut_text("a👩‍👩‍👧bc", 4, "…"), "a👩‍👩‍👧…");
        assert_eq!(cut_text("e\u{301}e\u{301}e\u{301}", 2, "…"), "e\u{301}…");
    }

    #[test]
    fn text_is_cut_without_a_space_before_the_mark() {
        assert_eq!(cut_text("write the parser", 7, "…"), "write…");
        assert_eq!(cut_text("short", 7, "…"), "short");
    }
}

#[cfg(test)]
mod look_tests {
    use super::Look;
    use crate::Timestamp;

    #[test]
    fn an_age_is_told_in_the_largest_unit_that_says_something() {
        let look = |now| Look { now: Some(Timestamp(now)), ..Look::PIPE };
        let minute = 60_000;
        for (age, words) in [
            (5, "just now"),
            (90_000, "1 min ago"),
            (125 * minute, "2 h ago"),
            (1500 * minute, "yesterday"),
            (10 * 1440 * minute, "10 days ago"),
            (100 * 1440 * minute, "3 months ago"),
            (800 * 1440 * minute, "2 years ago"),
            (-5 * minute, "just now"),
        ] {
            assert_eq!(look(age).time(Timestamp(0)), words);
        }
    }

    #[test]
    fn a_pipe_gets_the_full_time() {
        assert_eq!(Look::PIPE.time(Timestamp(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(Look::PIPE.planned(Timestamp(0)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn people_get_the_time_of_their_clock() {
        let look = Look { now: Some(Timestamp(1_000)), by_clock: true, ..Look::PIPE };
        assert_eq!(look.time(Timestamp(0)), "00:00:00");
        assert_eq!(look.time(Timestamp(-1)), "Wed 31 Dec 1969, 23:59:59");
        assert_eq!(look.planned(Timestamp(172_800_000)), "Sat 3 Jan, 00:00 (in 2 days)");
        assert_eq!(look.planned(Timestamp(-7_200_000)), "Wed 31 Dec 1969, 22:00 (2 hours ago)");
        assert_eq!(look.moment(Timestamp(172_800_000)), "Sat 3 Jan, 00:00");
    }
}

#[cfg(test)]
mod ansi_tests {
    use super::ansi;
    use crate::render::{Line, Tone};

    #[test]
    fn only_pieces_that_mean_something_are_coloured() {
        let line = Line::plain("a ").with(Tone::Done, "b");
        assert_eq!(ansi(&line), "a \x1b[32mb\x1b[0m");
    }
}

#[cfg(test)]
mod wrapping_tests {
    use super::wrapped;

    #[test]
    fn lines_break_between_words_and_long_words_break_anywhere() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("  - one two", 9), ["  - one", "  two"]);
        assert_eq!(wrapped("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
