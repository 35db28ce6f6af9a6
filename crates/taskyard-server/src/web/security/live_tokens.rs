//! Named tokens and browsers in use: whatever one has started ends when it is revoked or expires.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use taskyard::core::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::tokens::TokenBook;
use taskyard_mcp::serving::spawn;

/// How often the book is read again while one of its tokens is in use, since another process may have changed it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// The named tokens and browsers in use, at most as many as in the book.
#[derive(Debug)]
pub(crate) struct LiveTokens {
    book: Arc<TokenBook>,
    /// The cancellation token of each, keyed by the digest of the token or cookie.
    ends: Mutex<HashMap<String, CancellationToken>>,
}

impl LiveTokens {
    pub(crate) fn of(book: Arc<TokenBook>) -> Arc<Self> {
        Arc::new(Self { book, ends: Mutex::default() })
    }

    /// Returns the token that is cancelled when the named token or browser with this digest is revoked. Requires a
    /// running runtime.
    pub(crate) fn end_of(self: &Arc<Self>, digest: &str) -> CancellationToken {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = ends.is_empty();
        let end = ends.entry(digest.to_owned()).or_default().clone();
        drop(ends);
        if is_first {
            tokio::spawn(watch(Arc::downgrade(self)));
        }
        end
    }

    /// Cancels whatever revoked tokens have started. Returns whether any token is still in use. May access the disk.
    fn end_lapsed(&self, now: Timestamp) -> bool {
        let valid = match self.book.valid(now) {
            Ok(valid) => valid,
            Err(problem) => {
                // New requests fail with such a book, but running ones are not ended because of a possibly temporary
                // error.
                tracing::error!(?problem, "tokens by name are not known");
                return true;
            }
        };
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.retain(|digest, end| {
            let counts = valid.contains(digest);
            if !counts {
                end.cancel();
            }
            counts
        });
        !ends.is_empty()
    }
}

/// Reads the book periodically while one of its tokens is in use.
async fn watch(tokens: Weak<LiveTokens>) {
    loop {
        tokio::time::sleep(BETWEEN_LOOKS).await;
        let Some(tokens) = tokens.upgrade() else { return };
        let now = Timestamp(jiff::Timestamp::now().as_millisecond());
        if !spawn(move || tokens.end_lapsed(now)).await.unwrap_or(true) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use taskyard::core::Timestamp;

    use super::LiveTokens;
    use crate::tokens::{Scope, TokenBook};

    #[test]
    fn what_a_token_began_ends_when_it_is_revoked_or_over() {
        let data = tempfile::tempdir().unwrap();
        let book = Arc::new(TokenBook::of(data.path()));
        let now = Timestamp(1_800_000_000_000);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        let live = LiveTokens::of(Arc::clone(&book));
        let ends = ["revoked", "over", "valid"].map(|name| {
            let life = (name == "over").then_some(Duration::from_secs(5));
            live.end_of(book.create(name, Scope::Read, life, now).unwrap().0.digest())
        });
        let ended = || ends.each_ref().map(|end| end.is_cancelled());
        assert!(live.end_lapsed(now));
        assert_eq!(ended(), [false, false, false]);
        TokenBook::of(data.path()).revoke("revoked").unwrap();
        live.end_lapsed(Timestamp(now.0 + 5_000));
        assert_eq!(ended(), [true, true, false]);
        // A new token with an old name is a different one.
        book.create("revoked", Scope::Read, None, now).unwrap();
        book.revoke("valid").unwrap();
        assert!(!live.end_lapsed(now), "none is in use");
        assert_eq!(ended(), [true, true, true]);
    }
}
