//! One connection to the server.

use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, Row};

use super::failure::{Failure, FailureKind};
use super::statement::{Statement, pipeline};
use crate::settings::Settings;

/// How often this process waited for an answer.
static ROUND_TRIPS: AtomicU64 = AtomicU64::new(0);

/// Returns how often this process waited for an answer.
pub(crate) fn round_trips() -> u64 {
    ROUND_TRIPS.load(Ordering::Relaxed)
}

/// A connection, and what drives it: a caller that asks something drives it meanwhile, on its own thread. Between questions it costs
/// nothing.
pub(crate) struct Session {
    client: Client,
    /// The task in it owns the socket. There until the session is dropped.
    runtime: Option<Runtime>,
    is_usable: bool,
}

impl Session {
    /// Connects to the first host that answers and is of the kind that is wanted.
    pub(crate) fn connect(settings: &Settings) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(FailureKind::Wrong, error.to_string()))?;
        let client = runtime.block_on(super::reaching::reach(settings, None))?;
        Ok(Self { client, runtime: Some(runtime), is_usable: true })
    }

    /// Sends statements at once and returns the rows of each.
    pub(crate) fn ask(&mut self, statements: &[Statement], patience: Duration) -> Result<Vec<Vec<Row>>, Failure> {
        ROUND_TRIPS.fetch_add(1, Ordering::Relaxed);
        let answers = self.runtime().block_on(async {
            match tokio::time::timeout(patience, pipeline(&self.client, statements)).await {
                Ok(answers) => answers.map_err(Failure::from),
                Err(_) => Err(Failure::timed_out(patience)),
            }
        });
        // Anything may still be on its way after this.
        self.is_usable &= !matches!(&answers, Err(failure) if failure.kind() == FailureKind::Lost);
        answers
    }

    /// Sends statements without waiting for their answers.
    pub(crate) fn tell(&mut self, statement: Statement) {
        let client = &self.client;
        self.runtime().block_on(async {
            let telling = async { drop(pipeline(client, std::slice::from_ref(&statement)).await) };
            let mut telling = std::pin::pin!(telling);
            for _ in 0..4 {
                // Each turn lets the task that owns the socket write.
                if poll_fn(|context| Poll::Ready(telling.as_mut().poll(context).is_ready())).await {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("only dropping takes it")
    }

    /// Tells whether it can be asked again.
    pub(crate) fn is_usable(&self) -> bool {
        self.is_usable && !self.client.is_closed()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The last owner may be a thread that listens, within a runtime of its own: there no other may be waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Session")
    }
}
