//! Every list of a store, as rows.

use crate::render::{Line, Look, Tone, counts_in_words, cut_text};
use crate::rules::history::vanishing::Gone;
use crate::{ListId, Timestamp};

/// How many cells a bar of progress has.
const BAR: usize = 10;

/// So many names are told of those at work.
const NAMES: usize = 3;

/// A list of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// Its name.
    pub list: ListId,
    /// How many tasks are pending, in progress and completed.
    pub counts: [usize; 3],
    /// When it last changed.
    pub changed: Option<Timestamp>,
    /// What is gone from it, where its open tasks were removed and no agent meant that.
    pub gone: Option<Gone>,
    /// The agents that are alive on it, by name: each has a task with a live lease.
    pub alive: Vec<String>,
}

/// Returns a list on one line, its name in so many columns. `is_shown` marks the one that is looked at.
pub fn list_line(row: &ListRow, is_shown: bool, name_width: usize, look: &Look) -> Line {
    let mut line = match row.alive.is_empty() {
        true => Line::plain("  "),
        false => Line::new().with(Tone::Active, look.either("● ", "* ")),
    };
    let tone = if is_shown { Tone::Strong } else { Tone::Plain };
    let name = cut_text(row.list.as_str(), name_width, look.ellipsis());
    line.append(Line::new().with(tone, &name).padded(name_width));
    line.push(Tone::Plain, "  ");
    match &row.gone {
        Some(gone) => {
            let tasks = if gone.open == 1 { "1 open task".to_owned() } else { format!("{} open tasks", gone.open) };
            line.push(Tone::Error, &format!("{} gone: {tasks}", look.either("▲", "!")));
        }
        None if row.counts == [0; 3] => line.push(Tone::Dim, "empty"),
        None => {
            line.append(progress_bar(row.counts, BAR, look));
            line.push(Tone::Plain, " ");
            line.append(counts_in_words(row.counts, look));
        }
    }
    if !row.alive.is_empty() {
        let names: Vec<&str> = row.alive.iter().take(NAMES).map(String::as_str).collect();
        let more = row.alive.len().saturating_sub(NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Active, &format!("{}{more} at work", names.join(", ")));
    }
    if let Some(changed) = row.changed {
        line.push(Tone::Dim, &format!("{}{}", look.dot(), look.time(changed)));
    }
    line
}

/// Returns how far a list is as a bar of so many cells: what is done, what is in progress, and the rest.
pub fn progress_bar([pending, in_progress, completed]: [usize; 3], cells: usize, look: &Look) -> Line {
    let total = (pending + in_progress + completed).max(1);
    let done = completed * cells / total;
    let active = (in_progress * cells / total).max(usize::from(in_progress > 0)).min(cells - done);
    Line::new()
        .with(Tone::Done, &look.either("━", "=").repeat(done))
        .with(Tone::Active, &look.either("━", ">").repeat(active))
        .with(Tone::Dim, &look.either("─", "-").repeat(cells - done - active))
}

#[cfg(test)]
mod tests {
    use super::{ListRow, list_line, progress_bar};
    use crate::render::Look;
    use crate::{ListId, Timestamp};

    #[test]
    fn a_list_says_how_far_it_is_and_who_is_alive() {
        let look = Look { now: Some(Timestamp(7_200_000)), ..Look::PIPE };
        let alive = ["ana", "bo", "cleo", "dan"].map(str::to_owned).to_vec();
        let list = ListId::new("rocket").unwrap();
        let row = ListRow { list, counts: [3, 1, 6], changed: Some(Timestamp(0)), gone: None, alive };
        let line = list_line(&row, true, 8, &look).to_string();
        assert!(line.starts_with("● rocket    ━━━━━━━─── "), "{line}");
        assert!(line.ends_with(" · ana, bo, cleo and 1 more at work · 2 h ago"), "{line}");
        let quiet = ListRow { counts: [0; 3], alive: Vec::new(), changed: None, ..row };
        assert_eq!(list_line(&quiet, false, 8, &look).to_string(), "  rocket    empty");
    }

    #[test]
    fn whatever_is_in_progress_is_seen_in_the_bar() {
        assert_eq!(progress_bar([990, 1, 9], 10, &Look::PIPE).to_string(), "━─────────");
        assert_eq!(progress_bar([0, 0, 0], 4, &Look::PIPE).to_string(), "────");
    }
}
