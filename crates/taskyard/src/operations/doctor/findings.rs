//! The findings of `doctor` and their fixes.

use std::path::{Path, PathBuf};

use taskyard_core::dialect::NewerVersion;
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::rules::changes::numbering::LARGEST_NUMBER;
use taskyard_core::rules::health::defects::Mend;
use taskyard_core::rules::health::{Defect, FindingCode};
use taskyard_core::rules::history::taking_back::StillLost;
use taskyard_core::rules::history::vanishing::Removed;
use taskyard_core::{Image, Job, JobId, Loss, Op, Task, TaskField, TaskId};

use crate::store::{JournalDamage, Litter, SharedFault, StoreError, StuckLock, UnreadableTask};
use crate::teams::TeamTrouble;

/// A problem that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of defect.
    pub code: FindingCode,
    /// The task it is about, if any.
    pub(crate) task: Option<TaskId>,
    /// The name of the file it is about, if any.
    pub file: Option<String>,
    /// A description of the problem.
    pub message: String,
    /// The fix; `None` if only a person can fix it.
    pub fix: Option<Fix>,
}

/// How a defect is fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fix {
    /// By changing tasks.
    Mend(Mend),
    /// By giving a task a new number, including its edges.
    Renumber(TaskId),
    /// By replacing contents that no task can be read from. The journal keeps them.
    Replace {
        /// The task whose file it is.
        task: TaskId,
        /// The present contents.
        broken: Image,
        /// The replacement; `None` to remove the file.
        by: Option<Image>,
        /// A description of the fix.
        doing: String,
    },
    /// By removing or renaming a file that no program uses.
    Sweep(Litter),
    /// By replacing a damaged journal with a new one that keeps everything readable.
    MendJournal,
    /// By restoring tasks from the journal.
    Restore(Vec<TaskId>),
    /// By recording that a job is lost, and stopping what is left of it.
    EndJob(JobId),
    /// By removing a member from its team.
    LetGo {
        /// Its team.
        team: String,
        /// Its name.
        member: String,
    },
    /// By repairing a team's file, after saving a copy of it.
    MendTeam(TeamTrouble),
    /// By reapplying changes that another program overwrote with stale data.
    PutBack(Box<StillLost>),
}

impl Fix {
    /// Returns a description of what would be done.
    pub fn describe(&self) -> String {
        match self {
            Self::Mend(mend) => mend.describe(),
            Self::Replace { doing, .. } => doing.clone(),
            Self::Renumber(task) => {
                format!("give task {} the next number, and update its edges", task.as_str().escape_debug())
            }
            Self::Sweep(Litter::StaleLock { path, .. }) => format!("remove the lock `{}`", path.display()),
            Self::Sweep(Litter::LockInTheWay { path, .. }) => {
                format!("remove `{}` once it is certain that no process holds it", path.display())
            }
            Self::Sweep(Litter::SpecialFile { path, .. }) => {
                format!("rename `{0}` to `{0}.unreadable`, without opening it", path.display())
            }
            Self::Sweep(Litter::Leftover { path }) => format!("remove `{}`", path.display()),
            Self::Sweep(Litter::BadMark { path, .. } | Litter::UnreadableMark { path, .. }) => {
                format!("write the highest used number to `{}`", path.display())
            }
            Self::Sweep(Litter::LowMark { path, used, .. }) => format!("write {used} to `{}`", path.display()),
            Self::Sweep(Litter::Shadowed { path, .. }) => {
                format!("rename `{0}` to `{0}.old`, which is not read as a task", path.display())
            }
            Self::Sweep(Litter::TornFile { path }) => {
                format!(
                    "keep the content of `{0}` as `{0}.unreadable`, and restore the tasks from the journal",
                    path.display()
                )
            }
            Self::Sweep(Litter::HiddenTwice { path, task }) => {
                format!("rename `{}` to .{}", path.display(), file_of(task))
            }
            Self::Sweep(Litter::HiddenWork { path, task }) => {
                format!("rename `{}` to {}", path.display(), file_of(task))
            }
            Self::MendJournal => {
                "keep the damaged journal (`journal.sqlite.damaged-...`), save what can be read from it, \
                                  and begin a new one from the files"
                    .to_owned()
            }
            Self::Restore(tasks) => format!("restore {} from the journal", counted(tasks.len(), "task")),
            Self::EndJob(job) => format!("record that {job} is lost, and end its remaining processes"),
            Self::MendTeam(TeamTrouble::LockInTheWay { path, .. }) => {
                format!("remove `{}` once it is certain that no process holds it", path.display())
            }
            Self::MendTeam(TeamTrouble::SpecialFile { path, .. }) => {
                format!("rename `{0}` to `{0}.unreadable`, without opening it", path.display())
            }
            Self::MendTeam(_) => {
                "keep what can be read from it, and save a copy of it in the data directory".to_owned()
            }
            Self::PutBack(lost) => put_back_in_words(lost),
            Self::LetGo { team, member } => {
                format!("remove {member} from team {team}, release its tasks and notify the others")
            }
        }
    }
}

