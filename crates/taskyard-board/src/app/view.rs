//! The views.

use taskyard::core::view::Action;

/// What the board shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum View {
    /// The tasks, one below the other.
    #[default]
    List,
    /// Pending, in progress and done side by side.
    Columns,
    /// What waits for what.
    Graph,
    /// The agents of a list, and what each does.
    Agents,
    /// Background commands and what they write.
    Jobs,
    /// Messages.
    Mail,
    /// What happened.
    History,
    /// Every list of the store.
    Lists,
}

impl View {
    /// Every view, in the order of its number.
    pub(crate) const ALL: [Self; 8] =
        [Self::List, Self::Columns, Self::Graph, Self::Agents, Self::Jobs, Self::Mail, Self::History, Self::Lists];

    /// Returns what shows it.
    pub(crate) const fn action(self) -> Action {
        match self {
            Self::List => Action::ShowList,
            Self::Columns => Action::ShowColumns,
            Self::Graph => Action::ShowGraph,
            Self::Agents => Action::ShowAgents,
            Self::Jobs => Action::ShowJobs,
            Self::Mail => Action::ShowMail,
            Self::History => Action::ShowHistory,
            Self::Lists => Action::ShowLists,
        }
    }

    /// Returns the view that something shows.
    pub(crate) fn shown_by(action: Action) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.action() == action)
    }

    /// Tells whether the cursor stands on a task there.
    pub(crate) const fn has_tasks(self) -> bool {
        matches!(self, Self::List | Self::Columns | Self::Graph)
    }
}
