//! Having a listener called, on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::{Happening, Stream, StreamControl};
use crate::Error;
use crate::store::{StoreError, Subscription};

/// A listener that is called for what happens, until this is dropped.
#[derive(Debug)]
pub struct Listening {
    control: StreamControl,
    _thread: Subscription,
}

impl Stream {
    /// Calls a listener for everything that happens, on a thread of its own, until what is returned is dropped. A panic in it harms no
    /// other listener, and it is called for the next thing all the same.
    pub fn listen(self, mut to: impl FnMut(Happening) + Send + 'static) -> Result<Listening, Error> {
        let control = self.control();
        self.listen_to_bursts(move |happenings| {
            // The caller that ends the listening waits for this.
            for happening in happenings.into_iter().take_while(|_| !control.is_stopped()) {
                calling(|| to(happening));
            }
        })
    }

    /// Calls a listener as [`Self::listen`] does, with everything at once that was seen at once.
    pub fn listen_to_bursts(mut self, mut to: impl FnMut(Vec<Happening>) + Send + 'static) -> Result<Listening, Error> {
        let control = self.control();
        let end = control.clone();
        let told = move || {
            while let Some(first) = self.next() {
                match first {
                    Ok(first) => calling(|| to(std::iter::once(first).chain(self.take_ready()).collect())),
                    Err(error) => tracing::warn!(%error, "what happens is no longer told"),
                }
            }
        };
        let thread = thread::Builder::new().name("taskyard-stream".to_owned()).spawn(told);
        let thread = thread.map_err(StoreError::io("cannot start a thread to follow", "."))?;
        let thread = Subscription::new(move || {
            end.stop();
            // A listener may end its own listening; it cannot wait for itself.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        });
        Ok(Listening { control, _thread: thread })
    }
}

impl Listening {
    /// Returns what steers the stream.
    pub fn control(&self) -> &StreamControl {
        &self.control
    }
}

fn calling(listener: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(listener)).is_err() {
        tracing::error!("a listener panicked");
    }
}
