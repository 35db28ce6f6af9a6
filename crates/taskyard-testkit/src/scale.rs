//! How much a test does.

use std::env;

/// Multiplies an amount with the environment variable `TASKYARD_TEST_SCALE`, which is 1 where it is not set.
pub fn scaled(amount: u32) -> u32 {
    let scale = env::var("TASKYARD_TEST_SCALE").ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    (f64::from(amount) * scale).ceil().max(1.0) as u32
}
