//! What is put right after a writer died, the power failed or another program interfered.

pub(in crate::store) mod found_files;
pub(in crate::store) mod litter;
pub(in crate::store) mod power;
pub(in crate::store) mod repair;
