//! What the files of a list hold, seen without changing them. A reader also records what other programs did.

pub(in crate::store) mod catching_up;
pub(in crate::store) mod dependents;
pub(in crate::store) mod files;
pub(in crate::store) mod live_list;
pub(in crate::store) mod numbers;
pub(in crate::store) mod observe;
pub(in crate::store) mod outlines;
pub(in crate::store) mod scan;
pub(in crate::store) mod snapshot;
