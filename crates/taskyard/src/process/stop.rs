//! Ending commands from outside: they are asked first, and killed when that does not help.

use std::sync::Arc;

use super::Cancel;
use crate::store::Subscription;

/// Ends commands in two steps. Clones are the same stop; what has been done stays done.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Cancel,
    killed: Cancel,
    /// What leads here from the stop this one is part of.
    _outer: Option<Arc<[Subscription; 2]>>,
}

impl Stop {
    /// Returns a stop that has not happened.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns one that also happens when this one does.
    #[must_use]
    pub fn part(&self) -> Self {
        let (asked, killed) = (Cancel::new(), Cancel::new());
        let lead = |from: &Cancel, to: &Cancel| {
            let to = to.clone();
            from.on_cancel(move || to.cancel())
        };
        let outer = [lead(&self.asked, &asked), lead(&self.killed, &killed)];
        Self { asked, killed, _outer: Some(Arc::new(outer)) }
    }

    /// Asks everything to end.
    pub fn ask(&self) {
        self.asked.cancel();
    }

    /// Kills everything at once.
    pub fn kill(&self) {
        self.asked.cancel();
        self.killed.cancel();
    }

    /// Returns what is cancelled when everything is asked to end.
    pub fn asked(&self) -> &Cancel {
        &self.asked
    }

    /// Returns what is cancelled when everything is to be killed at once.
    pub fn killed(&self) -> &Cancel {
        &self.killed
    }
}

#[cfg(test)]
mod tests {
    use super::Stop;

    #[test]
    fn a_part_stops_with_the_whole_and_does_not_stop_it() {
        let stop = Stop::new();
        let part = stop.part();
        stop.part().kill();
        assert!(!stop.asked().is_cancelled() && !part.asked().is_cancelled());
        stop.ask();
        for stopped in [&part, &stop.part()] {
            assert!(stopped.asked().is_cancelled() && !stopped.killed().is_cancelled());
        }
        stop.kill();
        assert!(part.killed().is_cancelled());
    }
}
