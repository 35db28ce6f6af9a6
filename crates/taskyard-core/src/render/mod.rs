//! Tasks as text, SVG and HTML: pure functions. Nothing here prints, and all returned text is safe to display. Begin with
//! `line.rs`, the styled line that all displays consist of, and `task_line.rs`.

pub mod charts;
pub mod escaping;
pub mod graph;

mod differences;
mod journal_lines;
mod line;
mod list_board;
mod markdown;
mod message_lines;
mod task_line;
mod task_page;

pub use differences::changes_in_words;
pub use escaping::web_addresses;
pub use journal_lines::{
    clearing_in_words, entry_line, entry_lines, is_summed_up, loss_in_words, op_in_words, revision_line,
};
pub use line::{Line, Look, Span, Tone, ansi, cut_text, state_in_words, wrapped};
pub use list_board::{Board, Need, Overview, UnderWay, brief_lines, brief_names, counts_in_words, run_line};
pub use markdown::{markdown_html, markdown_html_with_boxes};
pub(crate) use message_lines::{how_job_ended, job_mark, job_tone, sent_in_words};
pub use message_lines::{job_line, message_lines, said_in_words};
pub use task_line::{
    Template, client_line, historic_line, historic_mark_line, numbered, shown_subject, task_line, todo_line,
};
pub use task_page::{TaskPage, facts_of_block, task_page, task_text};
