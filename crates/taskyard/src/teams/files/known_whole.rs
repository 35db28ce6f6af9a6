//! Which inboxes are as we wrote them last, and so are known to be whole without looking through them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::Print;

/// The number of inboxes to remember. Above it all are dropped, and each is checked again when it is next read.
const INBOXES: usize = 4_096;

/// What this process last wrote. Clones are the same.
///
/// Whatever another program does to an inbox in the instant after we wrote it changes its size; so what still looks the same is.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownWhole(Arc<Mutex<HashMap<PathBuf, Print>>>);

impl KnownWhole {
    /// Tells whether a file is as we wrote it.
    pub(super) fn has(&self, path: &Path, print: Option<Print>) -> bool {
        print.is_some() && self.written().get(path).copied() == print
    }

    /// Remembers what a file is like that we have just written.
    pub(super) fn remember(&self, path: &Path, print: Option<Print>) {
        match print {
            Some(print) => {
                let mut written = self.written();
                if written.len() >= INBOXES {
                    written.clear();
                }
                written.insert(path.to_owned(), print);
            }
            None => drop(self.written().remove(path)),
        }
    }

    fn written(&self) -> MutexGuard<'_, HashMap<PathBuf, Print>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
