//! A place of teams opened for one test.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use taskyard::core::Rules;
use taskyard::teams::{TeamCaller, TeamStore, Teams};

/// A place of teams that can be opened any number of times, and what must live as long as it does: a temporary directory, say.
#[derive(Clone)]
pub struct OpenedTeams {
    open: Arc<dyn Fn() -> Arc<dyn TeamStore> + Send + Sync>,
    _kept: Arc<dyn Any + Send + Sync>,
}

impl OpenedTeams {
    /// Takes what opens the place once more, as another process would, and what must live as long as it does.
    pub fn keeping(
        open: impl Fn() -> Arc<dyn TeamStore> + Send + Sync + 'static,
        kept: impl Any + Send + Sync,
    ) -> Self {
        Self { open: Arc::new(open), _kept: Arc::new(kept) }
    }

    /// Opens the place once more.
    pub fn store(&self) -> Arc<dyn TeamStore> {
        (self.open)()
    }

    /// Opens the place once more, for the operations on teams.
    pub fn teams(&self) -> Teams {
        Teams::over(self.store(), Rules::Strict, TeamCaller::default())
    }
}

impl fmt::Debug for OpenedTeams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store().fmt(formatter)
    }
}
