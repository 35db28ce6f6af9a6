//! The field in which tasks are chosen, and what is wrong with what was typed.

use maud::{Markup, html};
use taskyard::operations::Mistake;

use super::page_address::PageAddress;
use super::seen::Seen;
use super::texts::count;

/// Draws it. It is a form that asks for the same page, so that it works without a script.
pub(super) fn field(seen: &Seen) -> Markup {
    let address = &seen.address;
    let without = PageAddress { query: String::new(), needs: false, from: None, ..address.clone() };
    html! {
        form #filter role="search" method="get" action=(address.at(address.list.clone(), address.view).href()) {
            input #query type="search" name="q" value=(address.query) aria-label="Choose tasks" autocomplete="off" spellcheck="false"
                placeholder="Filter: words, tag:db, owner:ana, ready, older:2d" aria-invalid=[seen.mistake.as_ref().map(|_| "true")]
                aria-describedby="chosen";
            @if !address.sort.is_empty() { input type="hidden" name="sort" value=(address.sort); }
            span #chosen {
                @if let Some(mistake) = &seen.mistake {
                    (wrong(mistake, address))
                } @else if let Some(chosen) = &seen.survey.chosen {
                    span.dim { (count(chosen.len(), "task", "tasks")) } " "
                    a href=(without.href()) data-clear { "show all" }
                }
            }
        }
    }
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
