//! Charts of a list's history, as SVG without style sheets; the page provides the styles.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::Timestamp;
use crate::render::escaping::xml;
use crate::render::{cut_text, shown_subject};
use crate::rules::looking::past::{AgentAtWork, BurnUp, BurnUpPoint, TaskTimes, TimeInState};
use crate::timing::span_in_words;

/// How wide charts are.
const WIDTH: i64 = 720;
/// The colours on a light page.
const DONE: &str = "#15803d";
const IN_PROGRESS: &str = "#b45309";
const PENDING: &str = "#475569";
const LINE: &str = "#e2e8f0";

/// A chart that is being drawn.
struct Chart {
    text: String,
}

impl Chart {
    /// Begins a chart; the label describes its contents.
    fn begin(kind: &str, height: i64, label: &str) -> Self {
        let label = xml(label);
        Self {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart {kind}\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
                 height=\"{height}\" role=\"img\" aria-label=\"{label}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#475569\">\n"
            ),
        }
    }

    /// Returns a chart that only explains why there is nothing to show.
    fn empty(kind: &str, why: &str) -> String {
        let mut chart = Self::begin(kind, 60, why);
        chart.words("label", (WIDTH / 2, 34), "middle", why);
        chart.end()
    }

    /// Writes text at a position.
    fn words(&mut self, class: &str, (x, y): (i64, i64), anchor: &str, words: &str) {
        let words = xml(words);
        let _ =
            writeln!(self.text, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{words}</text>");
    }

    /// Draws a straight line.
    fn line(&mut self, class: &str, from: (i64, i64), to: (i64, i64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            self.text,
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{LINE}\"/>"
        );
    }

    /// Draws a bar with a tooltip. Short bars get a visible minimum width.
    fn bar(&mut self, class: &str, colour: &str, (x, y): (i64, i64), (width, height): (i64, i64), title: &str) {
        let (width, title) = (width.max(2), xml(title));
        let _ = writeln!(
            self.text,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"2\" fill=\"{colour}\"><title>{title}</title></rect>"
        );
    }

    /// Draws the area between two lines.
    fn area(&mut self, class: &str, colour: &str, upper: &[(i64, i64)], lower: &[(i64, i64)]) {
        let points = joined(upper.iter().chain(lower.iter().rev()));
        let _ = writeln!(
            self.text,
            "<polygon class=\"{class}\" points=\"{points}\" fill=\"{colour}\" fill-opacity=\"0.75\"/>"
        );
    }

    /// Draws a line through points.
    fn curve(&mut self, class: &str, colour: &str, points: &[(i64, i64)]) {
        let points = joined(points.iter());
        let _ = writeln!(
            self.text,
            "<polyline class=\"{class}\" points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
    }

    /// Ends the chart.
    fn end(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// Scales a value to a length.
fn share(length: i64, value: i128, greatest: i128) -> i64 {
    i64::try_from(i128::from(length) * value / greatest.max(1)).unwrap_or(length)
}

fn joined<'a>(points: impl Iterator<Item = &'a (i64, i64)>) -> String {
    points.map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" ")
}

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The possible distances between time marks.
const STEPS: [i64; 15] = [
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
    91 * DAY,
    365 * DAY,
];
/// The maximum number of time marks.
const MOST_MARKS: i64 = 8;

/// A horizontal time axis.
#[derive(Clone, Copy)]
struct TimeAxis<'a> {
    from: Timestamp,
    until: Timestamp,
    /// Its left end and its width.
    left: i64,
    width: i64,
    /// The time zone of the marks.
    zone: &'a TimeZone,
}

impl TimeAxis<'_> {
    /// Returns the x coordinate of a moment.
    fn x(&self, moment: Timestamp) -> i64 {
        let (passed, span) = (i128::from(moment.0) - i128::from(self.from.0), self.span());
        self.left + share(self.width, passed.clamp(0, span), span)
    }

    /// Draws the time marks with labels and grid lines.
    fn draw(&self, chart: &mut Chart, top: i64, bottom: i64) {
        let span = i64::try_from(self.span()).unwrap_or(i64::MAX);
        let step = STEPS.into_iter().find(|step| span / step < MOST_MARKS).unwrap_or(span / MOST_MARKS);
        let mut local = (self.from.0.saturating_add(self.offset(self.from))).div_euclid(step) * step;
        loop {
            // Marks are at full hours or days of local time, with the offset valid at that moment.
            let moment = Timestamp(local.saturating_sub(self.offset(Timestamp(local))));
            local = local.saturating_add(step);
            if moment.0 > self.until.0 || local == i64::MAX {
                return;
            }
            if moment.0 < self.from.0 {
                continue;
            }
            let x = self.x(moment);
            chart.line("grid", (x, top), (x, bottom));
            chart.words("figure", (x, bottom + 16), "middle", &self.words(moment, step));
        }
    }

    /// Formats a moment with the precision that suits the distance between marks.
    fn words(&self, moment: Timestamp, step: i64) -> String {
        let Ok(known) = jiff::Timestamp::from_millisecond(moment.0) else { return moment.to_string() };
        let there = known.to_zoned(self.zone.clone());
        match step {
            _ if step < DAY => there.strftime("%H:%M").to_string(),
            _ if step < 91 * DAY => there.strftime("%-d %b").to_string(),
            _ => there.strftime("%b %Y").to_string(),
        }
    }

    fn span(&self) -> i128 {
        (i128::from(self.until.0) - i128::from(self.from.0)).max(1)
    }

    fn offset(&self, moment: Timestamp) -> i64 {
        let known = jiff::Timestamp::from_millisecond(moment.0);
        known.map_or(0, |known| i64::from(self.zone.to_offset(known).seconds()) * 1000)
    }
}

