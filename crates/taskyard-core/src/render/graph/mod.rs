//! Pictures of what waits for what: as text, as SVG, and in the languages of Mermaid and Graphviz.
//!
//! Every picture is a function of the tasks alone: the same list gives the same picture, byte for byte.

mod dot;
mod layering;
mod layout;
mod mermaid;
mod network;
mod svg;
mod text;

pub use dot::dot;
pub(crate) use layering::{groups, order_layers};
pub use mermaid::mermaid;
pub(crate) use network::Network;
pub use svg::{svg, svg_part};
pub use text::text;
