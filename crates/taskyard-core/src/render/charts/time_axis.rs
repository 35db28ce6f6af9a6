//! The line of time below a chart.

use jiff::tz::TimeZone;

use super::frame::{Chart, share};
use crate::Timestamp;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// How far apart marks may be.
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
/// So many marks there are at most.
const MOST: i64 = 8;

/// A time, and where it is drawn.
#[derive(Clone, Copy)]
pub(super) struct TimeAxis<'a> {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    /// Where it begins, and how long it is.
    pub(super) left: i64,
    pub(super) width: i64,
    /// The zone in which times of day are told.
    pub(super) zone: &'a TimeZone,
}

impl TimeAxis<'_> {
    /// Returns where a moment is drawn.
    pub(super) fn x(&self, moment: Timestamp) -> i64 {
        let (passed, span) = (i128::from(moment.0) - i128::from(self.from.0), self.span());
        self.left + share(self.width, passed.clamp(0, span), span)
    }

    /// Draws marks with their times, and lines above them up to a height.
    pub(super) fn draw(&self, chart: &mut Chart, top: i64, bottom: i64) {
        let span = i64::try_from(self.span()).unwrap_or(i64::MAX);
        let step = STEPS.into_iter().find(|step| span / step < MOST).unwrap_or(span / MOST);
        let mut local = (self.from.0.saturating_add(self.offset(self.from))).div_euclid(step) * step;
        loop {
            // A mark stands at a full hour or day of the zone, whatever its offset is then.
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

    /// Returns a moment in words, as exact as its marks are near each other.
    pub(super) fn words(&self, moment: Timestamp, step: i64) -> String {
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
