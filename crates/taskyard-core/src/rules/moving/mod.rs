//! Tasks that come from another list or program, or go there.

pub(crate) mod import_circles;
pub mod importing;
pub mod merging;
pub mod returning;
