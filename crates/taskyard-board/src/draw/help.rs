//! What the keys do, all of them.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use taskyard::core::render::{Line, Tone};
use taskyard::core::view::{ActionInfo, Subject, actions};

use super::canvas::{put, wipe};
use crate::app::App;

/// Tells whether something belongs to a group.
type IsOf = fn(&ActionInfo) -> bool;

/// Draws it over the view.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, body: Rect) {
    wipe(frame, body, app.settings.theme);
    let lines = lines(app);
    let most = lines.len().saturating_sub(usize::from(body.height));
    app.help_scroll = app.help_scroll.min(most);
    let width = usize::from(body.width);
    let look = app.look(width);
    for (row, line) in (body.y..body.bottom()).zip(lines.into_iter().skip(app.help_scroll)) {
        put(frame, body, row, &line.cut(width, look.ellipsis()), app.settings.theme, Style::new());
    }
}

fn lines(app: &App) -> Vec<Line> {
    let look = app.look(80);
    let mut lines = vec![
        Line::plain("  ").with(Tone::Strong, "Keys").with(Tone::Dim, "  any other key closes this; j and k scroll"),
        Line::new(),
    ];
    let groups: [(&str, IsOf); 4] = [
        ("Tasks: what is selected, else what is under the cursor", |info| {
            matches!(info.subject, Subject::Task | Subject::Tasks)
        }),
        ("The list, jobs and messages", |info| {
            matches!(info.subject, Subject::List | Subject::Job | Subject::Message | Subject::Revision)
        }),
        ("Views", |info| info.subject == Subject::Board && info.keys[0].chars().all(|key| key.is_ascii_digit())),
        ("Moving and finding", |info| {
            info.subject == Subject::Board && !info.keys[0].chars().all(|key| key.is_ascii_digit())
        }),
    ];
    for (title, is_of) in groups {
        lines.push(Line::plain("  ").with(Tone::Strong, title));
        for info in actions().iter().filter(|info| is_of(info)) {
            let keys = app.settings.keymap.keys(info.action).join(" ");
            let mut line = Line::plain("    ");
            line.append(Line::new().with(Tone::Hint, &keys).padded(16));
            line.append(Line::plain(info.name).padded(14));
            line.push(Tone::Dim, info.help);
            lines.push(line);
        }
        lines.push(Line::new());
    }
    lines.push(Line::plain("  ").with(Tone::Strong, "Marks"));
    for (tone, mark, words) in [
        (Tone::Plain, look.either("◻", "[ ]"), "pending; dim with ‹ and numbers where it waits for others"),
        (Tone::Active, look.either("◼", "[>]"), "in progress, with who has it and for how long"),
        (Tone::Done, look.either("✔", "[x]"), "done"),
        (Tone::Dim, look.either("✘", "[-]"), "cancelled"),
        (Tone::Error, look.either("▲", "!"), "needs you: overdue, failed, abandoned, unread, gone"),
    ] {
        let mut line = Line::plain("    ");
        line.append(Line::new().with(tone, mark).padded(16));
        line.push(Tone::Dim, words);
        lines.push(line);
    }
    lines
}
