//! The tokens by name and the browsers that are in use: what was begun with one ends when it is revoked, or when its time is over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use taskyard::core::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::tokens::TokenBook;
use taskyard_mcp::serving::spawn;

/// How often the book is looked at while a token of it is in use: another process may have changed it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// The tokens by name and the browsers that are in use. There are no more of them than there are in the book.
#[derive(Debug)]
pub(crate) struct LiveTokens {
    book: Arc<TokenBook>,
    /// What ends with each of them, by the digest of the token or the cookie.
    ends: Mutex<HashMap<String, CancellationToken>>,
}

impl LiveTokens {
    /// Returns the tokens of a book, none of which is in use.
    pub(crate) fn of(book: Arc<TokenBook>) -> Arc<Self> {
        Arc::new(Self { book, ends: Mutex::default() })
    }

    /// Returns what is cancelled when the token or the browser with this digest no longer counts. It needs a runtime to be noticed.
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

    /// Ends what was begun with tokens that no longer count; returns whether any token is left in use. May wait for the disk.
    fn end_lapsed(&self, now: Timestamp) -> bool {
        let valid = match self.book.valid(now) {
            Ok(valid) => valid,
            Err(problem) => {
                // Nothing new is begun with such a book; what goes on is not ended for a fault that may pass.
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

/// Looks at the book as long as a token of it is in use.
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
        // A new token of an old name is another.
        book.create("revoked", Scope::Read, None, now).unwrap();
        book.revoke("valid").unwrap();
        assert!(!live.end_lapsed(now), "none is in use");
        assert_eq!(ended(), [true, true, true]);
    }
}