fn put_back_in_words(lost: &StillLost) -> String {
    let name = |loss: &Loss| match &loss.field {
        TaskField::Note(_) => "a note".to_owned(),
        field => field.to_string().escape_debug().to_string(),
    };
    let fields: Vec<String> = lost.losses.iter().map(name).collect();
    match &lost.losses[..] {
        [Loss { field: TaskField::Deletion, .. }, ..] => format!("delete task {} again", lost.task),
        _ => format!("reapply {} of task {}", fields.join(", "), lost.task),
    }
}

impl Finding {
    /// Returns the finding for a defect of a task, given the name of its file.
    pub(super) fn of_task(defect: Defect, file: String) -> Self {
        Self {
            code: defect.code,
            file: Some(file),
            task: Some(defect.task),
            message: defect.message,
            fix: defect.mend.map(Fix::Mend),
        }
    }

    /// Returns the finding for a task whose number is too large, given the name of its file.
    pub(super) fn of_large_number(task: TaskId, file: String) -> Self {
        Self {
            code: FindingCode::NumberTooLarge,
            file: Some(file),
            message: format!(
                "the number of task {} is above {LARGEST_NUMBER}, so there is no next number",
                task.as_str().escape_debug()
            ),
            fix: Some(Fix::Renumber(task.clone())),
            task: Some(task),
        }
    }

    /// Returns the finding for a file that contains no readable task, with its fix.
    pub(super) fn of_problem(problem: UnreadableTask, code: FindingCode, fix: Option<Fix>) -> Self {
        let what = match code {
            FindingCode::Invisible => "is seen by neither Claude Code 2.1.34 nor 2.1.325",
            _ => "cannot be read",
        };
        Self {
            code,
            file: file_name(&problem.path),
            message: format!("task {} {what}: {}", problem.task.as_str().escape_debug(), problem.why),
            task: Some(problem.task),
            fix,
        }
    }