const BURN_UP_KIND: &str = "burn-up";
const HEIGHT: i64 = 240;
const BURN_UP_TOP: i64 = 16;
const BOTTOM: i64 = HEIGHT - 28;
const BURN_UP_LEFT: i64 = 44;
/// The space on the right for the labels of the lines.
const BURN_UP_RIGHT: i64 = 112;
/// The height of a line of text.
const WORDS: i64 = 15;

/// Draws the number of tasks over time, and how many of them were done.
pub fn burn_up_svg(burn_up: &BurnUp, zone: &TimeZone) -> String {
    let (Some(first), Some(last)) = (burn_up.points.first(), burn_up.points.last()) else {
        return Chart::empty(BURN_UP_KIND, "No tasks yet");
    };
    let highest = burn_up.points.iter().map(|point| point.total).max().unwrap_or(0);
    if highest == 0 {
        return Chart::empty(BURN_UP_KIND, "No tasks yet");
    }
    let told = format!("{} of {} tasks done, {} in progress", last.done, last.total, last.in_progress);
    let mut chart = Chart::begin(BURN_UP_KIND, HEIGHT, &told);
    let axis = TimeAxis {
        from: first.at,
        until: last.at,
        left: BURN_UP_LEFT,
        width: WIDTH - BURN_UP_LEFT - BURN_UP_RIGHT,
        zone,
    };
    axis.draw(&mut chart, BURN_UP_TOP, BOTTOM);
    let step = step_of(highest);
    let greatest = highest.div_ceil(step) * step;
    let y = |count: usize| BOTTOM - share(BOTTOM - BURN_UP_TOP, wide(count), wide(greatest));
    for count in (0..=greatest).step_by(step) {
        chart.line("grid", (BURN_UP_LEFT, y(count)), (WIDTH - BURN_UP_RIGHT, y(count)));
        chart.words("figure", (BURN_UP_LEFT - 8, y(count) + 4), "end", &count.to_string());
    }
    let line = |height: &dyn Fn(&BurnUpPoint) -> usize| -> Vec<(i64, i64)> {
        burn_up.points.iter().map(|point| (axis.x(point.at), y(height(point)))).collect()
    };
    let (ground, done) = (line(&|_| 0), line(&|point| point.done));
    let begun = line(&|point| point.done + point.in_progress);
    chart.area("done", DONE, &done, &ground);
    chart.area("in_progress", IN_PROGRESS, &begun, &done);
    chart.curve("total", PENDING, &line(&|point| point.total));
    let mut lowest = BURN_UP_TOP - WORDS;
    for (class, height, words) in [
        ("total", last.total, format!("{} in all", last.total)),
        ("in_progress", last.done + last.in_progress, format!("{} in progress", last.in_progress)),
        ("done", last.done, format!("{} done", last.done)),
    ] {
        // Labels of lines that end close together are moved apart.
        lowest = (y(height) + 4).max(lowest + WORDS);
        chart.words(&format!("label {class}"), (WIDTH - BURN_UP_RIGHT + 8, lowest), "start", &words);
    }
    chart.end()
}

/// The width and height of a burn-up chart that stands in a card.
const SPARK: (i64, i64) = (120, 24);

