//! What this process was given, and whether it still holds any of it at its end.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use taskyard_core::{Holder, ListId};

use crate::Yard;
use crate::liveness::own_mark;
use crate::store::{Store, StoreError};

/// The lists on which this process was given leases. A store is not kept open for it.
static GIVEN: Mutex<Vec<(Weak<dyn Store>, ListId)>> = Mutex::new(Vec::new());

impl Yard {
    /// Takes note that a lease was given. Where it lives with this process, that one leaves signs of life from now on.
    pub(crate) fn holds_now(&self, holder: &Holder) {
        if *holder.process() == own_mark() {
            let (store, list) = (Arc::downgrade(&self.shared_store()), self.list_id());
            let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
            if !given.iter().any(|(known, on)| known.ptr_eq(&store) && on == list) {
                given.push((store, list.clone()));
            }
        }
        self.world().holds_now(holder);
    }

    /// Ends the signs of life of this process where it holds no lease any more: no reader waits for them then. A process that holds one
    /// leaves its last sign, from which readers count until the lease ends.
    pub fn end_signs(&self) {
        // A caller that is given a lease from here on waits for this lock, and leaves its sign again.
        let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !given.iter().any(|(store, list)| may_hold(store, list)) {
            self.world().holds_nothing();
        }
    }
}

/// Tells whether this process holds a lease on a list, as far as can be found out.
fn may_hold(store: &Weak<dyn Store>, list: &ListId) -> bool {
    let Some(store) = store.upgrade() else { return true };
    let holds = || -> Result<bool, StoreError> {
        let own = own_mark();
        let leases = store.read(list)?.leases()?;
        Ok(leases.iter().any(|lease| lease.holder.as_ref().is_some_and(|holder| *holder.process() == own)))
    };
    holds().unwrap_or(true)
}
