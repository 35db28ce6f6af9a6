//! The thread that a call is made on, where those are few.

use std::fmt::Debug;
use std::sync::Arc;

/// A place among the few workers of a server. A worker that has to wait for another program leaves its place to other calls meanwhile.
pub trait Workplace: Debug + Send + Sync {
    /// Calls `wait` once, with the place free for other calls until it returns. No lock may be held.
    fn leave_while(&self, wait: &mut dyn FnMut());
}

/// Waits for another program, with the place among workers free for other calls where there is one.
pub fn wait_aside<T>(workplace: Option<&Arc<dyn Workplace>>, wait: impl FnOnce() -> T) -> T {
    let Some(workplace) = workplace else { return wait() };
    let (mut wait, mut came_of_it) = (Some(wait), None);
    workplace.leave_while(&mut || came_of_it = wait.take().map(|wait| wait()));
    came_of_it.unwrap_or_else(|| wait.take().expect("a workplace that did not wait has left it to us")())
}
