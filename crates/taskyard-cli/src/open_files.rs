//! How many files this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// So many files are taken for allowed where the system says that there is no limit, or none that counts.
const MANY: usize = 8_192;

/// Returns how many files this process may have open at once; a server keeps within it.
pub(crate) fn open_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MANY).min(MANY)
}

/// Lets this process open as many files as the system allows without asking, up to what a server has a use for. What it starts later may, too.
pub(crate) fn allow_many_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(MANY as u64).min(MANY as u64);
    if limit.current.is_some_and(|current| current < wanted) {
        // Where that is refused, there are fewer connections.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
}