    pub(super) fn of_litter(litter: Litter) -> Self {
        let (code, path, message) = match &litter {
            Litter::StaleLock { path, age } => {
                (FindingCode::StaleLock, path, format!("a lock whose holder has been silent for {} s", age.as_secs()))
            }
            Litter::LockInTheWay { path, why } => (FindingCode::LockInTheWay, path, why.to_string()),
            Litter::SpecialFile { path, found } => {
                let is_lock_file = path.file_name().is_some_and(|name| name == ".lock");
                let code = if is_lock_file { FindingCode::LockInTheWay } else { FindingCode::Unreadable };
                (code, path, format!("it is {found}, not a regular file"))
            }
            Litter::UnreadableMark { path, why } => {
                (FindingCode::BadMark, path, format!("the mark cannot be read: {why}"))
            }
            Litter::Leftover { path } => {
                (FindingCode::Leftover, path, "a temporary file that is no longer needed".to_owned())
            }
            Litter::BadMark { path, found } => (
                FindingCode::BadMark,
                path,
                format!("the mark holds `{}`, which is not a valid number", found.escape_debug()),
            ),
            Litter::LowMark { path, mark, used } => {
                (FindingCode::MarkTooLow, path, format!("the mark says {mark}, but number {used} was used"))
            }
            Litter::Shadowed { path, task } => {
                (FindingCode::DuplicateId, path, format!("task {task} has a second, hidden file that no program reads"))
            }
            Litter::TornFile { path } => (FindingCode::Unreadable, path, "nothing can be read from it".to_owned()),
            Litter::HiddenTwice { path, task } => (
                FindingCode::Invisible,
                path,
                format!("task {task} is hidden twice, and the program that hid it does not find it under this name"),
            ),
            Litter::HiddenWork { path, task } => (
                FindingCode::Invisible,
                path,
                format!(
                    "task {task} is hidden from Claude Code 2.1.34 and 2.1.325 by its dot name, but it is not done"
                ),
            ),
        };
        let task = match &litter {
            Litter::Shadowed { task, .. } | Litter::HiddenTwice { task, .. } | Litter::HiddenWork { task, .. } => {
                Some(task.clone())
            }
            _ => None,
        };
        Self { code, task, file: file_name(path), message, fix: Some(Fix::Sweep(litter)) }
    }

    pub(super) fn of_journal(damage: &JournalDamage) -> Self {
        Self {
            code: FindingCode::JournalDamaged,
            task: None,
            file: Some("journal.sqlite".to_owned()),
            message: format!("the journal of the list is damaged: {damage}"),
            fix: Some(Fix::MendJournal),
        }
    }

    /// Returns the finding for a move between two lists that cannot be finished.
    pub(super) fn of_unfinished_move(why: &StoreError) -> Self {
        Self {
            code: FindingCode::UnfinishedMove,
            task: None,
            file: why.path().and_then(file_name),
            message: format!("a move of tasks between this list and another is unfinished: {why}"),
            fix: None,
        }
    }

    /// Returns the finding for one of our databases that a newer Taskyard wrote.
    pub(super) fn of_newer(path: &Path, format: i64) -> Self {
        Self {
            code: FindingCode::NewerFormat,
            task: None,
            file: file_name(path),
            message: format!("`{}` was written by a newer taskyard (format {format})", path.display()),
            fix: None,
        }
    }

    pub(super) fn of_no_active_form(task: &Task, file: String) -> Self {
        Self {
            code: FindingCode::NoActiveForm,
            task: Some(task.id.clone()),
            file: Some(file),
            message: format!("task {} ({}) has no activeForm", task.id, task.shown_subject()),
            fix: None,
        }
    }

    /// Returns the finding for a file of tasks in an unknown version.
    pub(super) fn of_newer_file(path: &Path, version: &NewerVersion) -> Self {
        Self {
            code: FindingCode::NewerFormat,
            task: None,
            file: file_name(path),
            message: format!("`{}` is not changed: {version}", path.display()),
            fix: None,
        }
    }

    /// Returns a finding for information only, without a fix.
    pub(super) fn of_surroundings(code: FindingCode, file: Option<String>, message: String) -> Self {
        Self { code, task: None, file, message, fix: None }
    }

    /// Returns the finding for a fault in a journal shared by several machines.
    pub(super) fn of_shared(fault: SharedFault) -> Self {
        let (code, task, message) = match fault {
            SharedFault::Gap { after, before } => {
                let message = match before.0 - after.0 {
                    2 => format!("revision {} is not in the journal", after.0 + 1),
                    _ => format!("revisions {} to {} are not in the journal", after.0 + 1, before.0 - 1),
                };
                (FindingCode::HistoryGap, None, message)
            }
            SharedFault::Mismatch { revision, task } => {
                let message =
                    format!("revision {revision} changed task {task} from a state other than the previous one");
                (FindingCode::HistoryMismatch, Some(task), message)
            }
            SharedFault::Differs { task } => {
                let message = format!("task {task} differs from its last entry in the journal");
                (FindingCode::HistoryMismatch, Some(task), message)
            }
            SharedFault::WentBack { at, lost: Some((list, known, found)) } => {
                let message =
                    format!("at {at} the database had list {list} at revision {found}, after revision {known} before");
                (FindingCode::WentBack, None, message)
            }
            SharedFault::WentBack { at, lost: None } => {
                let message = format!("at {at} another server took over, or the database went back");
                (FindingCode::WentBack, None, message)
            }
        };
        Self { code, task, file: None, message, fix: None }
    }

