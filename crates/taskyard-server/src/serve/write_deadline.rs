//! Disconnecting clients that do not read their answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::web::Unsent;

/// How long a client may read nothing of what is waiting for it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection that fails if the client reads nothing for too long, since unsent data takes up memory.
#[derive(Debug)]
pub(super) struct WriteDeadline<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write is blocked.
    waiting: Option<Pin<Box<Sleep>>>,
    /// The answers to mark as delivered once everything is flushed.
    unsent: Unsent,
}

impl<S> WriteDeadline<S> {
    /// Wraps a connection with the deadline; `unsent` is notified when data has been flushed.
    pub(super) fn of(stream: S, unsent: Unsent) -> Self {
        Self { unsent, ..Self::within(PATIENCE, stream) }
    }

    fn within(patience: Duration, stream: S) -> Self {
        Self { stream, patience, waiting: None, unsent: Unsent::default() }
    }

    fn held_to<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let patience = self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteDeadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteDeadline<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.held_to(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        // Hyper flushes after it has written everything it was given.
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.unsent.is_flushed();
        }
        self.held_to(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.held_to(context, shut)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.held_to(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::time::{Duration, Instant};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::WriteDeadline;

    const SHORT: Duration = Duration::from_secs(2);

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn client_that_reads_nothing_is_dropped_at_the_deadline() {
        run(async {
            let (ours, _theirs) = duplex(8);
            let mut ours = WriteDeadline::within(SHORT, ours);
            let begun = Instant::now();
            let failed = ours.write_all(&[0; 64]).await.unwrap_err();
            assert_eq!(failed.kind(), ErrorKind::TimedOut);
            assert!(begun.elapsed() >= SHORT);
        });
    }

    #[test]
    fn a_client_that_reads_a_little_now_and_then_gets_everything() {
        run(async {
            let (ours, mut theirs) = duplex(8);
            let mut ours = WriteDeadline::within(SHORT, ours);
            let begun = Instant::now();
            let reading = async {
                for _ in 0..8 {
                    tokio::time::sleep(SHORT / 5).await;
                    theirs.read_exact(&mut [0; 8]).await.unwrap();
                }
            };
            let (written, ()) = tokio::join!(ours.write_all(&[0; 64]), reading);
            assert!(written.is_ok() && begun.elapsed() > SHORT, "it took longer than the deadline in all");
        });
    }
}
