//! Admission of HTTP requests: how many at once and for which hosts, and detecting the end of a response.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use rmcp::model::{Extensions, RequestId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The maximum number of requests that are processed at once.
const REQUESTS: usize = 8;
/// The maximum total size of the requests that are read at once, in KiB.
const KIB: usize = 32 * 1024;

/// Limits the requests that are read and processed.
#[derive(Clone, Debug)]
pub(crate) struct Admissions {
    requests: Arc<Semaphore>,
    kib: Arc<Semaphore>,
    /// The ids of session requests that are in progress.
    named: Arc<Mutex<HashSet<Named>>>,
}

/// Identifies a request of a session: the session, and the request id.
type Named = (String, RequestId);

/// The id of a request, in use until this is dropped.
#[derive(Debug)]
struct TakenName {
    name: Named,
    taken: Arc<Mutex<HashSet<Named>>>,
}

/// A request that is being read; its bytes count until this is dropped.
#[derive(Debug)]
pub(crate) struct Reading {
    requests: Arc<Semaphore>,
    _kib: Option<OwnedSemaphorePermit>,
    named: Arc<Mutex<HashSet<Named>>>,
    name: Option<TakenName>,
}

/// An admitted request, until this is dropped. Clones are the same request.
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
    /// Waits until a request of at most `bytes` bytes can be read.
    pub(crate) async fn read(&self, bytes: usize) -> Reading {
        let kib = u32::try_from(bytes.div_ceil(1024).clamp(1, KIB)).unwrap_or(1);
        // The semaphore is never closed.
        let kib = Arc::clone(&self.kib).acquire_many_owned(kib).await.ok();
        Reading { requests: Arc::clone(&self.requests), _kib: kib, named: Arc::clone(&self.named), name: None }
    }
}

impl Reading {
    /// Reserves the id of the request within its session; returns whether it was free.
    pub(crate) fn take_name(&mut self, session: String, id: RequestId) -> bool {
        let name = (session, id);
        let is_free = self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        if is_free {
            self.name = Some(TakenName { name, taken: Arc::clone(&self.named) });
        }
        is_free
    }

