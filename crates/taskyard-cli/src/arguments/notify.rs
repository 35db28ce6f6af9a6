//! The flag of commands that show desktop notices.

use clap::Args;

/// The flag of commands that wait or run for long.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct NotifyFlag {
    /// Also show desktop notifications; configured under `[notify]` in taskyard.toml
    #[arg(long)]
    pub(crate) notify: bool,
}
