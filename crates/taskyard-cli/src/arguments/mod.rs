//! What may be typed.

mod globals;
mod lease;
mod metadata;
mod query;
mod shorthand;
mod times;
mod values;
mod which;

pub(crate) use globals::Globals;
pub(crate) use lease::LeaseFlags;
pub(crate) use metadata::MetadataFlags;
pub(crate) use query::with_negations;
pub(crate) use shorthand::{are_ids, only_ids_before, written_out};
pub(crate) use times::writers_clock;
pub(crate) use values::{
    ListedState, Since, parse_agent, parse_bytes, parse_id, parse_lifetime, parse_listed_state, parse_other,
    parse_pause, parse_revisions, parse_since, parse_status,
};
pub(crate) use which::{FEW, WhichTasks};
