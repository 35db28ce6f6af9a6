//! Renders Markdown as terminal lines and as HTML.

use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
    html,
};

use super::{Line, Look, Tone, escaping, web_addresses};

/// The maximum width of a paragraph.
const WIDEST: usize = 100;
/// The minimum width of a paragraph.
const NARROWEST: usize = 20;

/// Renders Markdown for a terminal, with an indentation of `indent` spaces. Line breaks are kept, because people and
/// agents intend them.
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

/// The prefixes of a block: of its first line, and of the others.
struct Before {
    first: Option<(Tone, String)>,
    others: (Tone, String),
}

struct Writer<'a> {
    columns: usize,
    look: &'a Look,
    lines: Vec<Line>,
    /// The contents of the current block.
    current: Line,
    tones: Vec<Tone>,
    before: Vec<Before>,
    /// The next item number of each enclosing list; `None` for unordered lists.
    lists: Vec<Option<u64>>,
    /// Whether an empty line precedes the next block.
    is_apart: bool,
    /// The targets of open links.
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
                // Within an item, the next block follows without an empty line.
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

    /// Adds lines of code unchanged.
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

    /// Adds an empty line with the current prefix.
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

    /// Ends the current block, if any.
    fn end_block(&mut self) {
        let is_begun = self.before.last().is_some_and(|before| before.first.is_some());
        if !self.current.spans().is_empty() || (is_begun && !self.in_code) {
            self.end_line();
        }
    }

    /// Ends a line and wraps it.
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

    /// Returns the number of columns left beside the prefix.
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

/// Renders Markdown as HTML. Line breaks are kept, because people and agents intend them. HTML in the text is
/// displayed as text and never passed through. Links may only lead to the web or to an email address, web addresses
/// become links, and images become links. No element has a style.
pub fn markdown_html(text: &str) -> String {
    drawn(text, |_, is_done| Event::Text(if is_done { "✔ " } else { "◻ " }.into()))
}

/// Like [`markdown_html`], with checkboxes for `[ ]` and `[x]`, numbered from 0, which a script can change.
pub fn markdown_html_with_boxes(text: &str) -> String {
    drawn(text, |number, is_done| {
        let checked = if is_done { " checked" } else { "" };
        let label = number + 1;
        let made = format!(
            "<input type=\"checkbox\" data-act=\"check\" data-number=\"{number}\" aria-label=\"Item {label}\"{checked} />"
        );
        Event::InlineHtml(made.into())
    })
}

fn drawn(text: &str, mark: fn(usize, bool) -> Event<'static>) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let text = escaping::program_output(text);
    let mut page = String::with_capacity(text.len() + text.len() / 4);
    let mut safe = Safe { links: Vec::new(), is_code: false, marks: 0, mark };
    let events = TextMergeStream::new(Parser::new_ext(&text, options));
    html::push_html(&mut page, events.flat_map(|event| safe.linked(event)));
    page
}

/// The open elements of a text.
struct Safe {
    /// The open links, and whether each was passed through.
    links: Vec<bool>,
    is_code: bool,
    /// The number of task markers so far.
    marks: usize,
    mark: fn(usize, bool) -> Event<'static>,
}

impl Safe {
    /// Makes an event safe and turns web addresses into links.
    fn linked<'a>(&mut self, event: Event<'a>) -> Vec<Event<'a>> {
        match (self.made_safe(event), self.is_code || !self.links.is_empty()) {
            (Some(Event::Text(text)), false) => with_links(text),
            (event, _) => event.into_iter().collect(),
        }
    }

    fn made_safe<'a>(&mut self, event: Event<'a>) -> Option<Event<'a>> {
        Some(match event {
            Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
            Event::SoftBreak => Event::HardBreak,
            Event::TaskListMarker(is_done) => {
                self.marks += 1;
                (self.mark)(self.marks - 1, is_done)
            }
            Event::Start(Tag::CodeBlock(_)) | Event::End(TagEnd::CodeBlock) => {
                self.is_code = matches!(event, Event::Start(_));
                event
            }
            Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
            Event::Start(Tag::Link { link_type, dest_url, title, id })
            | Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let is_passed_on = !self.links.contains(&true) && is_harmless(&dest_url);
                self.links.push(is_passed_on);
                return is_passed_on.then_some(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                return self.links.pop().unwrap_or(false).then_some(Event::End(TagEnd::Link));
            }
            // The page has its own headings above these.
            Event::Start(Tag::Heading { level, id, .. }) => {
                Event::Start(Tag::Heading { level: lower(level), id, classes: Vec::new(), attrs: Vec::new() })
            }
            Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
            // Alignments would be rendered as styles.
            Event::Start(Tag::Table(columns)) => Event::Start(Tag::Table(vec![Alignment::None; columns.len()])),
            other => other,
        })
    }
}

