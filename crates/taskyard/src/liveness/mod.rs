//! Which processes live: the marks they are known by, what the process table says of them, and the signs of life they leave.
//!
//! What all of it means is decided in `taskyard_core::rules::leases::liveness`.

mod client_names;
mod client_process;
mod machine_id;
mod machine_proof;
mod process_table;
mod sign_file;
mod signs;
mod world;

pub use client_names::{ClientNames, UnnamedClient};
pub(crate) use client_process::clients_started;
pub use client_process::{client_above, serve_client};
pub(crate) use machine_proof::is_written_here_only;
pub use machine_proof::know_machine_by;
pub use process_table::{Process, liveness_of, liveness_on_shared_store, look_at, mark_of, own_mark, sees_processes};
pub(crate) use process_table::{is_seen_dead, space_tag, standpoint};
pub use signs::{Signs, longest_silence};
pub(crate) use world::ThisMachine;
pub use world::World;
