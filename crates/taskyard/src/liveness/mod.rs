//! Which processes are alive: their marks, the process table, and the signs of life they leave. Begin with `signs.rs`. The
//! rules that interpret these are in `taskyard_core::rules::leases::liveness`.

pub(crate) mod client_names;
mod machine_identity;
mod processes;
mod signs;

pub use client_names::{ClientNames, UnnamedClient};
pub(crate) use machine_identity::is_written_here_only;
pub use machine_identity::know_machine_by;
pub use processes::{
    Process, client_above, liveness_of, liveness_on_shared_store, look_at, mark_of, own_mark, sees_processes,
    serve_client,
};
pub(crate) use processes::{clients_started, is_seen_dead, space_tag, standpoint};
pub(crate) use signs::ThisMachine;
pub use signs::{Signs, World, longest_silence};
