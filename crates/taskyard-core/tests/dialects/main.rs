//! The dialects: nothing is lost between them, and what was not asked for does not change.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod between;
mod blocks;
mod by_hand;
mod lists;
mod pages;
