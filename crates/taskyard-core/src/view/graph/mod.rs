//! The dependency graph in ranks: each task is to the right of its blockers, and lines connect them. Begin with
//! `ranked_graph.rs`.

mod graph_drawing;
mod ranked_graph;

pub use graph_drawing::{GraphLine, GraphWindow, graph_lines};
pub use ranked_graph::{GraphNode, GraphPicture, Neighbour};
