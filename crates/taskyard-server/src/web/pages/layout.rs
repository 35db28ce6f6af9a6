//! The layout of every page: lists on the left, views and status line above, agents below.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::page_address::View;
use super::seen::Seen;
use super::{agents, assets, charts, columns, graph, history, jobs, keys, lists, messages, table, task, texts, truth};

/// A part of a page, which can be requested separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Lists,
    Views,
    Truth,
    View,
    Task,
    Agents,
}

impl Part {
    pub(super) const ALL: [Self; 6] = [Self::Lists, Self::Views, Self::Truth, Self::View, Self::Task, Self::Agents];

    /// Returns its HTML id.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Lists => "lists",
            Self::Views => "views",
            Self::Truth => "truth",
            Self::View => "view",
            Self::Task => "task",
            Self::Agents => "agents",
        }
    }

    pub(super) fn draw(self, seen: &Seen) -> Markup {
        match self {
            Self::Lists => lists::beside(seen),
            Self::Views => views(seen),
            Self::Truth => truth::line(seen),
            Self::View => view(seen),
            Self::Task => task::pane(seen),
            Self::Agents => agents::strip(seen),
        }
    }
}

/// Renders the whole page. `since` is the event as of which the list was read.
pub(super) fn whole(seen: &Seen, since: Option<&str>) -> Markup {
    let address = &seen.address;
    let base = &*address.base;
    html! {
        (DOCTYPE)
        html lang="en" data-base=(base) data-since=[since] data-scope=(seen.scope.as_str()) data-offers=[keys::offered(seen)] data-exec[seen.may_run_commands] {
            (head(base, &title(seen)))
            body.has-task[address.task.is_some()].all-lists[address.view == View::Lists] {
                a.skip href="#view" { "Skip to the tasks" }
                header.top {
                    a.home href={ (base) "/lists" } title="All lists" aria-label="All lists" { (logo()) }
                    (Part::Views.draw(seen))
                    div.tools {
                        span.you title="Your actions are recorded under this name" {
                            "you are " b { (texts::one_line(seen.yard.actor().as_str())) } @if !seen.may_change() { " (read only)" }
                        }
                        @if seen.may_change() {
                            button #new type="button" data-act="create" title="New task (c)" { "New" kbd aria-hidden="true" { "c" } }
                            button type="button" data-act="invite" title="Create a link for another browser" { "Invite" }
                        }
                        button #palette-button type="button" data-act="palette" title="Find anything (Ctrl-K)" { "Find" kbd aria-hidden="true" { "Ctrl K" } }
                        button type="button" data-act="theme" title="Light or dark" aria-label="Light or dark" { "◐" }
                        button type="button" data-act="log-out" title="Log out this browser" aria-label="Log out" { (log_out_sign()) }
                        button type="button" data-act="help" title="Keys (?)" aria-label="Keys" { "?" }
                    }
                }
                (Part::Lists.draw(seen))
                div.middle {
                    (Part::Truth.draw(seen))
                    (Part::View.draw(seen))
                }
                (Part::Task.draw(seen))
                (Part::Agents.draw(seen))
                p #gone hidden { span role="alert" {} " " span {} }
                p #said role="status" aria-live="polite" {}
                (keys::dialogs(seen))
            }
        }
    }
}

/// Renders an error page.
pub(crate) fn problem(base: &str, message: &str, hint: Option<&str>) -> Markup {
    let said = html! {
        p { (message) }
        @if let Some(hint) = hint { p.dim { (hint) } }
        p { a href={ (base) "/lists" } { "All lists" } }
    };
    alone(base, &html! {}, "This page cannot be shown", &said)
}

/// Renders the page for a browser that is not signed in.
pub(crate) fn closed(base: &str) -> Markup {
    let said = html! {
        p { "Open the link that " code { "taskyard serve" } " printed: it signs in one browser, once." }
        p { "If it was already used, run " code { "taskyard serve" } " again on the same machine: it prints a new link while the server runs." }
        p { a href="" { "Try again" } }
    };
    alone(base, &html! {}, "This browser is not signed in yet", &said)
}

