//! What boards show, as models that the terminal and the browser share. Begin with `watched_list.rs`. Nothing here draws, and
//! all returned text is safe to display.

mod actions;
mod agent_rows;
mod arranging;
mod glance;
mod graph;
mod properties;
mod task_row;
mod threads;
mod watched_list;

pub use actions::{Action, ActionInfo, Subject, actions, info};
pub use agent_rows::{
    AgentRow, HeldTask, JobRow, LeaseShown, TodosShown, agent_line, agent_rows, held_tasks, job_row_line, todos_line,
};
pub use arranging::{Arrangement, FilteredList, LiveFilter, Row, TreeRow, Wanted};
pub use glance::{Glance, ListRow, chosen_by, list_line, progress_bar};
pub use graph::{GraphLine, GraphNode, GraphPicture, GraphWindow, Neighbour, graph_lines};
pub use properties::{Property, PropertyChange, fuzzy_rank};
pub(crate) use task_row::short_span;
pub use task_row::{RowFacts, card_lines, row_line};
pub use threads::{
    LetterShown, LetterState, SentText, Step, Thread, keep_seen, letter_lines, step_line, steps, thread_line, threads,
};
pub use watched_list::{Need, NeedKind, Tally, WatchedList};
