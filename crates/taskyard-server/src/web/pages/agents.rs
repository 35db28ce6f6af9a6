//! The agents working on a list: a strip along the bottom of every page, and a page.

use maud::{Markup, html};
use taskyard::core::render::shown_subject;
use taskyard::core::rules::changes::notes::{notes_of, read_note};
use taskyard::core::view::{AgentRow, HeldTask, LeaseShown};
use taskyard::teams::MemberState;

use super::card::doing;
use super::page_address::{PageAddress, View};
use super::seen::Seen;
use super::texts::{ago, colour_class, count, one_line, since, span_in_words};

/// Maximum number of agents in the strip.
const STRIP: usize = 12;

fn state(row: &AgentRow) -> (&'static str, &'static str, &'static str) {
    match row.state {
        MemberState::Running => ("●", "active", "at work"),
        MemberState::Idle => ("○", "dim", "idle"),
        MemberState::Stopping => ("◌", "dim", "stopping"),
        MemberState::AwaitingApproval => ("▲", "alarm", "waits for approval"),
        MemberState::Ghost => ("✕", "alarm", "gone"),
    }
}

/// Renders the strip.
pub(super) fn strip(seen: &Seen) -> Markup {
    let mut rows: Vec<&AgentRow> = seen.agents.iter().collect();
    rows.sort_by_key(|row| (!row.needs_a_person(), row.holds.is_empty(), row.state != MemberState::Running));
    let page = seen.address.at(seen.address.list.clone(), View::Agents).href();
    html! {
        footer #agents aria-label="Agents" {
            @if !rows.is_empty() && seen.address.view != View::Lists {
                ul {
                    @for row in rows.iter().take(STRIP) {
                        @let (sign, class, words) = state(row);
                        li id={ "at-" (row.name) } class=(colour_class(row.colour.as_deref())) {
                            span class=(class) role="img" aria-label=(words) title=(words) { (sign) }
                            b { (one_line(&row.name)) }
                            @match row.holds.first() {
                                Some(held) => (brief(seen, held)),
                                None => span.dim { (words) },
                            }
                            @if row.holds.len() > 1 { span.dim { "+" (row.holds.len() - 1) } }
                        }
                    }
                }
                @if rows.len() > STRIP { a.more href=(page) { (rows.len() - STRIP) " more" } }
            }
        }
    }
}

fn brief(seen: &Seen, held: &HeldTask) -> Markup {
    html! {
        a.id href=(seen.href(&held.task)) { "#" (held.task) }
        span.held { (one_line(&shown_subject(&held.task, &held.subject))) }
        (lease(seen, held))
    }
}

fn lease(seen: &Seen, held: &HeldTask) -> Markup {
    html! {
        @match held.lease {
            LeaseShown::Lives(Some(ends)) => span.dim title={ "the lease ends at " (ends) } { (span_in_words(ends.0 - seen.now().0)) " left" },
            LeaseShown::Ended => span.alarm { "▲ its lease has expired" },
            LeaseShown::Lives(None) | LeaseShown::None => @if let Some(taken) = held.since { span.dim { (since(taken, seen.now())) } },
        }
    }
}

/// Renders the remaining time of a lease.
fn lease_bar(seen: &Seen, held: &HeldTask) -> Markup {
    let LeaseShown::Lives(Some(ends)) = held.lease else { return html! {} };
    let Some(since) = held.since else { return html! {} };
    let (left, whole) = (ends.0 - seen.now().0, (ends.0 - since.0).max(1));
    let per_mille = (left.max(0) * 1000 / whole).min(1000);
    html! {
        svg.bar viewBox="0 0 1000 4" preserveAspectRatio="none" role="img" aria-label={ (per_mille / 10) " percent of the lease left" } {
            rect.rest width="1000" height="4" {}
            rect.active width=(per_mille) height="4" {}
        }
    }
}

