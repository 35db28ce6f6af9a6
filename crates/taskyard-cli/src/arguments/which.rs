//! Which tasks a command is about.

use clap::Args;
use taskyard::core::TaskId;
use taskyard::core::forms::id_range::IdRange;

/// This many tasks are few: a store may read them one by one.
pub(crate) const FEW: usize = 100;

/// Which tasks a command is about. The command says with a group `which` whether some have to be named.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WhichTasks {
    /// The tasks: numbers and ranges, `3 4 7-9`
    #[arg(value_name = "ID", value_delimiter = ',', group = "which")]
    pub(crate) ids: Vec<IdRange>,

    /// All tasks that match (see `taskyard list --help`)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true, group = "which", conflicts_with = "ids")]
    pub(crate) query: Option<String>,

    /// Change the tasks that can be changed and report the others; without it all of them or none
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Show what would be done, and do nothing; hooks and checks are not asked
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl WhichTasks {
    /// Returns the ids, if they were given and are few.
    pub(crate) fn named(&self) -> Option<Vec<TaskId>> {
        let ids: Vec<TaskId> = self.ids.iter().flat_map(IdRange::ids).take(FEW + 1).collect();
        (self.query.is_none() && !ids.is_empty() && ids.len() <= FEW).then_some(ids)
    }

    /// Returns the task, where one was named and no more.
    pub(crate) fn only_one(&self) -> Option<&TaskId> {
        match self.ids.as_slice() {
            [IdRange::One(id)] if self.query.is_none() => Some(id),
            _ => None,
        }
    }
}
