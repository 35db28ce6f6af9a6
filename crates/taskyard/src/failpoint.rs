//! Named steps of a commit at which a test may stop the process.
//!
//! In normal builds `reach` is empty. With the feature `failpoints` (test builds only) a plan can be armed: at the n-th
//! step, or the n-th time a named step is reached, the process kills or stops itself, panics, or waits for some time or
//! until a file exists. A plan may also simulate another boot, a changed wall clock or inotify instances in use, and
//! set the duration of a cleanup step, the age above which commits are flushed, and the first token. Several plans are
//! separated by semicolons.

#[cfg(feature = "failpoints")]
pub use armed::{arm, reach, reach_if_named};
#[cfg(feature = "failpoints")]
pub(crate) use armed::{boot_id, first_token, flush_age, inotify_instances, longest_silence, longest_step, wall_shift};

/// A plan that cannot be parsed, or any plan in a build without failpoints.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no failpoint plan here; write `STEP[*COUNT]=kill|stop|panic|sleep:MS|until:PATH|trace:PATH|boot:ID|wall:MS|silence:MS|step:MS|flush:MS|inotify:COUNT|token:NUMBER`, STEP may be `any`"
)]
pub struct BadPlan(String);

/// Marks a step of a commit.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn reach(_step: &'static str) {}

/// Marks a step of a reader. Whether it is reached depends on timing, so `any` does not include it.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn reach_if_named(_step: &'static str) {}

/// Refuses every plan: this build has no failpoints.
#[cfg(not(feature = "failpoints"))]
pub fn arm(plan: &str) -> Result<(), BadPlan> {
    Err(BadPlan(plan.to_owned()))
}