    /// Returns the finding for an unreadable file that contains a whole list.
    pub(super) fn of_torn_file(path: PathBuf, why: &Unreadable) -> Self {
        let message = format!("the list cannot be read: {why}");
        Self { message, ..Self::of_litter(Litter::TornFile { path }) }
    }

    pub(super) fn of_lost(tasks: &[Task]) -> Self {
        let open = tasks.iter().filter(|task| task.status.is_open()).count();
        let all = counted(tasks.len(), "task");
        Self {
            code: FindingCode::EmptiedList,
            task: None,
            file: None,
            message: format!("every task of this list is missing: {all}, {open} of them open"),
            fix: Some(Fix::Restore(tasks.iter().map(|task| task.id.clone()).collect())),
        }
    }

    pub(super) fn of_missing(missing: &Removed) -> Self {
        let task = &missing.task;
        let how = match missing.entry.op {
            Op::Undo => format!("an undo by {} removed the restored task", missing.entry.actor),
            _ => "another program removed it".to_owned(),
        };
        Self {
            code: FindingCode::MissingTask,
            task: Some(task.id.clone()),
            file: None,
            message: format!("task {} ({}) is missing: {how}", task.id, task.shown_subject()),
            fix: Some(Fix::Restore(vec![task.id.clone()])),
        }
    }

    pub(super) fn of_job(job: &Job) -> Self {
        let called = job.description.escape_debug();
        Self {
            code: FindingCode::JobWithoutProcess,
            task: job.task.clone(),
            file: file_name(&job.output_file),
            message: format!(
                "job {} ({called}) is recorded as {}, but its process is gone",
                job.id,
                job.state().as_str()
            ),
            fix: Some(Fix::EndJob(job.id.clone())),
        }
    }

    pub(super) fn of_team(trouble: TeamTrouble) -> Self {
        let (code, file, message) = match &trouble {
            TeamTrouble::TornInbox { path, why } => (
                FindingCode::TornInbox,
                file_name(path),
                format!("the inbox `{}` cannot be read: {why}", path.display()),
            ),
            TeamTrouble::SpecialFile { path, found, is_inbox } => {
                let (code, what) = match is_inbox {
                    true => (FindingCode::TornInbox, "inbox"),
                    false => (FindingCode::TornTeamFile, "team file"),
                };
                let message = format!("the {what} `{}` is {found}, not a regular file", path.display());
                (code, file_name(path), message)
            }
            TeamTrouble::TornTeamFile { path, why } => (
                FindingCode::TornTeamFile,
                file_name(path),
                format!("the team file `{}` cannot be read: {why}", path.display()),
            ),
            TeamTrouble::LockInTheWay { path, why } => {
                let code = match why {
                    StuckLock::Silent { .. } => FindingCode::StaleLock,
                    _ => FindingCode::LockInTheWay,
                };
                (code, file_name(path), format!("`{}` is {why}", path.display()))
            }
            TeamTrouble::Ghost { team, name, process } => {
                let process = process.map_or_else(|| "the process".to_owned(), |process| format!("process {process}"));
                let message = format!("{process} of {} in team {} is gone", name.escape_debug(), team.escape_debug());
                (FindingCode::MemberWithoutProcess, None, message)
            }
        };
        let fix = match trouble {
            TeamTrouble::Ghost { team, name: member, .. } => Fix::LetGo { team, member },
            torn => Fix::MendTeam(torn),
        };
        Self { code, task: None, file, message, fix: Some(fix) }
    }
}

/// Returns the name of a task's file.
pub(super) fn file_of(task: &TaskId) -> String {
    format!("{}.json", task.file_stem())
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
