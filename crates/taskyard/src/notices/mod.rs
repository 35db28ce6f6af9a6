//! What there is to tell an agent of the jobs it started, until it has heard it.

mod queue;

pub(crate) use queue::queue;
