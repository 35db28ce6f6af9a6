//! A list on one screen: what needs attention, what is being done, what can start.

use crate::rules::claims::readiness::Ranked;
use crate::{Task, Timestamp};

use super::board::bar;
use super::task_line::task_line;
use super::{Line, Look, Tone};

/// Something that needs a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is.
    pub what: String,
    /// What to type.
    pub way: String,
}

/// A task that an agent works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// The task.
    pub task: Task,
    /// Since when its owner has it, where that is known.
    pub since: Option<Timestamp>,
}

/// A list as one screen shows it.
#[derive(Clone, Copy, Debug)]
pub struct Overview<'a> {
    /// The list's name.
    pub title: &'a str,
    /// How many the whole list has: pending, in progress, completed.
    pub counts: [usize; 3],
    /// How many of those pending wait for others.
    pub blocked: usize,
    /// How many of those open are not to start yet.
    pub deferred: usize,
    /// What needs the user.
    pub needs: &'a [Need],
    /// What is being done.
    pub under_way: &'a [UnderWay],
    /// What can start now, best first.
    pub ready: &'a [Ranked],
}

/// A screen narrower than this has no room for what is said besides.
const NARROW: usize = 60;

/// The fewest lines of a section that has some, where the screen has room for them.
const FEWEST: usize = 2;

impl Overview<'_> {
    /// Returns the screen, in at most so many rows.
    pub fn lines(&self, rows: usize, look: &Look) -> Vec<Line> {
        let mut lines = vec![self.header(look)];
        let sections: [(&str, Tone, Vec<Line>); 3] = [
            ("Needs you", Tone::Error, self.needs.iter().map(|need| need_line(need, look)).collect()),
            ("In progress", Tone::Active, self.under_way.iter().map(|task| under_way_line(task, look)).collect()),
            ("Ready", Tone::Strong, self.ready.iter().map(|ranked| ready_line(ranked, look)).collect()),
        ];
        // The header, an empty line and a heading for each section, the last line for the prompt.
        let shown = sections.iter().filter(|(_, _, lines)| !lines.is_empty()).count();
        let mut left = rows.saturating_sub(2 + 2 * shown);
        let fewest = if left > 3 * FEWEST { FEWEST } else { 1 };
        let counts = [self.needs.len(), self.under_way.len(), self.ready.len()];
        for (place, (name, tone, mut inner)) in sections.into_iter().enumerate() {
            if inner.is_empty() {
                continue;
            }
            // What comes later gets its share, and the last all that is left.
            let later = counts[place + 1..].iter();
            let reserved: usize =
                later.filter(|count| **count > 0).map(|count| (*count).min(left / 3).max(fewest)).sum();
            let room = left.saturating_sub(reserved).max(fewest);
            let count = inner.len();
            if count > room {
                inner.truncate(room - 1);
                inner.push(Line::new().with(Tone::Dim, &format!("    +{} more", count - (room - 1))));
            }
            left = left.saturating_sub(inner.len());
            lines.push(Line::new());
            lines.push(Line::plain("  ").with(tone, name).with(Tone::Dim, &format!(" {count}")));
            lines.extend(inner);
        }
        if self.ready.is_empty() && self.counts[0] > 0 {
            let text = match (self.blocked, self.deferred) {
                (0, 0) => "  Nothing is ready".to_owned(),
                (count, 0) => format!("  Nothing is ready: {count} wait for others"),
                (0, count) => format!("  Nothing is ready: {count} deferred"),
                (blocked, deferred) => format!("  Nothing is ready: {blocked} wait for others, {deferred} deferred"),
            };
            lines.extend([Line::new(), Line::new().with(Tone::Dim, &text)]);
        }
        lines
    }

    /// Returns the first line: the name, how far it is, and how many tasks need attention. What has no room is left out.
    fn header(&self, look: &Look) -> Line {
        let mut line = Line::plain("  ").with(Tone::Strong, self.title).with(Tone::Plain, "  ");
        if look.width.is_none_or(|width| width >= NARROW) {
            line.append(bar(self.counts, look));
            line.push(Tone::Plain, " ");
        }
        line.push(Tone::Done, &format!("{} of {} done", self.counts[2], self.counts.iter().sum::<usize>()));
        let verb = if self.needs.len() == 1 { "needs" } else { "need" };
        let needs = format!("{} {} {verb} you", look.either("▲", "!"), self.needs.len());
        for (count, tone, text) in [
            (self.needs.len(), Tone::Error, needs),
            (self.blocked, Tone::Dim, format!("{} blocked", self.blocked)),
            (self.deferred, Tone::Dim, format!("{} deferred", self.deferred)),
        ] {
            let part = Line::new().with(Tone::Dim, look.dot()).with(tone, &text);
            if count > 0 && look.width.is_none_or(|width| line.width() + part.width() <= width) {
                line.append(part);
            }
        }
        look.fitted(line)
    }
}

