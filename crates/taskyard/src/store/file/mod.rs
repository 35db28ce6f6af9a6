//! Claude Code's own task files as a store. `docs/design/commit.md` and `docs/design/locks.md` say how it works and why.

mod applying;
mod backoff;
mod burying;
mod client_locks;
mod collision;
mod commit;
mod copying;
mod dependents;
mod files;
mod fingerprint;
mod flush;
mod gap;
mod guarded;
mod handle;
mod held;
mod hidden;
mod litter;
mod live;
mod lock;
mod mending;
mod numbers;
mod observe;
mod pair;
mod passing;
mod place;
mod plan;
mod power;
mod queue;
mod repair;
mod scan;
mod sightings;
mod snapshot;
mod staged;
mod state;
mod store;
mod stuck_lock;
mod turn;
mod txn;
mod waiting;

pub mod failpoint;

pub(crate) use guarded::{Found, Guarded, Print, Replaced, read_unlocked};
pub use held::release_held_locks;
pub use store::{FileStore, FileStoreOptions};
pub use stuck_lock::StuckLock;
pub(crate) use stuck_lock::{end_lock_of, stuck_lock_of};
