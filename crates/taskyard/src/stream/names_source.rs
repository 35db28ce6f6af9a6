//! Which lists there are.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::ListId;

use super::source::{Found, Source};
use super::{Cursor, Happening};
use crate::store::{Store, Watch};
use crate::{Error, StoreError};

/// Tells which lists come and go.
pub(super) struct NamesSource {
    store: Arc<dyn Store>,
    watch: Box<dyn Watch>,
    known: BTreeSet<ListId>,
}

impl NamesSource {
    /// Begins with the lists there are.
    pub(super) fn new(store: Arc<dyn Store>, mut watch: Box<dyn Watch>) -> Result<Self, StoreError> {
        watch.keep_up()?;
        let known = store.list_names()?;
        Ok(Self { store, watch, known })
    }

    /// Returns the lists there were at the last look.
    pub(super) fn known(&self) -> &BTreeSet<ListId> {
        &self.known
    }
}

impl Source for NamesSource {
    fn look(&mut self, found: &mut Found) -> Result<Option<Duration>, Error> {
        let pause = self.watch.keep_up()?;
        let lists = self.store.list_names()?;
        for list in lists.difference(&self.known) {
            found.happenings.push_back(Happening::ListCame(list.clone()));
            found.lists_to_follow.push(list.clone());
        }
        for list in self.known.difference(&lists) {
            found.happenings.push_back(Happening::ListWent(list.clone()));
            found.lists_to_leave.push(list.clone());
        }
        self.known = lists;
        Ok(pause)
    }

    fn mark(&self, _cursor: &mut Cursor) {}
}
