//! The actions of a board: names, keys, subjects and help.

/// An action of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is described in the catalogue below")]
pub enum Action {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Open,
    Back,
    ScrollUp,
    ScrollDown,
    Start,
    Done,
    Create,
    CreatePart,
    Edit,
    EditInEditor,
    Note,
    Claim,
    Release,
    Assign,
    Priority,
    Due,
    Defer,
    Tags,
    Estimate,
    Parent,
    Kind,
    Cancel,
    Reopen,
    BlockedBy,
    Unblock,
    MoveLeft,
    MoveRight,
    Delete,
    Restore,
    Undo,
    Redo,
    Force,
    Select,
    SelectNone,
    Fold,
    ZoomIn,
    ZoomOut,
    NextNeed,
    StopJob,
    Send,
    SendAnew,
    Acknowledge,
    Filter,
    Palette,
    Help,
    ShowList,
    ShowColumns,
    ShowGraph,
    ShowAgents,
    ShowJobs,
    ShowMail,
    ShowHistory,
    ShowLists,
    Suspend,
    Quit,
}

/// What an action applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The board itself: cursor and display.
    Board,
    /// The list.
    List,
    /// The task under the cursor.
    Task,
    /// The selected tasks, or else the task under the cursor.
    Tasks,
    /// The job under the cursor.
    Job,
    /// The conversation under the cursor.
    Message,
    /// The revision under the cursor.
    Revision,
}

/// The description of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionInfo {
    /// The action.
    pub action: Action,
    /// Its name in the palette and the configuration.
    pub name: &'static str,
    /// The default keys.
    pub keys: &'static [&'static str],
    /// What it applies to.
    pub subject: Subject,
    /// The help text.
    pub help: &'static str,
}

/// Returns all actions, in the order of the help.
pub const fn actions() -> &'static [ActionInfo] {
    CATALOGUE
}

/// Returns the description of an action.
pub fn info(action: Action) -> &'static ActionInfo {
    CATALOGUE.iter().find(|info| info.action == action).unwrap_or(&CATALOGUE[0])
}

const fn entry(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    subject: Subject,
    help: &'static str,
) -> ActionInfo {
    ActionInfo { action, name, keys, subject, help }
}