fn need_line(need: &Need, look: &Look) -> Line {
    let line = Line::plain("  ").with(Tone::Error, look.either("▲", "!")).with(Tone::Plain, " ");
    let mut line = line.with(Tone::Plain, &need.what);
    let mut way = Line::plain("  ").with(Tone::Hint, &need.way);
    let room = look.width.map_or(usize::MAX, |width| width.saturating_sub(line.width()));
    if way.width() <= room {
        line.append(std::mem::take(&mut way));
    }
    look.fitted(line)
}

fn under_way_line(under_way: &UnderWay, look: &Look) -> Line {
    // On a narrow screen who has it counts for more.
    let since = under_way.since.filter(|_| look.width.is_none_or(|width| width >= NARROW)).map(|since| {
        let words = look.time(since);
        format!("  {}", words.strip_suffix(" ago").unwrap_or(&words))
    });
    let since = Line::new().with(Tone::Dim, since.as_deref().unwrap_or_default());
    let narrower = Look { width: look.width.map(|width| width.saturating_sub(since.width())), ..*look };
    let mut line = task_line("  ", 0, &under_way.task, &[], &narrower);
    line.append(since);
    line
}

fn ready_line(ranked: &Ranked, look: &Look) -> Line {
    let mut line = task_line("  ", 0, &ranked.task, &[], look);
    // That it is overdue stands beside it already, and since when.
    let reasons: Vec<&str> = ranked.why.split("; ").filter(|why| !matches!(*why, "" | "overdue")).collect();
    let why = Line::new().with(Tone::Dim, &format!("  {}", reasons.join("; ")));
    let room = look.width.map_or(usize::MAX, |width| width.saturating_sub(line.width()));
    if !reasons.is_empty() && why.width() <= room {
        line.append(why);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{Need, Overview, UnderWay};
    use crate::render::Look;
    use crate::rules::claims::readiness::Ranked;
    use crate::{Status, Task, TaskId, Timestamp};

    fn screen(counts: [usize; 3], rows: usize, width: usize) -> Vec<String> {
        let task = |number: u64, status| Task { status, ..Task::new(TaskId::number(number), format!("Task {number}")) };
        let ranked = |number: u64| Ranked {
            task: task(number, Status::Pending),
            why: "unblocks 2 tasks".into(),
            chain: 1,
            unblocks: Vec::new(),
        };
        let needs = [Need { what: "3 unread messages".into(), way: "taskyard inbox".into() }];
        let under_way: Vec<UnderWay> = (1..=counts[1] as u64)
            .map(|id| UnderWay { task: task(id, Status::InProgress), since: Some(Timestamp(0)) })
            .collect();
        let ready: Vec<Ranked> = (1..=counts[0] as u64).map(ranked).collect();
        let overview = Overview {
            title: "rocket",
            counts,
            blocked: 2,
            deferred: 1,
            needs: &needs,
            under_way: &under_way,
            ready: &ready,
        };
        let look = Look { width: Some(width), now: Some(Timestamp(720_000)), ..Look::PIPE };
        let lines = overview.lines(rows, &look);
        assert!(lines.iter().all(|line| line.width() <= width));
        lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn one_screen_answers_in_order() {
        let lines = screen([2, 1, 1], 24, 80);
        assert_eq!(
            lines,
            [
                "  rocket  ━━━━╍╍╍╍──────── 1 of 4 done · ▲ 1 needs you · 2 blocked · 1 deferred",
                "",
                "  Needs you 1",
                "  ▲ 3 unread messages  taskyard inbox",
                "",
                "  In progress 1",
                "  ◼ #1 Task 1  12 min",
                "",
                "  Ready 2",
                "  ◻ #1 Task 1  unblocks 2 tasks",
                "  ◻ #2 Task 2  unblocks 2 tasks",
            ]
        );
    }

    #[test]
    fn a_narrow_screen_leaves_out_what_has_no_room() {
        assert_eq!(screen([2, 1, 1], 24, 40)[0], "  rocket  1 of 4 done · ▲ 1 needs you");
        assert_eq!(screen([2, 1, 1], 24, 30)[0], "  rocket  1 of 4 done");
    }

    #[test]
    fn whatever_there_is_fits_the_screen() {
        for rows in [12, 16, 24, 50] {
            let lines = screen([100, 100, 1], rows, 40);
            assert!(lines.len() < rows, "{} lines on {rows} rows", lines.len());
            assert!(lines.iter().any(|line| line.contains("more")), "{lines:?}");
        }
    }
}
