//! A command that this build does not have: its feature is off.

use std::convert::Infallible;

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Nobody can type it, and help does not name it.
#[derive(Debug)]
pub(crate) struct Absent(Infallible);

impl Absent {
    pub(crate) fn run(self, _: &Context, _: &mut Output) -> Result<Exit, Problem> {
        match self.0 {}
    }
}
