//! Noticing that an answer over HTTP is over: sent to its end, or no longer wanted.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// Lets a response drop something when it is over.
pub fn drop_at_the_end<T: Send + Unpin + 'static>(response: Response, kept: T) -> Response {
    response.map(|body| Body::new(Ending { body, _kept: kept }))
}

/// The body of a response, and what is dropped with it.
struct Ending<T> {
    body: Body,
    _kept: T,
}

impl<T: Unpin> HttpBody for Ending<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