/// Draws the same counts without axes and words, small enough for a card that has the counts in words.
pub fn burn_up_spark_svg(burn_up: &BurnUp) -> String {
    let (width, height) = SPARK;
    let highest = burn_up.points.iter().map(|point| point.total).max().unwrap_or(0);
    let last = wide(burn_up.points.len().saturating_sub(1));
    let line = |count: &dyn Fn(&BurnUpPoint) -> usize| -> Vec<(i64, i64)> {
        let points = burn_up.points.iter().enumerate();
        let y = |count: usize| height - share(height, wide(count), wide(highest));
        points.map(|(number, point)| (share(width, wide(number), last), y(count(point)))).collect()
    };
    let (ground, done) = (line(&|_| 0), line(&|point| point.done));
    let begun = line(&|point| point.done + point.in_progress);
    let mut chart = Chart {
        text: format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"spark\" viewBox=\"0 0 {width} {height}\" \
             preserveAspectRatio=\"none\" aria-hidden=\"true\">\n"
        ),
    };
    chart.area("total", LINE, &line(&|point| point.total), &ground);
    chart.area("in_progress", IN_PROGRESS, &begun, &ground);
    chart.area("done", DONE, &done, &ground);
    chart.end()
}

/// Returns the distance between the horizontal grid lines: at most five lines, at round numbers.
fn step_of(highest: usize) -> usize {
    let powers = std::iter::successors(Some(1_usize), |power| power.checked_mul(10));
    let mut steps = powers.flat_map(|power| [1, 2, 5].map(|factor| power.saturating_mul(factor)));
    steps.find(|step| highest.div_ceil(*step) <= 5).unwrap_or(highest.max(1))
}

fn wide(count: usize) -> i128 {
    i128::try_from(count).unwrap_or(i128::MAX)
}

const AGENTS_KIND: &str = "agents-at-work";
const AGENTS_LEFT: i64 = 140;
/// The space on the right for durations.
const AGENTS_RIGHT: i64 = 130;
const AGENTS_TOP: i64 = 8;
const AGENT_ROW: i64 = 24;
/// The maximum number of agents drawn; the others are only counted.
const MOST_AGENTS: usize = 30;

/// Draws when each agent was working, within a period.
pub fn agents_at_work_svg(agents: &[AgentAtWork], from: Timestamp, until: Timestamp, zone: &TimeZone) -> String {
    if agents.is_empty() {
        return Chart::empty(AGENTS_KIND, "No one worked in this period");
    }
    let (shown, others) = (&agents[..agents.len().min(MOST_AGENTS)], agents.len().saturating_sub(MOST_AGENTS));
    let rows = i64::try_from(shown.len() + usize::from(others > 0)).unwrap_or(0);
    let bottom = AGENTS_TOP + rows * AGENT_ROW;
    let mut chart = Chart::begin(AGENTS_KIND, bottom + 28, &agents_in_words(agents));
    let axis = TimeAxis { from, until, left: AGENTS_LEFT, width: WIDTH - AGENTS_LEFT - AGENTS_RIGHT, zone };
    axis.draw(&mut chart, AGENTS_TOP, bottom);
    for (number, agent) in (0..).zip(shown) {
        let y = AGENTS_TOP + number * AGENT_ROW;
        chart.words("label", (AGENTS_LEFT - 8, y + 16), "end", &cut_text(&agent.agent, 20, "…"));
        for (begun, ended) in &agent.stretches {
            let (left, right) = (axis.x(*begun), axis.x(*ended));
            let title = format!("{}: {} to {}", agent.agent, axis.words(*begun, 0), axis.words(*ended, 0));
            chart.bar("in_progress", IN_PROGRESS, (left, y + 5), (right - left, 14), &title);
        }
        let tasks = if agent.tasks == 1 { "task" } else { "tasks" };
        let told = format!("{}, {} {tasks}", span_in_words(agent.at_work), agent.tasks);
        chart.words("figure", (WIDTH - AGENTS_RIGHT + 8, y + 16), "start", &told);
    }
    if others > 0 {
        chart.words("label", (AGENTS_LEFT - 8, bottom - AGENT_ROW + 16), "end", &format!("and {others} more"));
    }
    chart.end()
}

fn agents_in_words(agents: &[AgentAtWork]) -> String {
    let told: Vec<String> = agents
        .iter()
        .take(MOST_AGENTS)
        .map(|agent| format!("{} worked {}", agent.agent, span_in_words(agent.at_work)))
        .collect();
    told.join(", ")
}

const TIME_KIND: &str = "time-in-state";
/// The left ends of the bars for waiting and for work.
const COLUMNS: [i64; 2] = [230, 470];
/// The maximum length of a bar; its duration is written behind it.
const LONGEST: i64 = 140;
const HEAD: i64 = 30;
const STATE_ROW: i64 = 24;

