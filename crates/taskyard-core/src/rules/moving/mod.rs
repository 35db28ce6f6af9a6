//! Moving tasks between lists, and importing them from other programs. Begin with `list_moves.rs`.

pub mod importing;
pub mod list_moves;
