//! Markdown as a part of a page.

use pulldown_cmark::{
    Alignment, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream, html,
};

use super::{escaping, web_addresses};

/// Returns a text as HTML. A line break stays one: people and agents mean it. What the text holds of HTML is shown as it was written and
/// never passed on; links lead to the web or to a mailbox and nowhere else, and addresses of the web are links; pictures are links. No element
/// carries a style.
pub fn markdown_html(text: &str) -> String {
    drawn(text, |_, is_done| Event::Text(if is_done { "✔ " } else { "◻ " }.into()))
}

/// Returns the same with boxes in place of the marks of `[ ]` and `[x]`, numbered from 0, for a script that changes them.
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

/// What is open in a text.
struct Safe {
    /// The links, and whether each was passed on.
    links: Vec<bool>,
    is_code: bool,
    /// How many marks of tasks there were.
    marks: usize,
    mark: fn(usize, bool) -> Event<'static>,
}

impl Safe {
    /// Returns an event made safe, in which addresses of the web have become links.
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
            // Alignments would be written as styles.
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
    fn nothing_carries_a_style_and_nothing_steers_the_direction_of_text() {
        let page = markdown_html("|a|b|\n|--:|:-:|\n|1|2|\n\n\u{202e}gnp\u{0}\x1b");
        assert!(!page.contains("style") && page.contains("<table>"), "{page}");
        assert!(!page.contains('\u{202e}') && !page.contains('\x1b'), "{page}");
    }
}