/// Draws how long tasks waited and how long they took, longest first.
pub fn time_in_state_svg(times: &TimeInState) -> String {
    if times.longest.is_empty() {
        return Chart::empty(TIME_KIND, "No task has been in progress yet");
    }
    let rows = i64::try_from(times.longest.len()).unwrap_or(0);
    let mut chart = Chart::begin(TIME_KIND, HEAD + rows * STATE_ROW + 8, &time_in_words(times));
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
        let y = HEAD + number * STATE_ROW;
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

fn time_in_words(times: &TimeInState) -> String {
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
    use jiff::tz::TimeZone;

    use super::{burn_up_spark_svg, burn_up_svg, step_of};
    use crate::Timestamp;
    use crate::rules::looking::past::{BurnUp, BurnUpPoint};

    fn a_day() -> BurnUp {
        let point = |hours: i64, done, in_progress, total| BurnUpPoint {
            at: Timestamp(1_794_700_800_000 + hours * 3_600_000),
            done,
            in_progress,
            total,
        };
        BurnUp { points: vec![point(0, 0, 0, 3), point(6, 2, 1, 8), point(12, 2, 3, 8), point(24, 7, 1, 9)] }
    }

    #[test]
    fn the_lines_end_at_the_counts_of_the_last_moment() {
        insta::assert_snapshot!(burn_up_svg(&a_day(), &TimeZone::UTC));
    }

    #[test]
    fn a_spark_has_an_area_for_each_state_and_no_words() {
        let spark = burn_up_spark_svg(&a_day());
        assert_eq!((spark.matches("<polygon").count(), spark.matches("<text").count()), (3, 0));
        // Seven of nine are done at the end, at the right edge.
        assert!(spark.contains("class=\"done\" points=\"0,24 40,19 80,19 120,6 "), "{spark}");
        assert!(!burn_up_spark_svg(&BurnUp { points: Vec::new() }).contains("NaN"));
    }

    #[test]
    fn an_empty_list_says_so() {
        assert!(burn_up_svg(&BurnUp { points: Vec::new() }, &TimeZone::UTC).contains("No tasks yet"));
        assert!(
            burn_up_svg(&BurnUp { points: vec![BurnUpPoint::default(); 2] }, &TimeZone::UTC).contains("No tasks yet")
        );
    }

    #[test]
    fn counts_are_told_at_a_few_round_numbers() {
        let lines = |highest: usize| highest.div_ceil(step_of(highest));
        for highest in [1, 2, 5, 6, 9, 11, 49, 62, 101, 999, 10_000, 123_456] {
            assert!((1..=5).contains(&lines(highest)), "{highest}: {}", step_of(highest));
        }
        assert_eq!([5, 6, 11, 62, 10_000].map(step_of), [1, 2, 5, 20, 2_000]);
    }
}

#[cfg(test)]
mod agents_at_work_tests {
    use std::time::Duration;

    use jiff::tz::{Offset, TimeZone};

    use super::{MOST_AGENTS, agents_at_work_svg};
    use crate::Timestamp;
    use crate::rules::looking::past::AgentAtWork;

    /// Midnight in UTC.
    const START: i64 = 1_794_700_800_000;

    fn agent(name: &str, hours: &[(i64, i64)]) -> AgentAtWork {
        let at = |hour: i64| Timestamp(START + hour * 3_600_000);
        let worked: i64 = hours.iter().map(|(from, until)| until - from).sum();
        AgentAtWork {
            agent: name.to_owned(),
            stretches: hours.iter().map(|(from, until)| (at(*from), at(*until))).collect(),
            tasks: hours.len(),
            at_work: Duration::from_secs(u64::try_from(worked).unwrap() * 3600),
        }
    }

    #[test]
    fn every_stretch_is_a_bar_in_the_row_of_its_agent() {
        let agents = [agent("ana", &[(1, 4), (9, 12)]), agent("<b>bo</b>", &[(10, 24)])];
        let zone = TimeZone::fixed(Offset::constant(2));
        let day = (Timestamp(START), Timestamp(START + 86_400_000));
        insta::assert_snapshot!(agents_at_work_svg(&agents, day.0, day.1, &zone));
    }

    #[test]
    fn of_many_agents_the_first_are_drawn_and_the_others_counted() {
        let agents: Vec<AgentAtWork> =
            (0..MOST_AGENTS + 3).map(|number| agent(&format!("a{number}"), &[(1, 2)])).collect();
        let picture = agents_at_work_svg(&agents, Timestamp(START), Timestamp(START + 86_400_000), &TimeZone::UTC);
        assert_eq!(picture.matches("<rect").count(), MOST_AGENTS);
        assert!(picture.contains("and 3 more"));
        assert!(
            agents_at_work_svg(&[], Timestamp(0), Timestamp(1), &TimeZone::UTC)
                .contains("No one worked in this period")
        );
    }
}

#[cfg(test)]
mod time_in_state_tests {
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
