//! Markdown as lines of a terminal.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Line, Look, Tone};

/// The widest a paragraph becomes.
const WIDEST: usize = 100;
/// The narrowest one.
const NARROWEST: usize = 20;

/// Returns a text as a terminal shows it, in so many columns, each line behind so many spaces. A line break stays one: people and agents
/// mean it.
pub(crate) fn markdown_lines(text: &str, indent: usize, look: &Look) -> Vec<Line> {
    let columns = look.width.map_or(WIDEST, |width| width.saturating_sub(indent + 2)).clamp(NARROWEST, WIDEST);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer { columns, look, ..Writer::new(look) };
    Parser::new_ext(text, options).for_each(|event| writer.take(event));
    writer.end_block();
    let spaces = " ".repeat(indent);
    let indented = |line: Line| {
        let mut whole = Line::new();
        if !line.spans().is_empty() {
            whole.push(Tone::Plain, &spaces);
            whole.append(line);
        }
        whole
    };
    writer.lines.into_iter().map(indented).collect()
}

/// What stands before the lines of a block: before its first, and before the others.
struct Before {
    first: Option<(Tone, String)>,
    others: (Tone, String),
}

struct Writer<'a> {
    columns: usize,
    look: &'a Look,
    lines: Vec<Line>,
    /// What is gathered of the present block.
    current: Line,
    tones: Vec<Tone>,
    before: Vec<Before>,
    /// The number of the next item of each list around; none for one without numbers.
    lists: Vec<Option<u64>>,
    /// Whether an empty line stands before the next block.
    is_apart: bool,
    /// Where links lead that are open.
    links: Vec<String>,
    in_code: bool,
    table: Option<Table>,
}

#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Line>>,
}

impl<'a> Writer<'a> {
    fn new(look: &'a Look) -> Self {
        Self {
            columns: WIDEST,
            look,
            lines: Vec::new(),
            current: Line::new(),
            tones: Vec::new(),
            before: Vec::new(),
            lists: Vec::new(),
            is_apart: false,
            links: Vec::new(),
            in_code: false,
            table: None,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => self.code(&text),
            Event::Text(text) => self.push(&text),
            Event::Code(code) => self.current.push(Tone::Hint, &format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.begin_block();
                let rule = self.look.either("─", "-").repeat(self.room().min(40));
                self.current.push(Tone::Dim, &rule);
                self.end_block();
                self.is_apart = true;
            }
            Event::TaskListMarker(is_done) => {
                let (tone, mark) = match is_done {
                    true => (Tone::Done, self.look.either("✔ ", "[x] ")),
                    false => (Tone::Plain, self.look.either("◻ ", "[ ] ")),
                };
                self.current.push(tone, mark);
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                for line in html.split_inclusive('\n') {
                    self.current.push(Tone::Dim, line.trim_end_matches('\n'));
                    if line.ends_with('\n') {
                        self.end_line();
                    }
                }
            }
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => self.push(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.tones.push(if level <= HeadingLevel::H3 { Tone::Strong } else { Tone::Emphasis });
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                let bar = (Tone::Dim, self.look.either("│ ", "> ").to_owned());
                self.before.push(Before { first: None, others: bar });
                self.is_apart = false;
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.current.push(Tone::Dim, &language);
                    self.end_line();
                }
                self.before.push(Before { first: None, others: (Tone::Plain, "  ".to_owned()) });
                self.in_code = true;
            }
            Tag::List(first) => {
                self.end_block();
                if !self.lists.is_empty() {
                    self.is_apart = false;
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Emphasis => self.tones.push(Tone::Emphasis),
            Tag::Strong => self.tones.push(Tone::Strong),
            Tag::Strikethrough => self.tones.push(Tone::Struck),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
                self.tones.push(Tone::Link);
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(Table { alignments, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.tones.push(Tone::Strong);
                self.row();
            }
            Tag::TableRow => self.row(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_block();
                // Within an item the next one stands right below.
                self.is_apart = true;
            }
            TagEnd::Heading(_) => {
                self.tones.pop();
                self.end_block();
                self.is_apart = true;
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.end_block();
                self.before.pop();
                self.is_apart = matches!(tag, TagEnd::BlockQuote(_));
            }
            TagEnd::CodeBlock => {
                self.end_block();
                self.in_code = false;
                self.before.pop();
                self.is_apart = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_apart = self.lists.is_empty();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.tones.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.tones.pop();
                let leads_to = self.links.pop().unwrap_or_default();
                if !leads_to.is_empty() && !self.current.to_string().ends_with(&leads_to) {
                    self.current.push(Tone::Dim, &format!(" ({leads_to})"));
                }
            }
            TagEnd::TableHead => drop(self.tones.pop()),
            TagEnd::TableCell => self.cell(),
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        let tone = self.tones.last().copied().unwrap_or(Tone::Plain);
        self.current.push(tone, text);
    }

    /// Takes lines of code as they are.
    fn code(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.current.push(Tone::Hint, line.trim_end_matches(['\n', '\r']));
            if line.ends_with('\n') {
                self.end_line();
            }
        }
    }

    fn item(&mut self) {
        self.end_block();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => self.look.either("• ", "- ").to_owned(),
        };
        if self.is_apart {
            self.apart();
        }
        let spaces = " ".repeat(Line::plain(&mark).width());
        self.before.push(Before { first: Some((Tone::Dim, mark)), others: (Tone::Plain, spaces) });
    }

    fn begin_block(&mut self) {
        self.end_block();
        if self.is_apart {
            self.apart();
        }
    }

    /// Leaves an empty line, behind what stands before every line.
    fn apart(&mut self) {
        self.is_apart = false;
        if !self.lines.is_empty() {
            let mut line = Line::new();
            for Before { others: (tone, text), .. } in &self.before {
                line.push(*tone, text);
            }
            let is_bare = line.to_string().trim().is_empty();
            self.lines.push(if is_bare { Line::new() } else { line });
        }
    }

    /// Ends a block where one has begun.
    fn end_block(&mut self) {
        let is_begun = self.before.last().is_some_and(|before| before.first.is_some());
        if !self.current.spans().is_empty() || (is_begun && !self.in_code) {
            self.end_line();
        }
    }

    /// Ends a line, which becomes as many as it needs.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.current);
        let parts = if self.in_code { vec![line] } else { line.wrapped(self.room(), 0) };
        for part in parts {
            let mut whole = Line::new();
            for Before { first, others } in &mut self.before {
                let (tone, text) = first.take().unwrap_or_else(|| others.clone());
                whole.push(tone, &text);
            }
            whole.append(part);
            self.lines.push(whole);
        }
    }

