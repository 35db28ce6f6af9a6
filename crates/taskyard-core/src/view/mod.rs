//! What boards show, as models without a display: one language for the terminal and the browser. Nothing here draws; what is returned is
//! safe to show, whatever the tasks hold.

mod actions;
mod agents;
mod arranging;
mod filtering;
mod glance;
mod graph;
mod jobs;
mod lists;
mod needs;
mod task_row;
mod threads;
mod timeline;
mod todos;
mod watched_list;

pub use actions::{Action, ActionInfo, Subject, actions, info};
pub use agents::{AgentRow, HeldTask, LeaseShown, agent_line, agent_rows, held_tasks};
pub use arranging::{Arrangement, Row, TreeRow, Wanted};
pub use filtering::{FilteredList, LiveFilter};
pub use glance::{Glance, chosen_by};
pub use graph::{GraphLine, GraphNode, GraphPicture, GraphWindow, Neighbour, graph_lines};
pub use jobs::{JobRow, job_row_line};
pub use lists::{ListRow, list_line, progress_bar};
pub use needs::{Need, NeedKind};
pub(crate) use task_row::short_span;
pub use task_row::{RowFacts, card_lines, row_line};
pub use threads::{LetterShown, LetterState, SentText, Thread, keep_seen, letter_lines, thread_line, threads};
pub use timeline::{Step, step_line, steps};
pub use todos::{TodosShown, todos_line};
pub use watched_list::{Tally, WatchedList};
