//! The history of a list, newest first, with undo.

use std::collections::HashMap;

use maud::{Markup, html};
use taskyard::Outcome;
use taskyard::core::render::{Look, entry_lines, is_summed_up, revision_line};
use taskyard::core::rules::history::undoing::UndoOffer;
use taskyard::core::view::{Step, steps};
use taskyard::core::{Entry, Revision, TaskId};
use taskyard::operations::UndoRange;
use taskyard::store::HistoryQuery;

use super::page_address::PageAddress;
use super::seen::Seen;
use super::texts::{ago, day, day_in_words, line, one_line};

/// Maximum number of revisions on a page.
const STEPS: usize = 100;

/// Maximum number of revisions searched for those of one agent.
const LOOKED_AT: usize = 2_000;

pub(super) fn view(seen: &Seen) -> Markup {
    let of = seen.address.open.as_deref();
    let task = of.and_then(|of| of.strip_prefix('#')).map(TaskId::sanitized);
    let actor = of.filter(|_| task.is_none());
    let until = seen.address.from.map(|from| Revision(from.saturating_sub(1)));
    let newest = Some(if actor.is_some() { LOOKED_AT } else { STEPS });
    let query = HistoryQuery { task: task.clone(), until, newest, ..HistoryQuery::default() };
    let mut steps = match seen.yard.history(&query) {
        Ok(entries) => steps(entries),
        Err(error) => return html! { p.alarm role="alert" { "▲ The journal cannot be read: " (error) } },
    };
    if let Some(actor) = actor {
        steps.retain(|step| step.entries.first().is_some_and(|entry| entry.actor.as_str() == actor));
        steps.truncate(STEPS);
    }
    let offers = offers(seen, &steps);
    let own_newest = match seen.yard.entries_to_undo(UndoRange::OwnNewest) {
        Ok(Outcome::Done(entries)) => entries.first().map(|entry| entry.revision),
        Ok(Outcome::Refused(_)) | Err(_) => None,
    };
    let last = steps.last().map(|step| step.revision.0).filter(|revision| *revision > 1 && steps.len() >= STEPS);
    let day_of = |step: &Step| step.entries.first().map(|entry| day(entry.at));
    html! {
        div.above.tools {
            button type="button" data-act="history-of" aria-haspopup="dialog" { "Of " b { (of.map_or_else(|| "everybody".to_owned(), one_line)) } " ▾" }
            @if seen.may_change() && !steps.is_empty() { button type="button" data-act="undo-range" { "Undo several" } }
        }
        @if steps.is_empty() {
            div.empty {
                @if of.is_some() {
                    h2 { "No matching changes" }
                    p { a href=(PageAddress { open: None, from: None, ..seen.address.clone() }.href()) { "Show everything" } }
                } @else {
                    h2 { "Nothing has happened yet" }
                    p { "Every change to a task is recorded here and can be undone." }
                }
            }
        }
        @for of_day in steps.chunk_by(|one, other| day_of(one) == day_of(other)) {
            @if let Some(first) = of_day.first().and_then(|step| step.entries.first()) { h2.day { (day_in_words(first.at, seen.now())) } }
            ol.history {
                @for step in of_day { (shown(seen, step, offers.get(&step.revision), own_newest == Some(step.revision))) }
            }
        }
        @if let Some(last) = last { a.more href=(PageAddress { from: Some(last), ..seen.address.clone() }.href()) { "Earlier" } }
    }
}

/// Returns what undoing each revision involves; empty if that cannot be determined.
fn offers(seen: &Seen, steps: &[Step]) -> HashMap<Revision, UndoOffer> {
    let revisions: Vec<Revision> = steps.iter().rev().map(|step| step.revision).collect();
    let offers = seen.yard.undo_offers(&revisions).unwrap_or_default();
    revisions.into_iter().zip(offers).collect()
}

fn shown(seen: &Seen, step: &Step, offer: Option<&UndoOffer>, is_own_newest: bool) -> Markup {
    let Some(first) = step.entries.first() else { return html! {} };
    let who = if first.op.is_elsewhere() { "another program".to_owned() } else { one_line(first.actor.as_str()) };
    html! {
        li id={ "r" (step.revision) } data-item data-revision=(step.revision) data-own-newest[is_own_newest] {
            div.when { a.id href={ "#r" (step.revision) } { "r" (step.revision) } " " (ago(first.at, seen.now())) }
            div.did {
                @if is_summed_up(step.entries.len()) {
                    p { (without_heading(revision_line(&step.entries, &LOOK), first, seen)) }
                } @else {
                    @for entry in &step.entries { (entry_shown(entry, seen, &who)) }
                }
            }
            @match offer.filter(|offer| seen.may_change() || matches!(offer, UndoOffer::Undone(_))) {
                Some(UndoOffer::Alone) => button type="button" data-act="undo-revision" data-revision=(step.revision) {
                    "Undo" span.sr { " revision " (step.revision) } @if is_own_newest { kbd aria-hidden="true" { "u" } }
                },
                Some(UndoOffer::WithLater { last, later }) => button type="button" data-act="undo-revision" data-revision=(step.revision) data-last=(last) {
                    "Undo with the " @if *later == 1 { "later change" } @else { (later) " later changes" } span.sr { " revision " (step.revision) }
                },
                Some(UndoOffer::Undone(undo)) => span.dim { "undone in " a href={ "#r" (undo.revision) } { "r" (undo.revision) } },
                Some(UndoOffer::Refused) | None => {},
            }
        }
    }
}

const LOOK: Look = Look { width: Some(160), ..Look::PIPE };

/// Renders an entry: actor, operation, and each field that changed.
pub(super) fn entry_shown(entry: &Entry, seen: &Seen, who: &str) -> Markup {
    let lines = entry_lines(entry, &LOOK);
    let href = |id: &TaskId| seen.href(id);
    html! {
        p {
            (super::texts::agent(who, seen.colour(who))) " "
            @if let Some(first) = lines.first() { (behind_actor(first, entry, &href)) }
        }
        @if lines.len() > 1 {
            ul.changes { @for changed in &lines[1..] { li { (line(changed, &href)) } } }
        }
    }
}

/// Omits from a terminal line what the page already shows before it: revision, time and actor.
fn behind_actor(whole: &taskyard::core::render::Line, entry: &Entry, href: &dyn Fn(&TaskId) -> String) -> Markup {
    let skipped = if entry.op.is_elsewhere() { 4 } else { 6 };
    let mut rest = taskyard::core::render::Line::new();
    whole.spans().iter().skip(skipped).for_each(|span| rest.push(span.tone(), span.text()));
    line(&rest, href)
}

fn without_heading(whole: Option<taskyard::core::render::Line>, first: &Entry, seen: &Seen) -> Markup {
    let href = |id: &TaskId| seen.href(id);
    html! {
        (super::texts::agent(first.actor.as_str(), seen.colour(first.actor.as_str()))) " "
        @if let Some(whole) = whole { (behind_actor(&whole, first, &href)) }
    }
}
