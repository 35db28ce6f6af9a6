//! Tidying by processes that run for long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{DailyTidying, Household};

/// When a server first looks whether something is to be tidied, and how often from then on.
const FIRST_LOOK: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);
/// For how long a server tidies at a time.
const AT_MOST: Duration = Duration::from_secs(2);

/// Tidies now and then in a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Caretaker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Caretaker {
    /// Begins to take care; where no thread can be started, nothing is tidied.
    pub fn of(household: Household) -> Self {
        Self::looking(household, FIRST_LOOK, LOOK_EVERY)
    }

    /// Begins to take care, and looks after so long and then so often.
    pub(crate) fn looking(household: Household, first: Duration, every: Duration) -> Self {
        let (stop, stopped) = channel::<()>();
        let care = move || {
            let mut pause = first;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if let Some(tidying) = DailyTidying::begin(&household) {
                    if let Some(doubt) = tidying.new_doubt() {
                        tracing::warn!("history is not tidied: {doubt}; `taskyard gc` asks what to do");
                    }
                    tidying.run(AT_MOST);
                }
                pause = every;
            }
        };
        let thread = thread::Builder::new().name("taskyard-caretaker".to_owned()).spawn(care).ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Caretaker {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It ends within the time that it tidies at most; a process that ends does not wait for that.
        drop(self.thread.take());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use taskyard_core::{AgentName, ListId, Rules};

    use super::{Caretaker, Household};
    use crate::operations::NewTask;
    use crate::store::{FileStore, FileStoreOptions};
    use crate::{Yard, clock};

    const MOMENT: Duration = Duration::from_millis(1);
    /// Far beyond any load.
    const PATIENCE: Duration = Duration::from_secs(300);

    fn wait_until(what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            if began.elapsed() > PATIENCE {
                panic!("in vain: {what}");
            }
            std::thread::yield_now();
        }
    }

    fn with_a_list(place: &Path) -> Household {
        let data = place.join("data");
        let options = FileStoreOptions { tasks: place.join("tasks"), data: Some(data.clone()), rules: Rules::Strict };
        let store = Arc::new(FileStore::open(options));
        let yard = Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
        yard.create(NewTask { subject: "One".to_owned(), ..NewTask::default() }).unwrap().done().unwrap();
        Household { data, keep: Duration::ZERO, max_size: u64::MAX }
    }

    #[test]
    fn a_server_tidies_when_a_day_has_passed_and_again_when_another_has() {
        let place = tempfile::tempdir().unwrap();
        let household = with_a_list(place.path());
        let tidied = household.data.join("tidied");
        let _caretaker = Caretaker::looking(household, MOMENT, MOMENT);
        for _ in 0..2 {
            // As if the last time had been two days ago.
            let two_days_ago = clock::now().0 - 2 * 24 * 60 * 60 * 1000;
            fs::write(&tidied, format!("{two_days_ago} \n")).unwrap();
            let note = || fs::read_to_string(&tidied).unwrap_or_default();
            wait_until("the list is tidied, and that is noted", || note().contains(" L-"));
        }
    }

    #[test]
    fn a_server_that_has_ended_tidies_nothing_any_more() {
        let place = tempfile::tempdir().unwrap();
        let household = with_a_list(place.path());
        let tidied = household.data.join("tidied");
        fs::write(&tidied, "0 \n").unwrap();
        let hour = Duration::from_secs(3600);
        let mut caretaker = Caretaker::looking(household, hour, hour);
        let thread = caretaker.thread.take().unwrap();
        drop(caretaker);
        thread.join().unwrap();
        assert_eq!(fs::read_to_string(&tidied).unwrap(), "0 \n");
    }
}
