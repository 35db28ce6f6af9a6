//! How much of the full scale a test run does.

/// The variable that multiplies every count: `1` is the full scale, unset is what fits a continuous build.
const VARIABLE: &str = "TASKYARD_TEST_SCALE";

/// A share of the full scale.
#[derive(Clone, Copy, Debug)]
pub struct Scale(f64);

impl Scale {
    /// Reads the scale from the environment; `otherwise` is used where it says nothing.
    pub fn from_environment(otherwise: f64) -> Self {
        let said = std::env::var(VARIABLE).ok().and_then(|text| text.trim().parse().ok());
        Self(said.unwrap_or(otherwise))
    }

    /// Returns this share of a count, one at least.
    pub fn of(self, full: usize) -> usize {
        // Counts of tests are far below the point where a float loses whole numbers.
        ((full as f64 * self.0).round() as usize).max(1)
    }

    /// Tells whether everything is to be done.
    pub fn is_full(self) -> bool {
        self.0 >= 1.0
    }
}
