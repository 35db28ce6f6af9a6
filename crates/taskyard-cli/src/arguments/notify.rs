//! The flag of commands that show desktop notices.

use clap::Args;

/// The flag of commands that wait or run for long.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct NotifyFlag {
    /// Show desktop notices too; `[notify]` in taskyard.toml says how, and of what
    #[arg(long)]
    pub(crate) notify: bool,
}
