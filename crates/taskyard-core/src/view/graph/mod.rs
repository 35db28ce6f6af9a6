//! What waits for what, as a picture of ranks: each task stands to the right of everything it waits for, and lines join them.

mod box_lines;
mod drawing;
mod folding;
mod picture;
mod ranks;
mod wiring;

pub use drawing::{GraphLine, GraphWindow, graph_lines};
pub use picture::{GraphNode, GraphPicture, Neighbour};
