//! Hooks and checks on the memory store, with real commands: what they forbid, and what becomes of those that misbehave.

mod cancelling;
mod checking;
mod completing;
mod creating;
mod handing_the_list;
mod hook_site;
mod misbehaving;
mod racing;
mod stopping;
