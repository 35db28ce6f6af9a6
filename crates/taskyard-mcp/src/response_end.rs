//! Noticing that an answer over HTTP is over: sent to its end, or no longer wanted.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// Lets a response drop something when it is over.
pub fn drop_at_the_end<T: Send + Unpin + 'static>(response: Response, kept: T) -> Response {
    at_the_end(response, move |_| drop(kept))
}

/// Calls a function when a response is over, with whether all of it was taken.
pub fn at_the_end(response: Response, end: impl FnOnce(bool) + Send + Unpin + 'static) -> Response {
    response.map(|body| Body::new(Ending { body, is_whole: false, end: Some(end) }))
}

/// The body of a response, and what is called after it.
struct Ending<E: FnOnce(bool)> {
    body: Body,
    /// Whether the body was read to its end.
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