    /// Waits until the request can be processed.
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
    /// Lets another request be processed in place of this one, which waits for something that may take long.
    pub(crate) fn make_room(&self) {
        drop(self.0.request.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns a token that is cancelled when no client waits for the answer any longer: it was sent, or its connection
    /// was closed.
    pub(crate) fn unanswerable(&self) -> &CancellationToken {
        &self.0.unanswerable
    }
}

/// Returns the admission of an HTTP request; `None` over pipes.
pub(crate) fn admission_of(extensions: &Extensions) -> Option<Admission> {
    extensions.get::<Parts>()?.extensions.get::<Admission>().cloned()
}

/// The loopback names and addresses of this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts that an HTTP server answers for, on any port. Web pages of these hosts may call it, other pages may not.
///
/// Programs send no `Origin`; browsers always do, with the host of the page. Without this check, any web page could
/// call a server on the visitor's machine by pointing its own host name at 127.0.0.1.
#[derive(Clone, Debug)]
pub struct Hosts(Option<Vec<String>>);

impl Hosts {
    /// Allows `localhost`, `127.0.0.1` and `[::1]`.
    pub fn loopback() -> Self {
        Self(Some(LOOPBACK.map(str::to_owned).to_vec()))
    }

    /// Also allows another host: a name or an address without a port, in brackets if it is an IPv6 address.
    #[must_use]
    pub fn and(self, host: impl Into<String>) -> Self {
        let host = host.into();
        Self(self.0.map(|hosts| hosts.into_iter().chain([host]).collect()))
    }

    /// Allows any host, for a program that checks `Host` and `Origin` itself before a request gets here.
    pub fn judged_before() -> Self {
        Self(None)
    }

    /// Rejects a request for another host, or from a page of another host.
    pub(crate) fn judge(&self, head: &Parts) -> Result<(), StatusCode> {
        let Some(hosts) = &self.0 else { return Ok(()) };
        let is_ours = |host: &str| hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        let mut named = head.headers.get_all(HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
            // HTTP/2 names the host only in the request line.
            (None, _) => head.uri.authority().cloned(),
            (Some(_), Some(_)) => None,
        };
        let is_same = |host: &Authority| head.uri.authority().is_none_or(|named| named.host() == host.host());
        if !host.is_some_and(|host| is_ours(host.host()) && is_same(&host)) {
            return Err(StatusCode::MISDIRECTED_REQUEST);
        }
        let is_own_page = |origin: &str| {
            let origin = origin.parse::<Uri>().ok();
            origin.is_some_and(|origin| origin.scheme().is_some() && origin.host().is_some_and(is_ours))
        };
        let mut origins = head.headers.get_all(ORIGIN).iter();
        if origins.all(|origin| origin.to_str().is_ok_and(is_own_page)) { Ok(()) } else { Err(StatusCode::FORBIDDEN) }
    }
}

/// Drops a value when a response has ended.
pub fn drop_at_the_end<T: Send + Unpin + 'static>(response: Response, kept: T) -> Response {
    at_the_end(response, move |_| drop(kept))
}

/// Calls a function when a response has ended, with whether its whole body was read.
pub fn at_the_end(response: Response, end: impl FnOnce(bool) + Send + Unpin + 'static) -> Response {
    response.map(|body| Body::new(Ending { body, is_whole: false, end: Some(end) }))
}

/// A response body, and a function to call after it.
struct Ending<E: FnOnce(bool)> {
    body: Body,
    is_whole: bool,
    end: Option<E>,
}

impl<E: FnOnce(bool) + Unpin> HttpBody for Ending<E> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.is_whole |= matches!(frame, Poll::Ready(None)) || self.body.is_end_stream();
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<E: FnOnce(bool)> Drop for Ending<E> {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end(self.is_whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Admissions, KIB, REQUESTS};

    #[test]
    fn waiting_request_frees_its_seat_and_ends_completely() {
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

#[cfg(test)]
mod hosts_tests {
    use axum::http::Request;

    use super::Hosts;

    fn judged(hosts: &Hosts, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        hosts.judge(&head).map_or_else(|status| status.as_u16(), |()| 200)
    }

    #[test]
    fn only_loopback_hosts_and_their_pages_are_answered() {
        let hosts = Hosts::loopback();
        for host in ["localhost", "LOCALHOST:8787", "127.0.0.1:1", "[::1]:80"] {
            assert_eq!(judged(&hosts, "/mcp", &[("host", host)]), 200, "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example:80", "localhost@evil.example", "", "127.0.0.2"] {
            assert_eq!(judged(&hosts, "/mcp", &[("host", host)]), 421, "{host}");
        }
        assert_eq!(judged(&hosts, "/mcp", &[]), 421);
        assert_eq!(judged(&hosts, "/mcp", &[("host", "localhost"), ("host", "localhost")]), 421);
        assert_eq!(judged(&hosts, "http://evil.example/mcp", &[("host", "localhost")]), 421);
        let from = |origin| judged(&hosts, "/mcp", &[("host", "localhost:8787"), ("origin", origin)]);
        assert_eq!(["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5"].map(from), [200; 3]);
        assert_eq!(
            ["https://evil.example", "null", "localhost", "http://localhost.evil.example", ""].map(from),
            [403; 5]
        );
    }

    #[test]
    fn a_program_may_name_other_hosts_or_judge_itself() {
        let named = Hosts::loopback().and("board.example");
        assert_eq!(judged(&named, "/", &[("host", "board.example"), ("origin", "https://board.example")]), 200);
        assert_eq!(judged(&named, "/", &[("host", "localhost"), ("origin", "https://evil.example")]), 403);
        assert_eq!(judged(&Hosts::judged_before(), "/", &[("host", "evil.example")]), 200);
    }
}

#[cfg(test)]
mod response_end_tests {
    use std::sync::Arc;
    use std::sync::Mutex;

    use axum::body::{Body, to_bytes};
    use axum::response::Response;

    use super::{at_the_end, drop_at_the_end};

    #[tokio::test]
    async fn end_tells_whether_all_was_taken() {
        let ends = Arc::new(Mutex::new(Vec::new()));
        let response = || {
            let ends = Arc::clone(&ends);
            at_the_end(Response::new(Body::from("text")), move |is_whole| ends.lock().unwrap().push(is_whole))
        };
        assert_eq!(&to_bytes(response().into_body(), usize::MAX).await.unwrap()[..], b"text");
        drop(response());
        assert_eq!(*ends.lock().unwrap(), [true, false]);
    }

    #[tokio::test]
    async fn what_is_kept_is_dropped_with_the_response() {
        let kept = Arc::new(());
        let response = drop_at_the_end(Response::new(Body::from("text")), Arc::clone(&kept));
        assert_eq!(Arc::strong_count(&kept), 2);
        to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