    /// Returns how many columns are left behind what stands before every line.
    fn room(&self) -> usize {
        let used: usize = self.before.iter().map(|before| Line::plain(&before.others.1).width()).sum();
        self.columns.saturating_sub(used).max(NARROWEST / 2)
    }

    fn row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    fn cell(&mut self) {
        let cell = std::mem::take(&mut self.current);
        if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
            row.push(cell);
        }
    }

    fn end_table(&mut self) {
        let Some(Table { alignments, rows }) = self.table.take() else { return };
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.width())).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count).map(width).collect();
        for row in rows {
            for (column, cell) in row.into_iter().enumerate() {
                let missing = widths[column] - cell.width();
                let is_right = alignments.get(column) == Some(&Alignment::Right);
                self.current.push(Tone::Plain, &" ".repeat(if is_right { missing } else { 0 }));
                self.current.append(cell);
                let after = if is_right { 0 } else { missing } + usize::from(column + 1 < count) * 2;
                self.current.push(Tone::Plain, &" ".repeat(after));
            }
            let line = std::mem::take(&mut self.current).cut(self.room(), self.look.ellipsis());
            self.current = line;
            self.end_line();
        }
        self.is_apart = true;
    }
}

#[cfg(test)]
mod tests {
    use super::markdown_lines;
    use crate::render::{Look, Tone};

    fn shown(text: &str, width: usize) -> Vec<String> {
        let look = Look { width: Some(width), ..Look::PIPE };
        markdown_lines(text, 0, &look).iter().map(|line| line.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn blocks_stand_apart_and_what_belongs_together_stays_together() {
        let text = "# Title\nWhy *this* and **that** with `code`.\nSecond line.\n\n- one\n- two\n  more\n  1. deep\n  2. deeper\n- [x] done\n- [ ] open\n\n> said\n> twice\n\n```rust\nlet x = 1;\n\n  y\n```\n***\nend [here](https://x.org) <https://y.org>";
        assert_eq!(
            shown(text, 60),
            [
                "Title",
                "",
                "Why this and that with `code`.",
                "Second line.",
                "",
                "• one",
                "• two",
                "  more",
                "  1. deep",
                "  2. deeper",
                "• ✔ done",
                "• ◻ open",
                "",
                "│ said",
                "│ twice",
                "",
                "rust",
                "  let x = 1;",
                "",
                "    y",
                "",
                "────────────────────────────────────────",
                "",
                "end here (https://x.org) https://y.org",
            ]
        );
    }

    #[test]
    fn long_lines_are_wrapped_behind_what_stands_before_them() {
        assert_eq!(shown("- one two three four five six", 22), ["• one two three four", "  five six"]);
        assert_eq!(shown("> one two three four five six", 22), ["│ one two three four", "│ five six"]);
    }

    #[test]
    fn a_table_has_columns() {
        assert_eq!(shown("|a|n|\n|---|--:|\n|long|1|\n|b|22|", 40), ["a      n", "long   1", "b     22"]);
    }

    #[test]
    fn tones_say_what_a_terminal_cannot() {
        let look = Look { width: Some(40), ..Look::PIPE };
        let lines = markdown_lines("**a** *b* ~~c~~ `d`", 2, &look);
        let tones: Vec<Tone> = lines[0].spans().iter().map(super::super::Span::tone).collect();
        for tone in [Tone::Strong, Tone::Emphasis, Tone::Struck, Tone::Hint] {
            assert!(tones.contains(&tone), "{tone:?}");
        }
    }

    #[test]
    fn nothing_in_it_steers_a_terminal() {
        for text in ["a\x1b[2Jb", "```\n\x1b[2J\n```", "`\x1b[2J`", "[x](\x1b[2J)", "<b\x1b[2J>"] {
            assert!(shown(text, 40).iter().all(|line| !line.contains('\x1b')), "{text:?}");
        }
    }
}