fn with_links(text: CowStr<'_>) -> Vec<Event<'_>> {
    let addresses = web_addresses(&text);
    if addresses.is_empty() {
        return vec![Event::Text(text)];
    }
    let piece = |piece: &str| Event::Text(CowStr::from(piece.to_owned()));
    let mut events = Vec::new();
    let mut told = 0;
    for at in addresses {
        let address = &text[at.clone()];
        let (dest_url, none) = (CowStr::from(address.to_owned()), CowStr::from(""));
        let link = Tag::Link { link_type: LinkType::Autolink, dest_url, title: none.clone(), id: none };
        events.extend([piece(&text[told..at.start]), Event::Start(link), piece(address), Event::End(TagEnd::Link)]);
        told = at.end;
    }
    events.push(piece(&text[told..]));
    events
}

fn is_harmless(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    ["https://", "http://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
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

#[cfg(test)]
mod markdown_html_tests {
    use super::{markdown_html, markdown_html_with_boxes};

    #[test]
    fn what_people_write_looks_as_they_mean_it() {
        let page = markdown_html("# Plan\n\nFirst **this**,\nthen `that`.\n\n- [x] one\n- [ ] two\n");
        assert!(page.contains("<h3>Plan</h3>"), "{page}");
        assert!(page.contains("<strong>this</strong>,<br />\nthen <code>that</code>"), "{page}");
        assert!(page.contains("<li>✔ one</li>\n<li>◻ two</li>"), "{page}");
    }

    #[test]
    fn html_in_a_text_is_shown_and_never_passed_on() {
        let bad = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> and <b>bold</b>\n\n<!-- <p> -->\n";
        let page = markdown_html(bad);
        for mark in ["<script", "<img", "<b>", "<!--"] {
            assert!(!page.contains(mark), "{mark} in {page}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    }

    #[test]
    fn links_lead_to_the_web_and_nowhere_else() {
        for bad in
            ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "//elsewhere", "/open/x"]
        {
            let page = markdown_html(&format!("[here]({bad}) ![picture]({bad}) <{bad}>"));
            assert!(!page.contains("href"), "{bad}: {page}");
            assert!(page.contains("here") && page.contains("picture"), "{page}");
        }
        let page = markdown_html("[a](https://example.com \"t\") ![p](http://example.com/p.png)");
        assert!(page.contains("<a href=\"https://example.com\" title=\"t\">a</a>"), "{page}");
        assert!(page.contains("<a href=\"http://example.com/p.png\">p</a>"), "{page}");
    }

    #[test]
    fn addresses_are_links_except_in_code() {
        let page = markdown_html("See https://a.example/b_c_d. `https://b.example`\n\n    https://c.example\n");
        assert!(page.contains("<a href=\"https://a.example/b_c_d\">https://a.example/b_c_d</a>."), "{page}");
        assert_eq!(page.matches("<a ").count(), 1, "{page}");
        let page = markdown_html("[here](https://a.example) <https://b.example> <i title=https://c.example>");
        assert_eq!(page.matches("<a ").count(), 3, "{page}");
    }

    #[test]
    fn marks_of_tasks_are_boxes_for_a_script() {
        let page = markdown_html_with_boxes("- [ ] one\n- [x] two\n");
        assert!(page.contains("data-number=\"0\" aria-label=\"Item 1\" />one"), "{page}");
        assert!(page.contains("data-number=\"1\" aria-label=\"Item 2\" checked />two"), "{page}");
    }

    #[test]
    fn output_carries_no_style_or_direction_control() {
        let page = markdown_html("|a|b|\n|--:|:-:|\n|1|2|\n\n\u{202e}gnp\u{0}\x1b");
        assert!(!page.contains("style") && page.contains("<table>"), "{page}");
        assert!(!page.contains('\u{202e}') && !page.contains('\x1b'), "{page}");
    }
}
