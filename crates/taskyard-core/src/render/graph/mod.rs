//! Drawings of the dependency graph: as text, as SVG, and for Mermaid and Graphviz. Begin with `graph_network.rs`.
//!
//! The same tasks yield the same drawing, byte for byte.

mod graph_network;
mod graph_svg;
mod graph_text;

pub(crate) use graph_network::{Network, groups, order_layers};
pub use graph_svg::{svg, svg_part};
pub use graph_text::{dot, mermaid, text};
