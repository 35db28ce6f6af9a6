//! Dependencies and parts: the graph of a list, its cycles and its chains. Begin with `dependencies.rs`.

pub mod chains;
pub mod circles;
pub mod dependencies;
pub mod parts;
pub mod reconnecting;
