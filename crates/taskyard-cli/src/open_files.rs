//! How many files this process may have open.

use rustix::process::{Resource, getrlimit};

/// So many files are taken for allowed where the system says that there is no limit, or none that counts.
const MANY: usize = 4_096;

/// Returns how many files this process may have open at once; a server keeps within it.
pub(crate) fn open_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MANY).min(MANY)
}
