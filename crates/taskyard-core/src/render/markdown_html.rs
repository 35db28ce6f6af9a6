//! Markdown as a part of a page.

use pulldown_cmark::{Alignment, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::escaping;

/// Returns a text as HTML. A line break stays one: people and agents mean it. What the text holds of HTML is shown as it was written and
/// never passed on; links lead to the web or to a mailbox and nowhere else; pictures are links. No element carries a style.
pub fn markdown_html(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let text = escaping::program_output(text);
    let mut page = String::with_capacity(text.len() + text.len() / 4);
    let mut open = OpenLinks::default();
    html::push_html(&mut page, Parser::new_ext(&text, options).filter_map(|event| open.made_safe(event)));
    page
}

/// The links that are open, and whether each was passed on.
#[derive(Default)]
struct OpenLinks(Vec<bool>);

impl OpenLinks {
    fn made_safe<'a>(&mut self, event: Event<'a>) -> Option<Event<'a>> {
        Some(match event {
            Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
            Event::SoftBreak => Event::HardBreak,
            Event::TaskListMarker(is_done) => Event::Text(if is_done { "✔ " } else { "◻ " }.into()),
            Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
            Event::Start(Tag::Link { link_type, dest_url, title, id })
            | Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let is_passed_on = !self.0.contains(&true) && is_harmless(&dest_url);
                self.0.push(is_passed_on);
                return is_passed_on.then_some(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                return self.0.pop().unwrap_or(false).then_some(Event::End(TagEnd::Link));
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
    use super::markdown_html;

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
    fn nothing_carries_a_style_and_nothing_steers_the_direction_of_text() {
        let page = markdown_html("|a|b|\n|--:|:-:|\n|1|2|\n\n\u{202e}gnp\u{0}\x1b");
        assert!(!page.contains("style") && page.contains("<table>"), "{page}");
        assert!(!page.contains('\u{202e}') && !page.contains('\x1b'), "{page}");
    }
}
