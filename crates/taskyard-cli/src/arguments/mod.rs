//! What may be typed.

mod globals;
mod lease;
mod metadata;
mod values;

pub(crate) use globals::Globals;
pub(crate) use lease::LeaseFlags;
pub(crate) use metadata::MetadataFlags;
pub(crate) use values::{
    ListedState, parse_agent, parse_bytes, parse_id, parse_listed_state, parse_pause, parse_revision, parse_revisions,
    parse_status,
};