/// Renders the page of a link. Its script stores the pages' secret and continues to the board.
pub(crate) fn opening(secret: &str, base: &str) -> Markup {
    let more = html! {
        meta name="taskyard-page" content=(secret);
        script type="module" src=(assets::address(base, "opening.js")) {}
        // Without scripts, the pages are read-only.
        noscript { meta http-equiv="refresh" content={ "0;url=" (base) "/" }; }
    };
    alone(base, &more, "You are signed in", &html! { p { a href={ (base) "/" } { "Open the board" } } })
}

/// Renders a short message in the board's layout, without any list.
fn alone(base: &str, more_head: &Markup, title: &str, said: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" data-base=(base) {
            head { (basics(base, "Taskyard")) (more_head) }
            body.alone {
                header.top { a.home href={ (base) "/lists" } { (logo()) span { "Taskyard" } } }
                main #view { h1 { (title) } (said) }
            }
        }
    }
}

fn head(base: &str, title: &str) -> Markup {
    html! {
        head {
            (basics(base, title))
            script type="module" src=(assets::address(base, "board.js")) {}
        }
    }
}

fn basics(base: &str, title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        title { (title) }
        link rel="icon" type="image/svg+xml" href=(assets::address(base, "icon.svg"));
        link rel="stylesheet" href=(assets::address(base, "board.css"));
    }
}

/// Renders the list's name and its views.
fn views(seen: &Seen) -> Markup {
    let address = &seen.address;
    let is_of_list = address.view != View::Lists;
    let running = seen.job_rows.iter().filter(|row| row.is_going_on()).count();
    let list = is_of_list.then_some(&address.list);
    html! {
        div #views data-list=[list] data-view=(address.view.word()) data-title=(title(seen)) {
            h1 { (if is_of_list { address.list.as_str() } else { "Lists" }) }
            @if seen.may_change() {
                button.more-button type="button" data-act="list-menu" data-list=[list] aria-haspopup="dialog" aria-label="Actions for the list" { "⋯" }
            }
            nav aria-label="Views" {
                @for view in View::OF_LIST.into_iter().filter(|_| is_of_list) {
                    @let is_shown = view == address.view;
                    a href=(address.view(view).href()) aria-current=[is_shown.then_some("page")] data-view=(view.word()) title=(view.keys()) {
                        (view.name())
                        @if view == View::Messages && seen.mail.unread() > 0 { " " span.alarm { (seen.mail.unread()) } }
                        @if view == View::Jobs && running > 0 { " " span.active { (running) } }
                    }
                }
            }
        }
    }
}

fn title(seen: &Seen) -> String {
    let address = &seen.address;
    let needs = match seen.needs() {
        0 => String::new(),
        needs => format!("({needs}) "),
    };
    match address.view {
        View::Lists => "Lists · Taskyard".to_owned(),
        view => format!("{needs}{} · {} · Taskyard", address.list, view.name()),
    }
}

fn view(seen: &Seen) -> Markup {
    let (has_padding, shown) = match seen.address.view {
        View::Columns => (false, columns::view(seen)),
        View::Table => (false, table::view(seen)),
        View::Graph => (false, graph::view(seen)),
        View::History => (true, history::view(seen)),
        View::Charts => (true, charts::view(seen)),
        View::Agents => (true, agents::view(seen)),
        View::Jobs => (true, jobs::view(seen)),
        View::Messages => (true, messages::view(seen)),
        View::Lists => (true, lists::view(seen)),
    };
    // A view without focusable content must itself be scrollable by keyboard.
    let tabindex = if seen.address.view == View::Charts { "0" } else { "-1" };
    // Never morph one list's page into another's, since their task numbers coincide.
    let key = (seen.address.view != View::Lists).then_some(&seen.address.list);
    html! { main #view data-key=[key] class={ "view-" (seen.address.view.word()) (if has_padding { " padded" } else { "" }) } tabindex=(tabindex) { (shown) } }
}

/// Renders the sign of a switch. Few fonts have the letter for it.
fn log_out_sign() -> Markup {
    PreEscaped("<svg class=\"sign\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"M8 2v6M4.8 4a5 5 0 1 0 6.4 0\"/></svg>".to_owned())
}

/// Renders the logo: three bars of a list, the first one done.
fn logo() -> Markup {
    PreEscaped(
        "<svg class=\"logo\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path class=\"one\" d=\"M4 6.5 6.5 9 10.5 4\"/>\
         <path class=\"two\" d=\"M13 6.5h7M4 13h16\"/><path class=\"three\" d=\"M4 19h11\"/></svg>"
            .to_owned(),
    )
}
