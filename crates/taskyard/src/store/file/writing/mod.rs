//! How a change comes into the journal and into the files.

pub(in crate::store) mod commit;
pub(in crate::store) mod pair;
pub(in crate::store) mod plan;
pub(in crate::store) mod txn;
pub(in crate::store) mod txn_contract;
