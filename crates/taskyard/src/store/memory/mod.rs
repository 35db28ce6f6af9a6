//! Lists in memory: the reference of the contract, for tests and demonstrations. Nothing outlives the process.

mod list_cell;
mod store;
mod watching;

pub use store::MemoryStore;