const CATALOGUE: &[ActionInfo] = &[
    entry(Action::Start, "start", &["s"], Subject::Tasks, "put it in progress"),
    entry(Action::Done, "done", &["d"], Subject::Tasks, "complete it"),
    entry(Action::Create, "create", &["c"], Subject::List, "create a task"),
    entry(Action::CreatePart, "create-part", &["p"], Subject::Task, "create a part of it"),
    entry(Action::Edit, "edit", &["e"], Subject::Task, "change its subject"),
    entry(Action::EditInEditor, "editor", &["E"], Subject::Tasks, "edit every field in $EDITOR"),
    entry(Action::Note, "note", &["n"], Subject::Tasks, "add a signed comment"),
    entry(Action::Claim, "claim", &["t"], Subject::Tasks, "claim it: no one else can take it until the lease ends"),
    entry(Action::Release, "release", &["r"], Subject::Tasks, "release it"),
    entry(Action::Assign, "assign", &["a"], Subject::Tasks, "set its owner"),
    entry(Action::Priority, "priority", &["P"], Subject::Tasks, "set its priority"),
    entry(Action::Due, "due", &["D"], Subject::Tasks, "set its due date"),
    entry(Action::Defer, "defer", &["W"], Subject::Tasks, "set when it can start"),
    entry(Action::Tags, "tags", &["T"], Subject::Tasks, "add or remove tags"),
    entry(Action::Estimate, "estimate", &["Z"], Subject::Tasks, "set its estimate"),
    entry(Action::Parent, "parent", &["O"], Subject::Tasks, "set its parent"),
    entry(Action::Kind, "kind", &["I"], Subject::Tasks, "set its kind"),
    entry(Action::Cancel, "cancel", &["C"], Subject::Tasks, "close it as not done"),
    entry(Action::Reopen, "reopen", &["o"], Subject::Tasks, "make it pending again"),
    entry(Action::BlockedBy, "blocked-by", &["b"], Subject::Tasks, "pick its blockers"),
    entry(Action::Unblock, "unblock", &["B"], Subject::Tasks, "pick blockers to remove"),
    entry(Action::MoveLeft, "move-left", &["<"], Subject::Tasks, "move it to the column on the left"),
    entry(Action::MoveRight, "move-right", &[">"], Subject::Tasks, "move it to the column on the right"),
    entry(Action::Delete, "delete", &["delete"], Subject::Tasks, "delete it; undo and restore bring it back"),
    entry(Action::Restore, "restore", &["R"], Subject::List, "bring back what another program removed"),
    entry(Action::Undo, "undo", &["u"], Subject::List, "undo your newest change, or the revision under the cursor"),
    entry(Action::Redo, "redo", &["U", "ctrl-r"], Subject::List, "redo the last undone change"),
    entry(Action::Force, "force", &["F"], Subject::List, "repeat the refused action with force"),
    entry(Action::Select, "select", &["x"], Subject::Task, "select it for the next action"),
    entry(Action::SelectNone, "select-none", &["X"], Subject::Board, "select nothing"),
    entry(
        Action::Fold,
        "fold",
        &["space"],
        Subject::Task,
        "fold or unfold its parts, or what waits for it in the graph",
    ),
    entry(
        Action::ZoomIn,
        "zoom-in",
        &["+", "="],
        Subject::Board,
        "show fewer ranks of the graph, and more of each task",
    ),
    entry(Action::ZoomOut, "zoom-out", &["-"], Subject::Board, "show more ranks of the graph"),
    entry(Action::NextNeed, "next-need", &["!"], Subject::List, "go to what needs your attention"),
    entry(Action::StopJob, "stop-job", &["S"], Subject::Job, "stop it, with everything it started"),
    entry(Action::Send, "send", &["m"], Subject::List, "write a message; in a conversation, to the member it is with"),
    entry(Action::SendAnew, "send-to", &["M"], Subject::List, "write to a member you pick, or to everybody"),
    entry(Action::Acknowledge, "acknowledge", &["A"], Subject::Message, "acknowledge its unread messages"),
    entry(
        Action::Filter,
        "filter",
        &["/"],
        Subject::Board,
        "show only what a query chooses: words, tag:x, ready, owner:ana, older:2d",
    ),
    entry(
        Action::Palette,
        "commands",
        &[":"],
        Subject::Board,
        "find a task, list, agent or action by its name, or run a command",
    ),
    entry(Action::Help, "help", &["?"], Subject::Board, "explain the keys"),
    entry(Action::ShowList, "list", &["1"], Subject::Board, "show the tasks"),
    entry(Action::ShowColumns, "columns", &["2"], Subject::Board, "show pending, in progress and done side by side"),
    entry(Action::ShowGraph, "graph", &["3"], Subject::Board, "show the dependency graph"),
    entry(Action::ShowAgents, "agents", &["4"], Subject::Board, "show the agents and what they are doing"),
    entry(Action::ShowJobs, "jobs", &["5"], Subject::Board, "show background commands and their output"),
    entry(Action::ShowMail, "mail", &["6"], Subject::Board, "show messages"),
    entry(Action::ShowHistory, "history", &["7"], Subject::Board, "show the history"),
    entry(Action::ShowLists, "lists", &["8"], Subject::Board, "show all lists of the store"),
    entry(Action::Down, "down", &["j", "down"], Subject::Board, "move down"),
    entry(Action::Up, "up", &["k", "up"], Subject::Board, "move up"),
    entry(Action::Left, "left", &["h", "left"], Subject::Board, "move left"),
    entry(Action::Right, "right", &["l", "right"], Subject::Board, "move right"),
    entry(Action::PageDown, "page-down", &["pagedown", "ctrl-d"], Subject::Board, "move down a page"),
    entry(Action::PageUp, "page-up", &["pageup", "ctrl-u"], Subject::Board, "move up a page"),
    entry(Action::Top, "top", &["g", "home"], Subject::Board, "go to the top"),
    entry(Action::Bottom, "bottom", &["G", "end"], Subject::Board, "go to the end"),
    entry(Action::Open, "open", &["enter"], Subject::Board, "open what is under the cursor"),
    entry(Action::Back, "back", &["esc"], Subject::Board, "close, leave, clear the selection"),
    entry(Action::ScrollDown, "scroll-down", &["J"], Subject::Board, "scroll the pane beside the list down"),
    entry(Action::ScrollUp, "scroll-up", &["K"], Subject::Board, "scroll the pane beside the list up"),
    entry(Action::Suspend, "suspend", &["ctrl-z"], Subject::Board, "go to the shell; `fg` comes back"),
    entry(Action::Quit, "quit", &["q", "ctrl-c"], Subject::Board, "leave"),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{actions, info};

    #[test]
    fn every_name_and_every_key_means_one_thing() {
        let names: HashSet<&str> = actions().iter().map(|info| info.name).collect();
        let keys: Vec<&str> = actions().iter().flat_map(|info| info.keys).copied().collect();
        assert_eq!(names.len(), actions().len());
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    }

    #[test]
    fn everything_is_found_by_what_it_is() {
        for entry in actions() {
            assert_eq!(info(entry.action), entry);
            assert!(!entry.keys.is_empty() && !entry.help.is_empty());
        }
    }
}
