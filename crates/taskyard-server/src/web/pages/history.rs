//! What happened on a list, newest first, and taking it back.

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
use super::texts::{ago, line, one_line};

/// So many revisions a page has.
const STEPS: usize = 100;

/// Draws it.
pub(super) fn view(seen: &Seen) -> Markup {
    let until = seen.address.from.map(|from| Revision(from.saturating_sub(1)));
    let query = HistoryQuery { until, newest: Some(STEPS), ..HistoryQuery::default() };
    let steps = match seen.yard.history(&query) {
        Ok(entries) => steps(entries),
        Err(error) => return html! { p.alarm role="alert" { "▲ The journal cannot be read: " (error) } },
    };
    let offers = offers(seen, &steps);
    let own_newest = match seen.yard.entries_to_undo(UndoRange::OwnNewest) {
        Ok(Outcome::Done(entries)) => entries.first().map(|entry| entry.revision),
        Ok(Outcome::Refused(_)) | Err(_) => None,
    };
    let last = steps.last().map(|step| step.revision.0).filter(|revision| *revision > 1 && steps.len() >= STEPS);
    html! {
        @if steps.is_empty() { div.empty { h2 { "Nothing has happened yet" } p { "Everything that anybody does to a task is written down here, and can be taken back." } } }
        ol.history {
            @for step in &steps { (shown(seen, step, offers.get(&step.revision), own_newest == Some(step.revision))) }
        }
        @if let Some(last) = last { a.more href=(PageAddress { from: Some(last), ..seen.address.clone() }.href()) { "Earlier" } }
    }
}

/// Returns what it takes to undo each step; nothing where that cannot be found out.
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
                    "Take back" span.sr { " revision " (step.revision) } @if is_own_newest { kbd aria-hidden="true" { "u" } }
                },
                Some(UndoOffer::WithLater { last, later }) => button type="button" data-act="undo-revision" data-revision=(step.revision) data-last=(last) {
                    "Take back with the " @if *later == 1 { "later change" } @else { (later) " later changes" } span.sr { " revision " (step.revision) }
                },
                Some(UndoOffer::Undone(undo)) => span.dim { "taken back in " a href={ "#r" (undo.revision) } { "r" (undo.revision) } },
                Some(UndoOffer::Refused) | None => {},
            }
        }
    }
}

const LOOK: Look = Look { width: Some(160), ..Look::PIPE };

/// Draws what one entry did to its task: who, what, and each field that changed.
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

/// Leaves out of a line of the terminal what stands before it here already: the revision, the time, the actor.
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
