//! How tasks are shown as text: pure functions from tasks to lines.
