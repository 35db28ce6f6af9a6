//! Messages, as one conversation per person or agent, with an input box.

use maud::{Markup, html};
use taskyard::core::view::{LetterState, Thread};

use super::page_address::{PageAddress, View};
use super::seen::Seen;
use super::texts::{agent, ago, colour_class, linked, one_line};

/// Maximum number of messages shown per conversation, the newest.
const LETTERS: usize = 200;

pub(super) fn view(seen: &Seen) -> Markup {
    let mail = &seen.mail;
    if let Some(problem) = &mail.problem {
        return html! { p.alarm role="alert" { "▲ Messages cannot be read: " (problem) } };
    }
    if mail.name.is_none() {
        return nobody(seen);
    }
    let open = seen.address.open.as_deref();
    let others: Vec<&str> = seen
        .agents
        .iter()
        .filter(|row| row.joined.is_some() && mail.name.as_deref() != Some(&row.name))
        .map(|row| row.name.as_str())
        .filter(|name| mail.threads.iter().all(|thread| thread.with != *name))
        .collect();
    let first = mail.threads.first().map(|thread| thread.with.as_str()).or(others.first().copied());
    let with = open.or(first);
    let thread = mail.threads.iter().find(|thread| Some(thread.with.as_str()) == with);
    html! {
        div.split {
            ul.threads {
                @for thread in &mail.threads { (thread_row(seen, thread, Some(thread.with.as_str()) == with)) }
                @for name in &others {
                    li data-item .is-open[Some(*name) == with] { a.open href=(address(seen, name)) { (agent(name, seen.colour(name))) } }
                }
                li data-item .is-open[with == Some("*")] { a.open href=(address(seen, "*")) { "Everybody" } }
                @if let Some((team, name)) = mail.team.as_deref().zip(mail.name.as_deref()).filter(|_| seen.may_change()) {
                    li { button.link type="button" data-act="leave-team" data-team=(team) data-agent=(name) { "Leave the team" } }
                }
            }
            @if let Some(with) = with { (conversation(seen, with, thread)) }
        }
    }
}

fn address(seen: &Seen, with: &str) -> String {
    PageAddress { open: Some(with.to_owned()), ..seen.address.at(seen.address.list.clone(), View::Messages) }.href()
}

fn thread_row(seen: &Seen, thread: &Thread, is_open: bool) -> Markup {
    let unread = thread.unread();
    let last = thread.letters.last();
    html! {
        li id={ "thread-" (thread.with) } data-item .is-open[is_open] {
            a.open href=(address(seen, &thread.with)) aria-current=[is_open.then_some("true")] { (agent(&thread.with, thread.colour.as_deref())) }
            @if unread > 0 { " " span.alarm { "▲ " (unread) " unread" } }
            @if let Some(last) = last {
                p.dim {
                    @if let Some(at) = last.at { (ago(at, seen.now())) " " }
                    @if matches!(last.state, LetterState::Sent(_)) { "you: " }
                    (one_line(last.text.lines().next().unwrap_or_default()))
                }
            }
        }
    }
}

fn conversation(seen: &Seen, with: &str, thread: Option<&Thread>) -> Markup {
    let letters = thread.map(|thread| thread.letters.as_slice()).unwrap_or_default();
    let skipped = letters.len().saturating_sub(LETTERS);
    let colour = thread.and_then(|thread| thread.colour.as_deref()).or_else(|| seen.colour(with));
    let unread = thread.map_or(0, Thread::unread);
    let name = if with == "*" { "everybody" } else { with };
    html! {
        section.conversation data-unread[seen.may_change() && unread > 0] data-with=(with) data-team=[seen.mail.team.as_deref()] data-key={ (seen.address.list) "/" (with) } aria-label={ "Conversation with " (name) } {
            @if letters.is_empty() { p.dim { "No messages yet." } }
            ol.letters {
                @for letter in letters.iter().skip(skipped) {
                    @let is_own = matches!(letter.state, LetterState::Sent(_));
                    li.own[is_own] {
                        div.when {
                            @if is_own { b { "you" } } @else { b class=(colour_class(colour)) { (one_line(with)) } }
                            @if let Some(at) = letter.at { " " (ago(at, seen.now())) }
                            @match &letter.state {
                                LetterState::Waiting(_) => { " " span.alarm { "unread" } },
                                LetterState::Sent(state) => { " " span.dim { (state.as_str()) } },
                                LetterState::Acknowledged => {},
                            }
                        }
                        p.text dir="auto" { (linked(letter.text.trim_end())) }
                    }
                }
            }
            @if seen.may_change() {
                form.write data-form="send" data-to=(with) data-team=[seen.mail.team.as_deref()] {
                    textarea #letter name="text" rows="2" dir="auto" required data-draft={ "message " (seen.address.list) "/" (with) } aria-label={ "Message to " (name) } placeholder={ "Write to " (name) } {}
                    button.primary type="submit" { "Send" }
                }
            }
        }
    }
}

fn nobody(seen: &Seen) -> Markup {
    html! {
        div.empty {
            h2 { "You are not in a team of this list" }
            @match &seen.mail.team {
                Some(team) => {
                    p { "The list belongs to the team " b { (one_line(team)) } ". Its members can send each other messages." }
                    @if seen.may_change() { p { button.primary type="button" data-act="join" data-team=(team) { "Join as " (seen.yard.actor()) } } }
                },
                None => {
                    p { "Members of a team can send each other messages." }
                    @if seen.may_change() { p { button.primary type="button" data-act="create-team" { "Create a team" } } }
                    p.dim { "Or from a shell: " code { "taskyard team create " (seen.address.list) } }
                },
            }
        }
    }
}
