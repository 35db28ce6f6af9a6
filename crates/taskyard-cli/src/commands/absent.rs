//! A placeholder for a command whose feature is disabled in this build.

use std::convert::Infallible;

use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Uninhabited, so it can never be typed, and help does not mention it.
#[derive(Debug)]
pub(crate) struct Absent(Infallible);

impl Absent {
    pub(crate) fn run(self, _: &Context, _: &mut Output) -> Result<Exit, Problem> {
        match self.0 {}
    }
}
