//! Which requests over HTTP are taken up: so many and no more, and no more of their bytes. The rest waits its turn outside, where it costs little.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::request::Parts;
use rmcp::model::{Extensions, RequestId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// So many requests are taken up at once.
const REQUESTS: usize = 8;
/// So many KiB of requests are read at once.
const KIB: usize = 32 * 1024;

/// Takes requests up.
#[derive(Clone, Debug)]
pub(crate) struct Admissions {
    requests: Arc<Semaphore>,
    kib: Arc<Semaphore>,
    /// The requests of sessions that are being answered.
    named: Arc<Mutex<HashSet<Named>>>,
}

/// What tells the requests of sessions apart: the session, and the id within it.
type Named = (String, RequestId);

/// The name of a request, which is taken until this is dropped.
#[derive(Debug)]
struct TakenName {
    name: Named,
    taken: Arc<Mutex<HashSet<Named>>>,
}

/// The bytes of a request that is being read, which count until this is dropped.
#[derive(Debug)]
pub(crate) struct Reading {
    requests: Arc<Semaphore>,
    _kib: Option<OwnedSemaphorePermit>,
    named: Arc<Mutex<HashSet<Named>>>,
    name: Option<TakenName>,
}

/// A request that has been taken up, until this is dropped. Clones are the same request.
#[derive(Clone, Debug)]
pub(crate) struct Admission(Arc<Admitted>);

#[derive(Debug)]
struct Admitted {
    request: Mutex<Option<OwnedSemaphorePermit>>,
    _reading: Reading,
    /// Cancelled when no client waits for the answer any longer.
    unanswerable: CancellationToken,
}

impl Default for Admissions {
    fn default() -> Self {
        Self { requests: Arc::new(Semaphore::new(REQUESTS)), kib: Arc::new(Semaphore::new(KIB)), named: Arc::default() }
    }
}

impl Admissions {
    /// Waits until a request of at most so many bytes can be read.
    pub(crate) async fn read(&self, bytes: usize) -> Reading {
        let kib = u32::try_from(bytes.div_ceil(1024).clamp(1, KIB)).unwrap_or(1);
        // The numbers are never closed.
        let kib = Arc::clone(&self.kib).acquire_many_owned(kib).await.ok();
        Reading { requests: Arc::clone(&self.requests), _kib: kib, named: Arc::clone(&self.named), name: None }
    }
}

impl Reading {
    /// Gives the request the name it has in its session; returns whether that is free.
    pub(crate) fn take_name(&mut self, session: String, id: RequestId) -> bool {
        let name = (session, id);
        let is_free = self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        if is_free {
            self.name = Some(TakenName { name, taken: Arc::clone(&self.named) });
        }
        is_free
    }

    /// Waits until the request can be taken up.
    pub(crate) async fn admitted(self) -> Admission {
        let request = Arc::clone(&self.requests).acquire_owned().await.ok();
        let unanswerable = CancellationToken::new();
        Admission(Arc::new(Admitted { request: Mutex::new(request), _reading: self, unanswerable }))
    }
}

impl Drop for TakenName {
    fn drop(&mut self) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

impl Admission {
    /// Lets another request be taken up in the place of this one, which waits for something that may take long.
    pub(crate) fn make_room(&self) {
        drop(self.0.request.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns what is cancelled when no client waits for the answer any longer: it was sent, or its connection has ended.
    pub(crate) fn unanswerable(&self) -> &CancellationToken {
        &self.0.unanswerable
    }
}

/// Returns the admission of the request that something came with; none over pipes.
pub(crate) fn admission_of(extensions: &Extensions) -> Option<Admission> {
    extensions.get::<Parts>()?.extensions.get::<Admission>().cloned()
}

#[cfg(test)]
mod tests {
    use super::{Admissions, KIB, REQUESTS};

    #[test]
    fn a_request_that_waits_makes_room_for_another_and_all_of_it_ends_with_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let admissions = Admissions::default();
            let one = admissions.read(2_000).await.admitted().await;
            assert_eq!(
                (admissions.requests.available_permits(), admissions.kib.available_permits()),
                (REQUESTS - 1, KIB - 2)
            );
            one.clone().make_room();
            assert_eq!(
                (admissions.requests.available_permits(), admissions.kib.available_permits()),
                (REQUESTS, KIB - 2)
            );
            drop(one);
            assert_eq!((admissions.requests.available_permits(), admissions.kib.available_permits()), (REQUESTS, KIB));
        });
    }
}
