//! The formats of task files and of the client's other files, one module each. Begin with `native`. A dialect owns its
//! wire structs; the domain types know no JSON. `carrying.rs` has what a format cannot express itself.

pub mod document;
pub mod export;
pub mod foreign;
pub mod hook_input;
pub mod inbox;
pub mod macf;
pub mod native;
pub(crate) mod plan;
pub mod teaching;
pub mod team_file;
pub mod transcript;

mod carrying;
pub mod message_protocol;

pub use carrying::NewerVersion;
