//! What is promised, and whether it is kept.

use std::process::ExitCode;

/// The promises that were held against a measurement.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    broken: usize,
}

impl Promises {
    /// Prints a measurement with what is promised of it.
    pub(crate) fn hold(&mut self, what: &str, promised: &str, is_kept: bool) {
        println!("{what}; promised: {promised}: {}", if is_kept { "kept" } else { "NOT KEPT" });
        self.broken += usize::from(!is_kept);
    }

    /// Ends with 1 where one is not kept.
    pub(crate) fn conclude(self) -> ExitCode {
        ExitCode::from(u8::from(self.broken > 0))
    }
}
