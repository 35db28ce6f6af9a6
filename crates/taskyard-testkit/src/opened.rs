//! A store opened for one test.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use taskyard::Store;

/// A store, and what must live as long as it does: a temporary directory, say.
#[derive(Clone)]
pub struct Opened {
    /// The store.
    pub store: Arc<dyn Store>,
    _kept: Option<Arc<dyn Any + Send + Sync>>,
}

impl Opened {
    /// Takes a store and what must live as long as it does.
    pub fn keeping(store: Arc<dyn Store>, kept: impl Any + Send + Sync) -> Self {
        Self { store, _kept: Some(Arc::new(kept)) }
    }
}

impl From<Arc<dyn Store>> for Opened {
    fn from(store: Arc<dyn Store>) -> Self {
        Self { store, _kept: None }
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(formatter)
    }
}
