//! What the place of display can show.

use jiff::tz::TimeZone;

use crate::rules::leases::leasing::LeaseState;
use crate::timing::{moment_in_speech, span_in_speech, time_in_speech};
use crate::{Lease, Status, Task, Timestamp};

use super::{Line, Tone};

/// The zone of those of whom nothing is known.
const UTC: &TimeZone = &TimeZone::UTC;

/// What the place of display can show: its characters, its width, and whether times are told as ages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether it shows more than ASCII.
    pub unicode: bool,
    /// Its width in columns; none where lines may be of any length.
    pub width: Option<usize>,
    /// The present moment, if times are shown to people; `None` if they are shown in full.
    pub now: Option<Timestamp>,
    /// The zone of the people to whom times are shown.
    pub zone: &'static TimeZone,
    /// Whether people see when something happened by the clock; as an age otherwise.
    pub by_clock: bool,
}

impl Look {
    /// Returns the look of a pipe: any width, times in full.
    pub const PIPE: Self = Self { unicode: true, width: None, now: None, zone: UTC, by_clock: false };

    /// Returns the mark of a task's state.
    pub fn mark(&self, task: &Task) -> (Tone, &'static str) {
        match task.status {
            Status::Pending => (Tone::Plain, self.either("◻", "[ ]")),
            Status::InProgress => (Tone::Active, self.either("◼", "[>]")),
            Status::Completed if task.is_cancelled() => (Tone::Dim, self.either("✘", "[-]")),
            Status::Completed => (Tone::Done, self.either("✔", "[x]")),
        }
    }

    /// Returns the sign that something was cut off.
    pub fn ellipsis(&self) -> &'static str {
        self.either("…", "...")
    }

    /// Returns a line cut to what fits, with a sign that something was cut off.
    pub fn fitted(&self, line: Line) -> Line {
        match self.width {
            Some(width) => line.cut(width, self.ellipsis()),
            None => line,
        }
    }

    /// Returns an arrow from one thing to the next.
    pub fn arrow(&self) -> &'static str {
        self.either("→", "->")
    }

    /// Returns a dot between things of one line.
    pub fn dot(&self) -> &'static str {
        self.either(" · ", ", ")
    }

    /// Returns the first text where more than ASCII can be shown, else the second.
    pub fn either(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }

    /// Returns when something happened, as an age, by the clock, or in full.
    pub fn time(&self, moment: Timestamp) -> String {
        match self.now {
            Some(now) if self.by_clock => time_in_speech(moment, now, self.zone),
            Some(now) => age(now.0.saturating_sub(moment.0)),
            None => moment.to_string(),
        }
    }

    /// Returns the moment at which something is planned: with the time until then, `Mon 23 Nov, 00:00 (in 2 days)`, or in full.
    pub fn planned(&self, moment: Timestamp) -> String {
        match self.now {
            Some(now) => {
                let distance = span_in_speech((moment.0 - now.0).saturating_abs());
                let distance = if moment < now { format!("{distance} ago") } else { format!("in {distance}") };
                format!("{} ({distance})", moment_in_speech(moment, now, self.zone))
            }
            None => moment.to_string(),
        }
    }

    /// Returns a moment by the clock of the people to whom it is shown, or in full.
    pub fn moment(&self, moment: Timestamp) -> String {
        match self.now {
            Some(now) => moment_in_speech(moment, now, self.zone),
            None => moment.to_string(),
        }
    }
}

impl Look {
    /// Returns how long a lease lives, as the time that is left or as the moment it ends.
    pub fn lease(&self, lease: &Lease, state: &LeaseState) -> String {
        let pid = lease.holder.as_ref().map_or(0, |holder| holder.process().pid);
        match state {
            LeaseState::Live => self.live_lease(lease),
            LeaseState::Lapsing(end) => format!("its server (process {pid}) has ended, free {}", self.until(end.wall)),
            LeaseState::Unseen(end) => {
                format!("process {pid} cannot be seen from here, free {} unless it shows life", self.until(end.wall))
            }
            LeaseState::TimeIsOver => "ended, its time is over".to_owned(),
            LeaseState::ProcessEnded => format!("ended, process {pid} has ended"),
            LeaseState::Silent => format!("ended, process {pid} cannot be seen from here and shows no life"),
        }
    }

    fn live_lease(&self, lease: &Lease) -> String {
        let time = lease.ends.as_ref().map(|end| match self.now {
            Some(now) if end.wall <= now => "ended".to_owned(),
            Some(now) => format!("for {} more", span(end.wall.0 - now.0)),
            None => format!("until {}", end.wall),
        });
        let process = lease.holder.as_ref().map(|holder| format!("while process {} runs", holder.process().pid));
        let words: Vec<String> = time.into_iter().chain(process).collect();
        if words.is_empty() { "without end".to_owned() } else { words.join(", ") }
    }

    /// Returns when something will be, as the time until then or in full.
    pub fn until(&self, moment: Timestamp) -> String {
        match self.now {
            Some(now) => format!("in {}", span(moment.0 - now.0)),
            None => format!("at {moment}"),
        }
    }
}

/// Returns a span of time in its largest unit, rounded up.
fn span(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0).unsigned_abs().div_ceil(1000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        7200..172_800 => format!("{} h", seconds.div_ceil(3600)),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}

/// Returns the state of a task in words for people.
pub fn state_in_words(task: &Task) -> &'static str {
    match task.status {
        Status::Pending => "pending",
        Status::InProgress => "in progress",
        Status::Completed if task.is_cancelled() => "cancelled",
        Status::Completed => "completed",
    }
}

fn age(milliseconds: i64) -> String {
    let minutes = milliseconds / 60_000;
    match minutes {
        ..1 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} h ago", minutes / 60),
        1440..2880 => "yesterday".to_owned(),
        2880..86_400 => format!("{} days ago", minutes / 1440),
        86_400..1_051_200 => format!("{} months ago", minutes / 43_200),
        _ => format!("{} years ago", minutes / 525_600),
    }
}

#[cfg(test)]
mod tests {
    use super::Look;
    use crate::Timestamp;

    #[test]
    fn an_age_is_told_in_the_largest_unit_that_says_something() {
        let look = |now| Look { now: Some(Timestamp(now)), ..Look::PIPE };
        let minute = 60_000;
        for (age, words) in [
            (5, "just now"),
            (90_000, "1 min ago"),
            (125 * minute, "2 h ago"),
            (1500 * minute, "yesterday"),
            (10 * 1440 * minute, "10 days ago"),
            (100 * 1440 * minute, "3 months ago"),
            (800 * 1440 * minute, "2 years ago"),
            (-5 * minute, "just now"),
        ] {
            assert_eq!(look(age).time(Timestamp(0)), words);
        }
    }

    #[test]
    fn a_pipe_gets_the_full_time() {
        assert_eq!(Look::PIPE.time(Timestamp(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(Look::PIPE.planned(Timestamp(0)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn people_get_the_time_of_their_clock() {
        let look = Look { now: Some(Timestamp(1_000)), by_clock: true, ..Look::PIPE };
        assert_eq!(look.time(Timestamp(0)), "00:00:00");
        assert_eq!(look.time(Timestamp(-1)), "Wed 31 Dec 1969, 23:59:59");
        assert_eq!(look.planned(Timestamp(172_800_000)), "Sat 3 Jan, 00:00 (in 2 days)");
        assert_eq!(look.planned(Timestamp(-7_200_000)), "Wed 31 Dec 1969, 22:00 (2 hours ago)");
        assert_eq!(look.moment(Timestamp(172_800_000)), "Sat 3 Jan, 00:00");
    }
}
