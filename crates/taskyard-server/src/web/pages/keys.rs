//! The keys of the pages, what they do in words, and the dialogs in which people type.

use maud::{Markup, html};
use taskyard::core::view::{Action, info};

use super::page_address::View;
use super::seen::Seen;

/// What can be done on a page: the key, the word by which a script knows it, and what the board in the terminal calls it.
const KEYS: [(&str, &str, Action); 25] = [
    ("j", "down", Action::Down),
    ("k", "up", Action::Up),
    ("h", "left", Action::Left),
    ("l", "right", Action::Right),
    ("Enter", "open", Action::Open),
    ("Esc", "close", Action::Back),
    ("c", "create", Action::Create),
    ("p", "create-part", Action::CreatePart),
    ("e", "edit", Action::Edit),
    ("n", "note", Action::Note),
    ("s", "start", Action::Start),
    ("d", "done", Action::Done),
    ("o", "reopen", Action::Reopen),
    ("C", "cancel", Action::Cancel),
    ("t", "claim", Action::Claim),
    ("r", "release", Action::Release),
    ("a", "assign", Action::Assign),
    ("b", "blocked-by", Action::BlockedBy),
    ("B", "unblock-pick", Action::Unblock),
    ("<", "move-left", Action::MoveLeft),
    (">", "move-right", Action::MoveRight),
    ("x", "select", Action::Select),
    ("X", "select-none", Action::SelectNone),
    ("Delete", "delete", Action::Delete),
    ("/", "filter", Action::Filter),
];

/// What is done to the page or the list as a whole.
const WHOLE: [(&str, &str, &str); 10] = [
    ("E", "edit-all", "change every field of it"),
    ("u", "undo", "take back your newest change, in the history the one that has the focus"),
    ("U", "redo", "take the last undo back"),
    (":", "palette", "find anything by its name; Ctrl-K, too"),
    ("!", "next-need", "show what needs you"),
    ("?", "help", "explain the keys"),
    ("", "create-list", "make a list and its first task"),
    ("", "invite", "make a link that lets another browser in"),
    ("", "theme", "switch between light, dark and what the system says"),
    ("", "log-out", "log this browser out"),
];

/// What changes nothing: all that is offered to a browser that may only read.
const READ_ONLY: [&str; 17] = [
    "down",
    "up",
    "left",
    "right",
    "open",
    "close",
    "select",
    "select-none",
    "filter",
    "palette",
    "next-need",
    "help",
    "theme",
    "log-out",
    "zoom-in",
    "zoom-out",
    "zoom-fit",
];

/// Returns what a page offers, for its scripts; `None` if that is everything.
pub(super) fn offered(seen: &Seen) -> Option<String> {
    (!seen.may_change()).then(|| READ_ONLY.join(" "))
}

fn is_offered(seen: &Seen, act: &str) -> bool {
    seen.may_change() || READ_ONLY.contains(&act)
}

/// Draws the dialogs that a script opens.
pub(super) fn dialogs(seen: &Seen) -> Markup {
    html! {
        dialog #help aria-labelledby="help-title" {
            h2 #help-title { "Keys" }
            dl.keys {
                @for (key, _, action) in KEYS.iter().filter(|(_, act, _)| is_offered(seen, act)) {
                    dt { kbd { (key) } } dd { (info(*action).help) }
                }
                @for (key, _, words) in WHOLE.iter().filter(|(key, act, _)| !key.is_empty() && is_offered(seen, act)) { dt { kbd { (key) } } dd { (words) } }
                @for view in View::OF_LIST.into_iter().chain([View::Lists]) {
                    dt { @for key in view.keys().split(' ') { kbd { (key) } " " } } dd { "show " (view.name()) }
                }
            }
            @if seen.may_change() { p.dim { "Cards can be dragged into another column; by the handle at their right edge, or with Alt held, onto the card that they wait for." } }
            form method="dialog" { button type="submit" { "Close" } }
        }
        dialog #palette aria-label="Find anything" {
            input #palette-text type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-label="Find anything"
                placeholder="A task, a list, something to do" autocomplete="off" spellcheck="false";
            ul #palette-list role="listbox" aria-label="Found" {
                @for (key, act, action) in KEYS.iter().skip(6).filter(|(_, act, _)| is_offered(seen, act)) {
                    (command(act, info(*action).name, info(*action).help, key))
                }
                @for (key, act, words) in WHOLE.iter().filter(|(_, act, _)| is_offered(seen, act)) {
                    (command(act, act, words, key))
                }
                @for view in View::OF_LIST.into_iter().chain([View::Lists]) {
                    li role="option" data-href=(seen.address.at(seen.address.list.clone(), view).href()) { b { "show " (view.name()) } kbd { (view.keys()) } }
                }
            }
        }
        dialog #ask aria-labelledby="ask-title" {
            form #ask-form {
                h2 #ask-title {}
                div #ask-fields {}
                p #ask-refused.alarm role="alert" {}
                div.tools { button type="button" data-act="dismiss" { "Cancel" kbd aria-hidden="true" { "Esc" } } button.primary #ask-go type="submit" { "Go" } }
            }
        }
        dialog #invited aria-labelledby="invited-title" {
            h2 #invited-title { "A link for one browser" }
            p #invited-words {}
            input #invited-link type="text" readonly aria-label="The link";
            form method="dialog" { button.primary type="submit" { "Close" } }
        }
        datalist #people {
            @for row in &seen.agents { option value=(row.name) {} }
            option value=(seen.yard.actor()) {}
        }
    }
}

fn command(act: &str, name: &str, words: &str, key: &str) -> Markup {
    html! {
        li role="option" data-act=(act) { b { (name) } " " span.dim { (words) } @if !key.is_empty() { kbd { (key) } } }
    }
}
