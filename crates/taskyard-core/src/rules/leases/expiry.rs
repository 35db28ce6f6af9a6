//! When a moment that was agreed on is over, by the clocks of one machine or of two.

use std::time::Duration;

use crate::Moment;

/// How much longer a lease counts as alive when only the wall clock can tell: clocks of two machines, or of one machine before
/// and after it was off, agree only so far.
pub const CLOCK_MARGIN: Duration = Duration::from_secs(30);

/// Tells whether a moment lies behind us.
pub(crate) fn is_past(moment: &Moment, now: &Moment) -> bool {
    if moment.boot == now.boot {
        return now.since_boot >= moment.since_boot;
    }
    now.wall >= moment.after(CLOCK_MARGIN).wall
}