/// Renders an agent's current work: its activity, its job's last line, its last note, and the path of its transcript.
fn work(seen: &Seen, held: &HeldTask) -> Markup {
    let Some(task) = seen.task(&held.task) else { return html! {} };
    let notes = notes_of(task);
    html! {
        div.work {
            (doing(seen, task))
            @if let Some(note) = notes.last().map(read_note) {
                p.last-note { span.dim { (note.author.unwrap_or("somebody")) ": " } (one_line(&note.text)) }
            }
            @if let Some(transcript) = seen.transcripts.get(&held.task) {
                p.dim { "transcript " code { (one_line(&transcript.display().to_string())) } }
            }
        }
    }
}

/// Renders the page.
pub(super) fn view(seen: &Seen) -> Markup {
    html! {
        @if seen.agents.is_empty() {
            div.empty {
                h2 { "No agents are working" }
                p { "An agent that claims a task is shown here, with how long its lease lasts: " code { "taskyard claim --next --as ana" } }
                p.dim { "Members of a team are listed from the moment they join." }
            }
        }
        ul.agents {
            @for row in &seen.agents {
                @let (sign, class, words) = state(row);
                li id={ "agent-" (row.name) } data-item .needy[row.needs_a_person()] {
                    div.who {
                        span class=(class) aria-hidden="true" { (sign) }
                        " " b class=(colour_class(row.colour.as_deref())) { (one_line(&row.name)) }
                        " " span class=(class) { (words) }
                    }
                    @if row.holds.is_empty() { p.dim { "has no task" } }
                    ul.holds {
                        @for held in &row.holds {
                            li {
                                span.mark.active aria-hidden="true" { "◼" }
                                a.open href=(seen.href(&held.task)) { span.id { "#" (held.task) } " " (one_line(&shown_subject(&held.task, &held.subject))) }
                                span.dim { @if let Some(taken) = held.since { (since(taken, seen.now())) } }
                                (lease(seen, held))
                                (lease_bar(seen, held))
                                (work(seen, held))
                            }
                        }
                    }
                    @if row.state == MemberState::Ghost && !row.holds.is_empty() {
                        p.alarm { "Its process has ended, and it still has tasks. "
                            @if seen.may_change() { button type="button" data-act="release-agent" data-agent=(row.name) { "Release them" } } }
                    }
                    @if let Some(request) = seen.mail.plans.get(&row.name).filter(|_| row.state == MemberState::AwaitingApproval && seen.may_change()) {
                        @let team = seen.mail.team.as_deref();
                        p.tools {
                            button.primary type="button" data-act="approve" data-agent=(row.name) data-request=(request) data-team=[team] { "Approve its plan" }
                            button type="button" data-act="reject" data-agent=(row.name) data-request=(request) data-team=[team] { "Reject it" }
                        }
                    }
                    div.facts { (remarks(seen, row)) }
                }
            }
        }
    }
}

fn remarks(seen: &Seen, row: &AgentRow) -> Markup {
    let now = seen.now();
    html! {
        @if let Some((activity, at)) = row.activity.as_ref().zip(row.seen) { span.dim { (one_line(activity)) " " (ago(at, now)) } }
        @if let Some(unread) = row.unread.filter(|unread| *unread > 0) { span.dim { (unread) " unread" } }
        @if let Some(uses) = row.tool_uses { span.dim { (count(usize::try_from(uses).unwrap_or(usize::MAX), "tool use", "tool uses")) } }
        @if let Some(tokens) = row.tokens { span.dim { (tokens) " tokens" } }
        @if let Some(joined) = row.joined { span.dim { "joined " (ago(joined, now)) } }
        @if row.joined.is_some() && seen.mail.name.as_deref().is_some_and(|own| own != row.name) {
            a href=(PageAddress { open: Some(row.name.clone()), ..seen.address.at(seen.address.list.clone(), View::Messages) }.href()) { "Write" }
        }
    }
}
