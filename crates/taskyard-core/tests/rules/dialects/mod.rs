//! The dialects: nothing is lost between them, and what was not asked for does not change.

mod between;
mod blocks;
mod by_hand;
mod lists;
mod pages;
mod plans;
