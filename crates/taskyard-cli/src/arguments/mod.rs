//! What may be typed.

mod globals;
mod metadata;
mod values;

pub(crate) use globals::Globals;
pub(crate) use metadata::MetadataFlags;
pub(crate) use values::{parse_id, parse_revision, parse_revisions, parse_status};
