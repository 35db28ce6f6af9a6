//! The query field, and errors in the query.

use maud::{Markup, html};
use taskyard::operations::Mistake;

use super::page_address::{PageAddress, View};
use super::seen::Seen;
use super::texts::count;

/// Renders the field as a form, so that it works without a script.
pub(super) fn field(seen: &Seen) -> Markup {
    let address = &seen.address;
    let without = PageAddress { query: String::new(), needs: false, from: None, ..address.clone() };
    html! {
        form #filter role="search" method="get" action=(address.at(address.list.clone(), address.view).href()) {
            input #query type="search" name="q" value=(address.query) aria-label="Choose tasks" autocomplete="off" spellcheck="false"
                placeholder="Filter: words, tag:db, owner:ana, ready, older:2d" aria-invalid=[seen.mistake.as_ref().map(|_| "true")]
                aria-describedby="chosen";
            @if !address.group.is_empty() { input type="hidden" name="group" value=(address.group); }
            @if !address.sort.is_empty() { input type="hidden" name="sort" value=(address.sort); }
            span #chosen {
                @if let Some(mistake) = &seen.mistake {
                    (wrong(mistake, address))
                } @else if let Some(chosen) = &seen.survey.chosen {
                    span.dim { (count(chosen.len(), "task", "tasks")) } " "
                    a href=(without.href()) data-clear { "show all" }
                    @if seen.may_change() && !address.query.is_empty() { " " button.link type="button" data-act="save-filter" { "save" span.sr { " this filter" } } }
                }
            }
            @if address.view == View::Columns && address.rows.is_none() { (arrangement(address)) }
        }
        @let terms = terms(&address.query);
        @if terms.len() > 1 && seen.mistake.is_none() {
            ul.chips aria-label="Terms of the filter" {
                @for (number, term) in terms.iter().enumerate() {
                    @let others: Vec<&str> = terms.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, term)| *term).collect();
                    li { a.chip href=(PageAddress { query: others.join(" "), from: None, ..address.clone() }.href()) { span.sr { "Without " } (term) span aria-hidden="true" { " ×" } } }
                }
            }
        }
    }
}

/// Renders the choice of grouping and sorting.
fn arrangement(address: &PageAddress) -> Markup {
    let group = if address.group.is_empty() { "none" } else { &address.group };
    let sort = match address.sort.as_str() {
        "" => "rank",
        "due" => "due",
        "-changed" => "changed",
        other => other,
    };
    html! {
        span #arranged.arranged data-keep {
            button type="button" data-act="group" aria-haspopup="dialog" { "Group: " (group) }
            button type="button" data-act="sort" aria-haspopup="dialog" { "Sort: " (sort) }
        }
    }
}

/// Returns the terms of a query that can be removed one by one; empty if they are not joined by spaces alone.
fn terms(query: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (at, letter) in query.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' | ')' | '|' | '&' if !is_quoted => return Vec::new(),
            letter if letter.is_whitespace() && !is_quoted => {
                terms.push(&query[start..at]);
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    terms.push(&query[start..]);
    terms.retain(|term| !term.is_empty());
    let joins = |term: &&str| ["or", "and", "not"].iter().any(|word| term.eq_ignore_ascii_case(word));
    if terms.iter().any(joins) { Vec::new() } else { terms }
}

fn wrong(mistake: &Mistake, address: &PageAddress) -> Markup {
    let text = &mistake.text;
    let (start, end) = (mistake.span.start.min(text.len()), mistake.span.end.min(text.len()));
    html! {
        span.mistake role="alert" {
            code { (text[..start]) mark { (if start == end { "…" } else { &text[start..end] }) } (text[end..]) }
            " " (mistake.what)
            @if let Some(mended) = mistake.mended() {
                ", did you mean "
                a href=(PageAddress { query: mended.clone(), ..address.clone() }.href()) { (mended) } "?"
            }
            @if let Some(advice) = &mistake.advice { ": " (advice) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::terms;

    #[test]
    fn terms_are_taken_apart_at_spaces() {
        assert_eq!(terms("tag:db \"two words\" owner:ana"), ["tag:db", "\"two words\"", "owner:ana"]);
        assert_eq!(terms(""), [""; 0]);
        assert_eq!(terms("tag:db or owner:ana"), [""; 0]);
        assert_eq!(terms("(tag:db) ready"), [""; 0]);
    }
}