#[cfg(feature = "failpoints")]
mod armed {
    use std::fs;
    use std::path::PathBuf;
    use std::str::FromStr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};

    use super::BadPlan;

    static PLANS: OnceLock<Vec<Plan>> = OnceLock::new();

    struct Plan {
        step: String,
        count: u64,
        action: Action,
        reached: AtomicU64,
    }

    enum Action {
        Kill,
        Stop,
        Panic,
        Sleep(Duration),
        Until(PathBuf),
        Trace(PathBuf),
        Boot(String),
        Wall(i64),
        Silence(Duration),
        Step(Duration),
        Flush(i64),
        Inotify(u64),
        Token(u64),
    }

    impl FromStr for Plan {
        type Err = BadPlan;

        fn from_str(text: &str) -> Result<Self, BadPlan> {
            let bad = || BadPlan(text.to_owned());
            let (place, action) = text.split_once('=').ok_or_else(bad)?;
            let (step, count) = match place.split_once('*') {
                Some((step, count)) => (step, count.parse().map_err(|_| bad())?),
                None => (place, 1),
            };
            let action = match action.split_once(':').unwrap_or((action, "")) {
                ("kill", "") => Action::Kill,
                ("stop", "") => Action::Stop,
                ("panic", "") => Action::Panic,
                ("sleep", ms) => Action::Sleep(Duration::from_millis(ms.parse().map_err(|_| bad())?)),
                ("until", path) => Action::Until(PathBuf::from(path)),
                ("trace", path) => Action::Trace(PathBuf::from(path)),
                ("boot", id) => Action::Boot(id.to_owned()),
                ("wall", ms) => Action::Wall(ms.parse().map_err(|_| bad())?),
                ("inotify", count) => Action::Inotify(count.parse().map_err(|_| bad())?),
                ("step", ms) => Action::Step(Duration::from_millis(ms.parse().map_err(|_| bad())?)),
                ("flush", ms) => Action::Flush(ms.parse().map_err(|_| bad())?),
                ("token", number) => Action::Token(number.parse().map_err(|_| bad())?),
                ("silence", ms) => Action::Silence(Duration::from_millis(ms.parse().map_err(|_| bad())?)),
                _ => return Err(bad()),
            };
            Ok(Self { step: step.to_owned(), count, action, reached: AtomicU64::new(0) })
        }
    }

    /// Arms plans for this process. Fails if plans are already armed.
    pub fn arm(plans: &str) -> Result<(), BadPlan> {
        let plans = plans.split(';').map(str::parse).collect::<Result<_, _>>()?;
        PLANS.set(plans).map_err(|_| BadPlan("a second time".to_owned()))
    }

    /// Returns the simulated boot id.
    pub(crate) fn boot_id() -> Option<&'static str> {
        plans().find_map(|plan| match &plan.action {
            Action::Boot(id) => Some(id.as_str()),
            _ => None,
        })
    }

    /// Returns the simulated shift of the wall clock in milliseconds.
    pub(crate) fn wall_shift() -> i64 {
        let shift = |plan: &Plan| match plan.action {
            Action::Wall(shift) => Some(shift),
            _ => None,
        };
        plans().find_map(shift).unwrap_or(0)
    }

    /// Returns how long a process counts as alive after its last heartbeat.
    pub(crate) fn longest_silence() -> Option<Duration> {
        plans().find_map(|plan| match plan.action {
            Action::Silence(span) => Some(span),
            _ => None,
        })
    }

    /// Returns the maximum duration of a cleanup step; the total duration is then unlimited.
    pub(crate) fn longest_step() -> Option<Duration> {
        plans().find_map(|plan| match plan.action {
            Action::Step(span) => Some(span),
            _ => None,
        })
    }

    /// Returns the age in milliseconds above which commits are flushed.
    pub(crate) fn flush_age() -> Option<i64> {
        plans().find_map(|plan| match plan.action {
            Action::Flush(age) => Some(age),
            _ => None,
        })
    }

    /// Returns the simulated number of inotify instances in use.
    pub(crate) fn inotify_instances() -> Option<u64> {
        plans().find_map(|plan| match plan.action {
            Action::Inotify(count) => Some(count),
            _ => None,
        })
    }

    /// Returns the first token that a new store grants.
    pub(crate) fn first_token() -> Option<u64> {
        plans().find_map(|plan| match plan.action {
            Action::Token(number) => Some(number),
            _ => None,
        })
    }

    /// Marks a step of a commit, and executes the plans for it.
    pub fn reach(step: &'static str) {
        plans().filter(|plan| plan.step == "any" || plan.step == step).for_each(|plan| plan.reach(step));
    }

    /// Marks a step of a reader, and executes the plans that name it.
    pub fn reach_if_named(step: &'static str) {
        plans().filter(|plan| plan.step == step).for_each(|plan| plan.reach(step));
    }

    fn plans() -> impl Iterator<Item = &'static Plan> {
        PLANS.get().into_iter().flatten()
    }

    impl Plan {
        fn reach(&self, step: &'static str) {
            let count = self.reached.fetch_add(1, Ordering::SeqCst) + 1;
            if let Action::Trace(path) = &self.action {
                let mut trace = fs::read_to_string(path).unwrap_or_default();
                trace.push_str(step);
                trace.push('\n');
                fs::write(path, trace).expect("a test's trace file is writable");
                return;
            }
            if count != self.count {
                return;
            }
            match &self.action {
                Action::Kill => drop(kill_process(getpid(), Signal::KILL)),
                Action::Stop => drop(kill_process(getpid(), Signal::STOP)),
                Action::Panic => panic!("the plan of a test says so: {step}"),
                Action::Sleep(pause) => thread::sleep(*pause),
                Action::Until(path) => {
                    while !path.exists() {
                        thread::sleep(Duration::from_millis(5));
                    }
                }
                Action::Trace(_)
                | Action::Boot(_)
                | Action::Wall(_)
                | Action::Silence(_)
                | Action::Step(_)
                | Action::Flush(_)
                | Action::Inotify(_)
                | Action::Token(_) => {}
            }
            if matches!(self.action, Action::Kill) {
                // The signal is pending; nothing more may happen in this process.
                thread::sleep(Duration::from_secs(60));
            }
        }
    }
}
