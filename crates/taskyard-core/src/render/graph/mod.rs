//! Drawings of the dependency graph: as text, as SVG, and for Mermaid and Graphviz.
//!
//! Every drawing depends only on the tasks: the same list yields the same output, byte for byte.

mod graph_network;
mod graph_svg;
mod graph_text;

pub(crate) use graph_network::{Network, groups, order_layers};
pub use graph_svg::{svg, svg_part};
pub use graph_text::{dot, mermaid, text};
