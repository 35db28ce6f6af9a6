//! Keyboard shortcuts, their descriptions, and the dialogs.

use maud::{Markup, html};
use taskyard::core::view::{Action, info};

use super::page_address::View;
use super::seen::Seen;

/// The actions shared with the terminal board: key, identifier in scripts, and action.
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

/// Actions that the terminal board lacks or describes differently.
const MORE: [(&str, &str, &str); 25] = [
    ("E", "edit-all", "change every field of it"),
    ("m", "menu", "show all actions for it"),
    ("P", "set-priority", "choose its priority"),
    ("T", "set-tags", "choose its tags"),
    ("D", "set-due", "choose when it is due"),
    ("", "set-defer", "choose when it becomes ready"),
    ("", "set-estimate", "choose how long it will take"),
    ("", "set-parent", "choose its parent"),
    ("", "set-blocks", "choose its dependents"),
    ("", "set-kind", "choose its kind"),
    ("f", "focus", "show it in the graph with its neighbours"),
    ("", "copy-link", "copy its link"),
    ("", "take-back", "undo its newest change"),
    ("u", "undo", "undo your newest change, or the focused one in the history"),
    ("U", "redo", "redo the last undone change"),
    (":", "palette", "find anything by name (also Ctrl-K)"),
    ("!", "next-need", "show what needs your attention"),
    ("?", "help", "explain the keys"),
    ("", "create-list", "create a list and its first task"),
    ("", "list-menu", "rename, export, merge, clear or remove the list"),
    ("", "save-filter", "keep this filter beside the lists"),
    ("", "job", "run a command"),
    ("", "invite", "create a link that signs in another browser"),
    ("", "theme", "switch between light, dark and the system setting"),
    ("", "log-out", "log out this browser"),
];

/// The keys by group.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Move around", &["down", "up", "left", "right", "open", "close", "filter", "next-need", "palette", "help"]),
    ("Create and edit", &["create", "create-part", "edit", "edit-all", "note", "undo", "redo"]),
    (
        "Change the status",
        &["start", "done", "reopen", "cancel", "claim", "release", "move-left", "move-right", "delete"],
    ),
    (
        "Its properties",
        &["menu", "assign", "set-priority", "set-tags", "set-due", "blocked-by", "unblock-pick", "focus"],
    ),
    ("Several at once", &["select", "select-none"]),
];

/// Returns the key and the description of an action.
fn explained(act: &str) -> Option<(&'static str, &'static str)> {
    let known = KEYS.iter().find(|(_, word, _)| *word == act).map(|(key, _, action)| (*key, info(*action).help));
    known.or_else(|| MORE.iter().find(|(_, word, _)| *word == act).map(|(key, _, words)| (*key, *words)))
}

/// Actions that change nothing, the only ones offered to a read-only browser.
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

/// Returns the actions that a page offers to its scripts; `None` for all.
pub(super) fn offered(seen: &Seen) -> Option<String> {
    (!seen.may_change()).then(|| READ_ONLY.join(" "))
}

fn is_offered(seen: &Seen, act: &str) -> bool {
    (seen.may_change() && (act != "job" || seen.may_run_commands)) || READ_ONLY.contains(&act)
}

/// Renders the dialogs that scripts open.
pub(super) fn dialogs(seen: &Seen) -> Markup {
    html! {
        dialog #help aria-labelledby="help-title" {
            h2 #help-title { "Keys" }
            div.key-groups {
                @for (title, acts) in GROUPS {
                    section {
                        h3 { (title) }
                        dl.keys {
                            @for (key, words) in acts.iter().filter(|act| is_offered(seen, act)).filter_map(|act| explained(act)) {
                                dt { kbd { (key) } } dd { (words) }
                            }
                        }
                    }
                }
                section {
                    h3 { "Show" }
                    dl.keys {
                        @for view in View::OF_LIST.into_iter().chain([View::Lists]) {
                            dt { @for key in view.keys().split(' ') { kbd { (key) } " " } } dd { (view.name()) }
                        }
                    }
                }
            }
            @if seen.may_change() { p.dim { "Drag a card into another column to change its status. Drag it by the handle at its right edge, or with Alt held, onto another card to make it depend on that card." } }
            form method="dialog" { button type="submit" { "Close" } }
        }
        dialog #palette aria-label="Find anything" {
            input #palette-text type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-label="Find anything"
                placeholder="A task, a list, an action" autocomplete="off" spellcheck="false";
            ul #palette-list role="listbox" aria-label="Found" {
                @for (key, act, action) in KEYS.iter().skip(6).filter(|(_, act, _)| is_offered(seen, act)) {
                    (command(act, info(*action).name, info(*action).help, key))
                }
                @for (key, act, words) in MORE.iter().filter(|(_, act, _)| is_offered(seen, act)) {
                    (command(act, act, words, key))
                }
                @for view in View::OF_LIST.into_iter().chain([View::Lists]) {
                    li role="option" data-href=(seen.address.at(seen.address.list.clone(), view).href()) { span { "Show " (view.name().to_lowercase()) } kbd { (view.keys()) } }
                }
            }
        }
        dialog #picker aria-labelledby="picker-title" {
            div.head { h2 #picker-title {} button #picker-close type="button" aria-label="Close" { "×" } }
            input #picker-text type="text" role="combobox" aria-expanded="true" aria-controls="picker-list" aria-labelledby="picker-title"
                autocomplete="off" spellcheck="false";
            ul #picker-list role="listbox" aria-labelledby="picker-title" {}
            div #picker-days hidden {}
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
            h2 #invited-title { "A single-use link" }
            p #invited-words {}
            input #invited-link type="text" readonly aria-label="The link";
            form method="dialog" { button.primary type="submit" { "Close" } }
        }
    }
}

fn command(act: &str, name: &str, words: &str, key: &str) -> Markup {
    let (first, rest) = words.split_at(words.chars().next().map_or(0, char::len_utf8));
    html! {
        li role="option" data-act=(act) data-also=(name.replace('-', " ")) { span { (first.to_uppercase()) (rest) } @if !key.is_empty() { kbd { (key) } } }
    }
}
