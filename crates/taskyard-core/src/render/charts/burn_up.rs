//! How many tasks there were, and how many of them were done.

use jiff::tz::TimeZone;

use super::frame::{Chart, DONE, IN_PROGRESS, PENDING, WIDTH, share};
use super::time_axis::TimeAxis;
use crate::rules::looking::past::{BurnUp, BurnUpPoint};

const KIND: &str = "burn-up";
const HEIGHT: i64 = 240;
const TOP: i64 = 16;
const BOTTOM: i64 = HEIGHT - 28;
const LEFT: i64 = 44;
/// The room on the right for what the lines are called.
const RIGHT: i64 = 112;
/// The height of a line of words.
const WORDS: i64 = 15;

/// Draws how many tasks there were, and how many of them were done.
pub fn burn_up_svg(burn_up: &BurnUp, zone: &TimeZone) -> String {
    let (Some(first), Some(last)) = (burn_up.points.first(), burn_up.points.last()) else {
        return Chart::empty(KIND, "No task yet");
    };
    let highest = burn_up.points.iter().map(|point| point.total).max().unwrap_or(0);
    if highest == 0 {
        return Chart::empty(KIND, "No task yet");
    }
    let told = format!("{} of {} tasks done, {} in progress", last.done, last.total, last.in_progress);
    let mut chart = Chart::begin(KIND, HEIGHT, &told);
    let axis = TimeAxis { from: first.at, until: last.at, left: LEFT, width: WIDTH - LEFT - RIGHT, zone };
    axis.draw(&mut chart, TOP, BOTTOM);
    let step = step_of(highest);
    let greatest = highest.div_ceil(step) * step;
    let y = |count: usize| BOTTOM - share(BOTTOM - TOP, wide(count), wide(greatest));
    for count in (0..=greatest).step_by(step) {
        chart.line("grid", (LEFT, y(count)), (WIDTH - RIGHT, y(count)));
        chart.words("figure", (LEFT - 8, y(count) + 4), "end", &count.to_string());
    }
    let line = |height: &dyn Fn(&BurnUpPoint) -> usize| -> Vec<(i64, i64)> {
        burn_up.points.iter().map(|point| (axis.x(point.at), y(height(point)))).collect()
    };
    let (ground, done) = (line(&|_| 0), line(&|point| point.done));
    let begun = line(&|point| point.done + point.in_progress);
    chart.area("done", DONE, &done, &ground);
    chart.area("in_progress", IN_PROGRESS, &begun, &done);
    chart.curve("total", PENDING, &line(&|point| point.total));
    let mut lowest = TOP - WORDS;
    for (class, height, words) in [
        ("total", last.total, format!("{} in all", last.total)),
        ("in_progress", last.done + last.in_progress, format!("{} in progress", last.in_progress)),
        ("done", last.done, format!("{} done", last.done)),
    ] {
        // Lines that end close to each other have their words below each other all the same.
        lowest = (y(height) + 4).max(lowest + WORDS);
        chart.words(&format!("label {class}"), (WIDTH - RIGHT + 8, lowest), "start", &words);
    }
    chart.end()
}

/// Returns how far apart the lines are that tell counts: five of them at most, at round numbers.
fn step_of(highest: usize) -> usize {
    let powers = std::iter::successors(Some(1_usize), |power| power.checked_mul(10));
    let mut steps = powers.flat_map(|power| [1, 2, 5].map(|factor| power.saturating_mul(factor)));
    steps.find(|step| highest.div_ceil(*step) <= 5).unwrap_or(highest.max(1))
}

fn wide(count: usize) -> i128 {
    i128::try_from(count).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::{burn_up_svg, step_of};
    use crate::Timestamp;
    use crate::rules::looking::past::{BurnUp, BurnUpPoint};

    #[test]
    fn the_lines_end_at_the_counts_of_the_last_moment() {
        let point = |hours: i64, done, in_progress, total| BurnUpPoint {
            at: Timestamp(1_794_700_800_000 + hours * 3_600_000),
            done,
            in_progress,
            total,
        };
        let points = vec![point(0, 0, 0, 3), point(6, 2, 1, 8), point(12, 2, 3, 8), point(24, 7, 1, 9)];
        insta::assert_snapshot!(burn_up_svg(&BurnUp { points }, &TimeZone::UTC));
    }

    #[test]
    fn an_empty_list_says_so() {
        assert!(burn_up_svg(&BurnUp { points: Vec::new() }, &TimeZone::UTC).contains("No task yet"));
        assert!(
            burn_up_svg(&BurnUp { points: vec![BurnUpPoint::default(); 2] }, &TimeZone::UTC).contains("No task yet")
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
