//! The clock of a store.

use std::fmt;
use std::sync::Arc;

use taskyard_core::Moment;

use crate::clock;

/// The clock that a store gives and ends leases by: this machine's, unless a test brings one that it turns itself.
#[derive(Clone)]
pub struct StoreClock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl StoreClock {
    /// Takes what tells the moment.
    pub fn new(now: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the moment it is.
    pub fn now(&self) -> Moment {
        (self.0)()
    }
}

impl Default for StoreClock {
    fn default() -> Self {
        Self::new(clock::moment)
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoreClock")
    }
}
