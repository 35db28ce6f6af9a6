//! What was measured, and what it comes to.

use std::time::Duration;

/// Measured values, sorted.
#[derive(Clone, Debug)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Takes measured values; there must be one at least.
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        assert!(!values.is_empty(), "a measurement measures something");
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Takes measured times, as microseconds.
    pub(crate) fn microseconds(times: &[Duration]) -> Self {
        Self::new(times.iter().map(|time| time.as_secs_f64() * 1e6).collect())
    }

    /// Returns the middle one.
    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// Returns the one that 95 of 100 do not exceed.
    pub(crate) fn p95(&self) -> f64 {
        self.at(0.95)
    }

    /// Returns the one that 99 of 100 do not exceed.
    pub(crate) fn p99(&self) -> f64 {
        self.at(0.99)
    }

    /// Returns the average.
    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    fn at(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share).round() as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn the_median_and_the_95th_of_a_hundred_are_found_in_any_order() {
        let samples = Samples::new((0..=100).rev().map(f64::from).collect());
        assert_eq!((samples.median(), samples.p95(), samples.mean()), (50.0, 95.0, 50.0));
    }
}
