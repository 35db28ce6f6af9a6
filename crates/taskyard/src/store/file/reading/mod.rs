//! Reads the files of a list without changing them, and records changes by other programs. Begin with `snapshot.rs`, what
//! a reader sees, and `scan.rs`, which finds the files that changed.

pub(in crate::store) mod files;
pub(in crate::store) mod live_list;
pub(in crate::store) mod live_state;
pub(in crate::store) mod observe;
pub(in crate::store) mod outlines;
pub(in crate::store) mod scan;
pub(in crate::store) mod snapshot;
