//! Who agents are, and what they have in hand.

pub mod attention;
pub mod departing;
pub mod naming;
pub mod unfinished;
