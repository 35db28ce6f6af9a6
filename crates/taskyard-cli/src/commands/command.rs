//! The commands and their properties.

use clap::{CommandFactory as _, Parser, Subcommand};
use taskyard::core::TaskId;
use taskyard::opening::Address;
use taskyard::operations::journal_of_shown;
use taskyard::store::{ExpectedReads, StoreCall};

#[cfg(not(feature = "board"))]
use super::absent::Absent as Board;
#[cfg(not(feature = "postgres"))]
use super::absent::{Absent as Grant, Absent as Db};
#[cfg(not(feature = "server"))]
use super::absent::{Absent as Token, Absent as Serve};
#[cfg(not(feature = "agents"))]
use super::absent::{Absent as Hook, Absent as Setup, Absent as Mcp};
#[cfg(feature = "board")]
use super::board::Board;
use super::claim::Claim;
use super::create::{Create, TaskOfKind};
#[cfg(feature = "postgres")]
use super::db::Db;
use super::delete::Delete;
use super::demo::Demo;
use super::diff::Diff;
use super::gc::Gc;
use super::history::History;
#[cfg(feature = "agents")]
use super::hook::Hook;
use super::job::Job;
use super::list::List;
use super::lists::Lists;
use super::man::Man;
#[cfg(feature = "agents")]
use super::mcp::Mcp;
use super::ready::Ready;
#[cfg(feature = "server")]
use super::serve::Serve;
#[cfg(feature = "agents")]
use super::setup::Setup;
use super::show::Show;
use super::team::Team;
use super::template::Template;
use super::update::Update;
use super::work::Work;
use super::worktrees::WorktreesCommand;
#[cfg(feature = "board")]
use crate::arguments::written_out;
use crate::arguments::{FEW, Globals};
use crate::commands::claim::{Release, Renew};
#[cfg(feature = "postgres")]
use crate::commands::db::Grant;
use crate::commands::delete::Clear;
use crate::commands::dependencies::{Depend, Graph, Undepend};
use crate::commands::history::Watch;
use crate::commands::import_export::{Export, Import};
use crate::commands::list::Search;
use crate::commands::maintenance::{Backup, Doctor};
use crate::commands::man::Completions;
use crate::commands::messages::{Inbox, Send, Todo};
use crate::commands::moving_lists::{Adopt, Merge, Move};
use crate::commands::overview::{Prime, Stats, StatusLine};
#[cfg(feature = "server")]
use crate::commands::serve::Token;
use crate::commands::status::{Cancel, Done, Reopen, Retry, Start};
use crate::commands::undo_and_restore::{Restore, Undo};
use crate::commands::update::{Edit, Note};
use crate::commands::where_and_use::{Trust, Use, Where, Whoami};
use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// A task manager for Claude Code and other coding agents
///
/// Taskyard works directly on Claude Code's own task files while Claude Code is running. Every change is recorded in a
/// journal and can be undone, and deleted tasks can be restored.
#[derive(Debug, Parser)]
#[command(name = "taskyard", version, max_term_width = 100, after_help = AFTER_HELP)]
#[command(disable_help_subcommand = false, infer_subcommands = false, propagate_version = false)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER_HELP: &str = "\
Exit codes: 0 done; 1 could not; 2 wrong usage; 3 refused by a rule, a claim lost, or doctor found
something; 4 no such task, list, job or revision; 5 gave up waiting for a lock; 6 the change is
recorded but could not be finished. The only exception: `job wait` and `job run --wait` exit with
the command's own code, 128+N if a signal ended it, 124 if the wait timed out, and 125 if the
outcome is unknown.

A short tour: taskyard demo";

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(aliases = ["add", "a"])]
    Create(Box<Create>),
    #[command(alias = "ls")]
    List(List),
    Show(Show),
    Search(Search),
    Ready(Ready),
    Stats(Stats),
    #[command(aliases = ["mod", "modify"])]
    Update(Box<Update>),
    Edit(Edit),
    Note(Note),
    Template(Template),
    Start(Start),
    #[command(alias = "do")]
    Done(Done),
    Cancel(Cancel),
    Reopen(Reopen),
    Retry(Retry),
    Claim(Box<Claim>),
    Renew(Renew),
    Release(Release),
    #[command(alias = "rm")]
    Delete(Delete),
    Clear(Clear),
    #[command(alias = "depends")]
    Depend(Depend),
    Undepend(Undepend),
    Graph(Graph),
    History(History),
    Undo(Undo),
    Restore(Restore),
    Watch(Watch),
    #[cfg_attr(not(feature = "board"), command(skip))]
    Board(Board),
    Work(Box<Work>),
    Worktrees(Box<WorktreesCommand>),
    Diff(Diff),
    Lists(Lists),
    Where(Where),
    Whoami(Whoami),
    Use(Use),
    Adopt(Adopt),
    Merge(Merge),
    #[command(alias = "mv")]
    Move(Move),
    Todo(Todo),
    Task(TaskOfKind),
    Team(Box<Team>),
    Send(Send),
    Inbox(Inbox),
    Job(Job),
    Import(Import),
    Export(Export),
    Doctor(Doctor),
    Gc(Gc),
    Backup(Backup),
    #[cfg_attr(not(feature = "postgres"), command(skip))]
    Db(Db),
    #[cfg_attr(not(feature = "postgres"), command(skip))]
    Grant(Grant),
    #[cfg_attr(not(feature = "agents"), command(skip))]
    Setup(Setup),
    Prime(Prime),
    #[cfg_attr(not(feature = "agents"), command(skip))]
    Hook(Hook),
    #[command(name = "statusline")]
    StatusLine(StatusLine),
    Trust(Trust),
    #[cfg_attr(not(feature = "agents"), command(skip))]
    Mcp(Mcp),
    #[cfg_attr(not(feature = "server"), command(skip))]
    Serve(Serve),
    #[cfg_attr(not(feature = "server"), command(skip))]
    Token(Token),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

