//! A revision that touched many tasks, on one line.

use crate::{Entry, TaskId};

use super::entry_lines::{did, heading, keeps_number, op_tone, taken_back, taken_from_us};
use super::{Line, Look, Tone};

/// So many tasks of one revision are each worth a line.
const FEW: usize = 3;

/// So many numbers, or runs of numbers, are named.
const NAMED: usize = 8;

/// Tells whether a revision touched so many tasks that one line stands for all of them.
pub fn is_summed_up(touched: usize) -> bool {
    touched > FEW
}

/// Returns one line for all entries of a revision: who did what to how many tasks, and which; none where there are no entries.
pub fn revision_line(entries: &[Entry], look: &Look) -> Option<Line> {
    let first = entries.first()?;
    let mut line = heading(first, look);
    let mut verbs: Vec<&str> = Vec::new();
    for entry in entries.iter().filter(|entry| !keeps_number(entry)) {
        if !verbs.contains(&did(entry)) {
            verbs.push(did(entry));
        }
    }
    for (number, verb) in verbs.into_iter().enumerate() {
        let these: Vec<&Entry> = entries.iter().filter(|entry| did(entry) == verb).collect();
        let ids: Vec<&TaskId> = these.iter().map(|entry| &entry.task).collect();
        let tone = these.first().map_or(Tone::Plain, |entry| op_tone(entry));
        line.push(Tone::Plain, if number == 0 { "" } else { ", " });
        line.push(tone, verb);
        line.push(Tone::Plain, if ids.len() == 1 { " 1 task (" } else { " " });
        if ids.len() > 1 {
            line.push(Tone::Plain, &format!("{} tasks (", ids.len()));
        }
        line.push(Tone::Id, &in_runs(&ids));
        line.push(Tone::Plain, ")");
    }
    line.push(Tone::Dim, &taken_back(first));
    let losers: Vec<&TaskId> =
        entries.iter().filter(|entry| taken_from_us(entry).is_some()).map(|entry| &entry.task).collect();
    if !losers.is_empty() {
        line.push(Tone::Warning, &format!(" (took something back from {})", in_runs(&losers)));
    }
    Some(look.fitted(line))
}

/// Returns numbers as people write them, those that follow one another as one: `#1-#120, #130`.
fn in_runs(ids: &[&TaskId]) -> String {
    let mut numbers: Vec<u64> = ids.iter().filter_map(|id| id.as_number()).collect();
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|one, next| next - one == 1);
    let runs = runs.flat_map(|run| match run {
        [first, _, .., last] => vec![(format!("#{first}-#{last}"), run.len())],
        few => few.iter().map(|number| (format!("#{number}"), 1)).collect(),
    });
    let others = ids.iter().filter(|id| id.as_number().is_none()).map(|id| (format!("#{id}"), 1));
    let all: Vec<(String, usize)> = runs.chain(others).collect();
    let named: Vec<&str> = all.iter().take(NAMED).map(|(text, _)| text.as_str()).collect();
    let rest: usize = all.iter().skip(NAMED).map(|(_, count)| count).sum();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{in_runs, is_summed_up, revision_line};
    use crate::dialect::native;
    use crate::render::Look;
    use crate::{AgentName, Entry, Op, Remark, Revision, Rules, Task, TaskId, Timestamp};

    fn entry(number: u64, op: Op, is_new: bool) -> Entry {
        let image = native::write(None, &Task::new(TaskId::number(number), "task"), Rules::Strict).unwrap();
        Entry {
            revision: Revision(7),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op,
            task: TaskId::number(number),
            before: (!is_new).then(|| image.clone()),
            after: Some(image),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        }
    }

    #[test]
    fn a_revision_is_summed_up_by_what_it_did_to_how_many_tasks() {
        let mut entries: Vec<Entry> = (3..=40).map(|number| entry(number, Op::Import, true)).collect();
        entries.push(entry(1, Op::Import, false));
        let line = revision_line(&entries, &Look::PIPE).unwrap().to_string();
        assert_eq!(line, "r7  1970-01-01T00:00:00.000Z  ana imported 38 tasks (#3-#40), updated 1 task (#1)");
        assert!(is_summed_up(entries.len()) && !is_summed_up(2));
        let narrow = revision_line(&entries, &Look { width: Some(40), ..Look::PIPE }).unwrap();
        assert!(narrow.width() <= 40);
    }

    #[test]
    fn a_number_without_a_task_is_not_counted() {
        let mut entries: Vec<Entry> = (1..=4).map(|number| entry(number, Op::Rename, true)).collect();
        entries.push(Entry { after: None, ..entry(9, Op::Rename, true) });
        let line = revision_line(&entries, &Look::PIPE).unwrap().to_string();
        assert_eq!(line, "r7  1970-01-01T00:00:00.000Z  ana moved 4 tasks (#1-#4)");
    }

    #[test]
    fn numbers_that_follow_one_another_are_a_run() {
        let ids: Vec<TaskId> =
            [9, 1, 2, 3, 5, 6].map(TaskId::number).into_iter().chain([TaskId::stored("abc")]).collect();
        assert_eq!(in_runs(&ids.iter().collect::<Vec<_>>()), "#1-#3, #5, #6, #9, #abc");
        let many: Vec<TaskId> = (0..20).map(|number| TaskId::number(number * 2 + 1)).collect();
        assert!(in_runs(&many.iter().collect::<Vec<_>>()).ends_with("#13, #15 and 12 more"));
    }
}
