//! A set of listeners, each told once of every event.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use taskyard_core::Event;

use crate::store::{Listener, Subscription};

/// Tells every listener of every event, once. A listener that panics harms nobody; one that is dropped is told no more.
#[derive(Clone, Default)]
pub struct EventBus(Arc<Mutex<Listeners>>);

#[derive(Default)]
struct Listeners {
    next: u64,
    members: Vec<(u64, Arc<Listener>)>,
}

impl EventBus {
    /// Adds a listener for as long as the subscription lives.
    pub fn subscribe(&self, listener: Listener) -> Subscription {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = listeners.next;
        listeners.next += 1;
        listeners.members.push((key, Arc::new(listener)));
        let bus = Arc::clone(&self.0);
        Subscription::new(move || {
            let mut listeners = bus.lock().unwrap_or_else(PoisonError::into_inner);
            listeners.members.retain(|(member, _)| *member != key);
        })
    }

    /// Tells every listener. Listeners may subscribe, unsubscribe and publish while they are told.
    pub fn publish(&self, event: &Event) {
        let members = self.0.lock().unwrap_or_else(PoisonError::into_inner).members.clone();
        for (_, listener) in members {
            if catch_unwind(AssertUnwindSafe(|| listener(event))).is_err() {
                tracing::error!(revision = event.revision.0, "a listener panicked");
            }
        }
    }
}

impl fmt::Debug for EventBus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EventBus")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use taskyard_core::{Event, ListId, Revision};

    use super::EventBus;

    fn event() -> Event {
        Event { list: ListId::new("L").unwrap(), revision: Revision(1), entries: Vec::new() }
    }

    #[test]
    fn every_listener_is_told_once_and_a_panic_harms_nobody() {
        let bus = EventBus::default();
        let told = Arc::new(AtomicUsize::new(0));
        let count = || {
            let told = Arc::clone(&told);
            Box::new(move |_: &Event| {
                told.fetch_add(1, Ordering::SeqCst);
            })
        };
        let _one = bus.subscribe(count());
        let _panicking = bus.subscribe(Box::new(|_| panic!("on purpose")));
        let _two = bus.subscribe(count());
        bus.publish(&event());
        assert_eq!(told.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_dropped_subscription_is_told_no_more() {
        let bus = EventBus::default();
        let told = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&told);
        let subscription = bus.subscribe(Box::new(move |_| {
            seen.fetch_add(1, Ordering::SeqCst);
        }));
        bus.publish(&event());
        drop(subscription);
        bus.publish(&event());
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }
}
