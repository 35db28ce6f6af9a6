//! The house itself: its rules, its map, its public surface, and whether its documents are true.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod conformance_pages;
mod documents;
mod house_rules;
mod module_map;
mod public_surface;
