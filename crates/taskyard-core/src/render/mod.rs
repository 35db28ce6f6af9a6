//! How tasks are shown as text: pure functions from tasks to lines. Nothing here prints; what every function returns is
//! safe to send to a terminal, whatever the task holds.

pub mod charts;
pub mod escaping;
pub mod graph;

mod addresses;
mod ansi;
mod board;
mod briefing;
mod change_words;
mod difference;
mod entry_lines;
mod gone_words;
mod historic;
mod job_line;
mod line;
mod look;
mod markdown;
mod markdown_html;
mod message_lines;
mod overview;
mod revision_line;
mod task_line;
mod task_page;
mod template;
mod text_difference;
mod title;
mod wrapping;
mod xml_text;

pub use addresses::web_addresses;
pub use ansi::ansi;
pub use board::{Board, counts_in_words};
pub use briefing::{brief_lines, brief_names, run_line};
pub use change_words::changes_in_words;
pub use entry_lines::{entry_line, entry_lines, op_in_words};
pub use gone_words::{clearing_in_words, loss_in_words};
pub use historic::{historic_line, historic_mark_line};
pub use job_line::job_line;
pub(crate) use job_line::{how_job_ended, job_mark, job_tone};
pub use line::{Line, Span, Tone, cut_text};
pub use look::{Look, state_in_words};
pub use markdown_html::{markdown_html, markdown_html_with_boxes};
pub use message_lines::{message_lines, said_in_words};
pub use overview::{Need, Overview, UnderWay};
pub use revision_line::{is_summed_up, revision_line};
pub use task_line::{client_line, numbered, task_line, todo_line};
pub use task_page::{TaskPage, facts_of_block, task_page, task_text};
pub use template::Template;
pub use title::shown_subject;
pub use wrapping::wrapped;