impl Command {
    /// Returns whether the command may hold a lock. Even a read-only command may, since it records other programs'
    /// changes.
    pub(crate) fn may_hold_locks(&self) -> bool {
        !matches!(
            self,
            Self::Where(_)
                | Self::Whoami(_)
                | Self::Use(_)
                | Self::Todo(_)
                | Self::Trust(_)
                | Self::Setup(_)
                // Nothing may open, and thereby upgrade, the tables first.
                | Self::Db(_)
                | Self::Grant(_)
                | Self::Completions(_)
                | Self::Man(_)
        )
    }

    /// Returns whether the command only reads a list.
    pub(crate) fn only_shows(&self) -> bool {
        matches!(
            self,
            Self::List(_)
                | Self::Show(_)
                | Self::Search(_)
                | Self::Ready(_)
                | Self::Stats(_)
                | Self::Graph(_)
                | Self::History(_)
                | Self::Export(_)
                | Self::Diff(_)
                | Self::Prime(_)
                | Self::Board(_)
                | Self::Doctor(_)
        )
    }

    /// Returns whether the command creates tasks, and so possibly the list.
    pub(crate) fn makes_tasks(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Task(_) | Self::Import(_))
    }

    /// Returns whether the command runs so often that it leaves the effects of ended jobs and members to other
    /// commands.
    pub(crate) fn only_glances(&self) -> bool {
        matches!(self, Self::StatusLine(_))
    }

    /// Begins a call for a short command that concerns few tasks, so that a remote store is asked everything in one
    /// round trip. Returns `None` for other commands and for local stores.
    pub(crate) fn begin_call(&self, context: &Context) -> Option<Box<dyn StoreCall>> {
        // The others read tasks under the lock, or read none.
        let (journal, is_change) = match self {
            Self::Show(show) => (show.ids().iter().flat_map(journal_of_shown).collect(), false),
            _ => (Vec::new(), true),
        };
        let tasks = self.few_tasks()?;
        if !matches!(context.address(), Ok(Address::Remote(_))) {
            return None;
        }
        // A team may have another list, which is read later.
        let list = context.list_without_team().ok();
        context.store().ok()?.begin_call(ExpectedReads { list, tasks: Some(tasks), journal, is_change })
    }

    /// Returns the tasks that the command names, if it concerns only these and the tasks tied to them.
    fn few_tasks(&self) -> Option<Vec<TaskId>> {
        let with = |id: &TaskId, others: &[TaskId]| [std::slice::from_ref(id), others].concat();
        match self {
            Self::Show(show) => Some(show.ids()).filter(|ids| ids.len() <= FEW),
            Self::History(history) => Some(vec![history.id.clone()?]),
            Self::Create(create) => create.named(),
            Self::Claim(claim) => Some(vec![claim.which.only_one()?.clone()]),
            Self::Renew(renew) => Some(vec![renew.id.clone()]),
            Self::Note(note) => Some(vec![note.id.clone()]),
            Self::Depend(depend) => Some(with(&depend.id, &depend.on)),
            Self::Undepend(undepend) => Some(with(&undepend.id, &undepend.on)),
            Self::Update(update) => update.named(),
            Self::Start(start) => start.which.named(),
            Self::Done(done) => done.which.named(),
            Self::Cancel(cancel) => cancel.which.named(),
            Self::Reopen(reopen) => reopen.which.named(),
            Self::Release(release) => release.which.named(),
            Self::Delete(delete) => delete.which.named(),
            _ => None,
        }
    }

    /// Returns whether a long answer goes to a pager.
    pub(crate) fn is_paged(&self) -> bool {
        let is_read_at_once = matches!(self, Self::Board(_) | Self::Doctor(_));
        (self.only_shows() && !is_read_at_once) || matches!(self, Self::Lists(_) | Self::Man(_))
    }

    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Self::Serve(_))
    }

    /// Returns whether another program defines the format of the command's output, so that nothing may be added to
    /// it.
    pub(crate) fn speaks_a_protocol(&self) -> bool {
        matches!(self, Self::Mcp(_) | Self::Hook(_)) || self.is_server()
    }

    /// Returns whether the command has a full-screen display, which shows the list's name itself.
    pub(crate) fn has_a_screen(&self) -> bool {
        matches!(self, Self::Board(_))
    }

    /// Returns whether the command handles signals itself, because it has child processes to stop or an editor to
    /// wait for.
    pub(crate) fn stops_itself(&self) -> bool {
        matches!(self, Self::Work(_) | Self::Edit(_) | Self::Board(_))
    }

    /// Runs the command.
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        match self {
            Self::Create(command) => command.run(context, output),
            Self::List(command) => command.run(context, output),
            Self::Show(command) => command.run(context, output),
            Self::Search(command) => command.run(context, output),
            Self::Ready(command) => command.run(context, output),
            Self::Stats(command) => command.run(context, output),
            Self::Update(command) => command.run(context, output),
            Self::Edit(command) => command.run(context, output),
            Self::Note(command) => command.run(context, output),
            Self::Template(command) => command.run(context, output),
            Self::Start(command) => command.run(context, output),
            Self::Done(command) => command.run(context, output),
            Self::Cancel(command) => command.run(context, output),
            Self::Reopen(command) => command.run(context, output),
            Self::Retry(command) => command.run(context, output),
            Self::Claim(command) => command.run(context, output),
            Self::Renew(command) => command.run(context, output),
            Self::Release(command) => command.run(context, output),
            Self::Delete(command) => command.run(context, output),
            Self::Clear(command) => command.run(context, output),
            Self::Depend(command) => command.run(context, output),
            Self::Undepend(command) => command.run(context, output),
            Self::Graph(command) => command.run(context, output),
            Self::History(command) => command.run(context, output),
            Self::Undo(command) => command.run(context, output),
            Self::Restore(command) => command.run(context, output),
            Self::Watch(command) => command.run(context, output),
            #[cfg(feature = "board")]
            Self::Board(command) => command.run(&Arguments::command(), run_words, context, output),
            #[cfg(not(feature = "board"))]
            Self::Board(absent) => absent.run(context, output),
            Self::Work(command) => command.run(context, output),
            Self::Worktrees(command) => command.run(context, output),
            Self::Diff(command) => command.run(context, output),
            Self::Lists(command) => command.run(context, output),
            Self::Where(command) => command.run(context, output),
            Self::Whoami(command) => command.run(context, output),
            Self::Use(command) => command.run(context, output),
            Self::Adopt(command) => command.run(context, output),
            Self::Merge(command) => command.run(context, output),
            Self::Move(command) => command.run(context, output),
            Self::Todo(command) => command.run(context, output),
            Self::Task(command) => command.run(context, output),
            Self::Team(command) => command.run(context, output),
            Self::Send(command) => command.run(context, output),
            Self::Inbox(command) => command.run(context, output),
            Self::Job(command) => command.run(context, output),
            Self::Import(command) => command.run(context, output),
            Self::Export(command) => command.run(context, output),
            Self::Doctor(command) => command.run(context, output),
            Self::Gc(command) => command.run(context, output),
            Self::Backup(command) => command.run(context, output),
            Self::Db(command) => command.run(context, output),
            Self::Grant(command) => command.run(context, output),
            Self::Setup(command) => command.run(context, output),
            Self::Prime(command) => command.run(context, output),
            Self::StatusLine(command) => command.run(context, output),
            Self::Hook(command) => command.run(context, output),
            Self::Trust(command) => command.run(context, output),
            Self::Mcp(command) => command.run(context, output),
            Self::Serve(command) => command.run(context, output),
            Self::Token(command) => command.run(context, output),
            Self::Demo(command) => command.run(context, output),
            Self::Completions(command) => command.run(output),
            Self::Man(command) => command.run(Arguments::command(), context, output),
        }
    }
}

/// Parses words as a command and runs it.
#[cfg(feature = "board")]
fn run_words(words: &[String], context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    let typed =
        std::iter::once("taskyard").chain(words.iter().map(String::as_str)).map(std::ffi::OsString::from).collect();
    let arguments = Arguments::try_parse_from(written_out(typed)).map_err(|error| {
        let told = error.to_string();
        let first = told.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Problem::usage("usage", first).hint("`taskyard help` in a shell explains every command")
    })?;
    arguments.command.map_or(Ok(Exit::Done), |command| command.run(context, output))
}
