//! How long tasks waited, and how long they took.

use std::time::Duration;

use super::frame::{Chart, IN_PROGRESS, PENDING, WIDTH, share};
use crate::render::{cut_text, shown_subject};
use crate::rules::looking::past::{TaskTimes, TimeInState};
use crate::timing::span_in_words;

const KIND: &str = "time-in-state";
/// Where the bars of waiting and of work begin.
const COLUMNS: [i64; 2] = [230, 470];
/// How long a bar is at most; behind it stands how long it was.
const LONGEST: i64 = 140;
const HEAD: i64 = 30;
const ROW: i64 = 24;

/// Draws how long tasks waited and how long they took, those that took longest first.
pub fn time_in_state_svg(times: &TimeInState) -> String {
    if times.longest.is_empty() {
        return Chart::empty(KIND, "No task has been in progress yet");
    }
    let rows = i64::try_from(times.longest.len()).unwrap_or(0);
    let mut chart = Chart::begin(KIND, HEAD + rows * ROW + 8, &in_words(times));
    let typical =
        |span: Option<Duration>| span.map(|span| format!(" (median {})", span_in_words(span))).unwrap_or_default();
    let heads = [
        format!("waited{}", typical(times.medians.map(|medians| medians.0))),
        format!("in progress{}", typical(times.medians.map(|medians| medians.1))),
    ];
    for (column, head) in COLUMNS.into_iter().zip(&heads) {
        chart.words("label", (column, 18), "start", head);
    }
    chart.line("grid", (0, HEAD - 4), (WIDTH, HEAD - 4));
    let spans = |times: &TaskTimes| [times.pending, times.in_progress];
    let greatest =
        |column: usize| times.longest.iter().map(|times| spans(times)[column].as_millis()).max().unwrap_or(1);
    let scales = [0, 1].map(|column| i128::try_from(greatest(column)).unwrap_or(i128::MAX));
    for (number, task) in (0..).zip(&times.longest) {
        let y = HEAD + number * ROW;
        let title = format!("#{} {}", task.task, shown_subject(&task.task, &task.subject));
        chart.words("label", (0, y + 15), "start", &cut_text(&title, 32, "…"));
        for (column, class, colour) in [(0, "pending", PENDING), (1, "in_progress", IN_PROGRESS)] {
            let span = spans(task)[column];
            let length = share(LONGEST, i128::try_from(span.as_millis()).unwrap_or(0), scales[column]).max(2);
            let goes_on = if column == 1 && task.is_in_progress { " so far" } else { "" };
            let told = format!("{}{goes_on}", span_in_words(span));
            chart.bar(class, colour, (COLUMNS[column], y + 4), (length, 14), &format!("{title}: {told}"));
            chart.words("figure", (COLUMNS[column] + length + 6, y + 15), "start", &told);
        }
    }
    chart.end()
}

fn in_words(times: &TimeInState) -> String {
    let tasks = if times.count == 1 { "task" } else { "tasks" };
    match times.medians {
        Some((waited, took)) => format!(
            "{} {tasks} in progress so far; the median of those done waited {} and took {}",
            times.count,
            span_in_words(waited),
            span_in_words(took)
        ),
        None => format!("{} {tasks} in progress so far, none done", times.count),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::time_in_state_svg;
    use crate::TaskId;
    use crate::rules::looking::past::{TaskTimes, TimeInState};

    #[test]
    fn every_task_has_a_bar_for_waiting_and_one_for_work() {
        let times = |number: u64, subject: &str, pending: u64, in_progress: u64| TaskTimes {
            agents: Vec::new(),
            task: TaskId::number(number),
            subject: subject.to_owned(),
            pending: Duration::from_secs(pending),
            in_progress: Duration::from_secs(in_progress),
            is_in_progress: number == 7,
        };
        let longest = vec![times(7, "Parser", 7_200, 5_400), times(3, "<script>alert(1)</script> & more", 60, 600)];
        let medians = Some((Duration::from_secs(60), Duration::from_secs(600)));
        insta::assert_snapshot!(time_in_state_svg(&TimeInState { longest, count: 2, medians }));
    }

    #[test]
    fn where_nothing_was_begun_it_says_so() {
        assert!(time_in_state_svg(&TimeInState::default()).contains("No task has been in progress yet"));
    }
}
