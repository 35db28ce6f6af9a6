//! Answers whose effect is undone if they do not reach the caller.
//!
//! An answer counts as delivered once all of it has been handed to the operating system. Whether the client reads it
//! cannot be known.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::Response;
use taskyard_mcp::at_the_end;
use tokio::runtime::Handle;

use taskyard_mcp::serving::spawn;

type Undo = Box<dyn FnOnce() + Send>;

/// An undelivered answer. An extension of the response; if dropped before delivery, it undoes the answer's effect.
#[derive(Clone)]
pub(crate) struct Delivery(Arc<Undelivered>);

struct Undelivered(Mutex<Option<Undo>>);

impl Delivery {
    /// Runs `undo`, which may block, if the answer is not delivered.
    pub(crate) fn or_else(undo: impl FnOnce() + Send + 'static) -> Self {
        Self(Arc::new(Undelivered(Mutex::new(Some(Box::new(undo))))))
    }

    fn is_done(&self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        let undo = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // Without a runtime, the whole server has ended.
        if let (Some(undo), Ok(_)) = (undo, Handle::try_current()) {
            spawn(undo);
        }
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Delivery")
    }
}

/// Answers of one connection that were handed to it completely, but not yet flushed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unsent(Arc<Mutex<Vec<Delivery>>>);

impl Unsent {
    /// Tracks a response until it is delivered, if it has a [`Delivery`].
    pub(crate) fn follow(&self, mut response: Response) -> Response {
        match response.extensions_mut().remove::<Delivery>() {
            Some(delivery) => {
                let unsent = self.clone();
                // A response that was read completely is on its way; any other is dropped with its delivery.
                at_the_end(response, move |is_whole| unsent.lock().extend(Some(delivery).filter(|_| is_whole)))
            }
            None => response,
        }
    }

    /// Marks all of them as delivered: the connection has been flushed.
    pub(crate) fn is_flushed(&self) {
        self.lock().drain(..).for_each(|delivery| delivery.is_done());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Delivery>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::{Body, to_bytes};
    use axum::response::Response;

    use super::{Delivery, Unsent};

    /// Sends an answer as far as the test does, and returns how often it was undone.
    fn undone(send: impl AsyncFnOnce(Response, Unsent)) -> usize {
        let undone = Arc::new(AtomicUsize::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut response = Response::new(Body::from("claimed"));
            let counted = Arc::clone(&undone);
            response.extensions_mut().insert(Delivery::or_else(move || {
                counted.fetch_add(1, Ordering::SeqCst);
            }));
            send(response, Unsent::default()).await;
        });
        drop(runtime);
        undone.load(Ordering::SeqCst)
    }

    #[test]
    fn an_answer_is_undone_unless_all_of_it_was_sent() {
        assert_eq!(undone(async |response, _| drop(response)), 1, "no connection took it");
        assert_eq!(undone(async |response, unsent| drop(unsent.follow(response))), 1, "its body was not asked for");
        let taken = async |response, unsent: &Unsent| {
            to_bytes(unsent.follow(response).into_body(), 100).await.unwrap();
        };
        assert_eq!(undone(async |response, unsent| taken(response, &unsent).await), 1, "it was not written");
        let sent = undone(async |response, unsent| {
            unsent.is_flushed();
            taken(response, &unsent).await;
            unsent.is_flushed();
        });
        assert_eq!(sent, 0);
    }
}
