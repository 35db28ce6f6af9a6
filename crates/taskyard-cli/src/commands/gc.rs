//! `taskyard gc`: removes everything that is old and no longer promised to stay.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use clap::Args;
use taskyard::core::answers::answer_words::LitterKind;
use taskyard::core::answers::maintenance_answers as answers;
use taskyard::core::answers::maintenance_answers::{Tidied, TidiedFile};
use taskyard::core::render::{Line, Tone};
use taskyard::core::rules::history::retention::{ClockDoubt, ClockTrust};
use taskyard::core::{Job, ListId, TaskId};
use taskyard::machine::Machine;
use taskyard::store::{Litter, StoreError, ThinOut, ThinnedList, ThinnedOut, TidiedJournal, TimeCount};
use taskyard::system;
use taskyard::teams::{count_old_letters, forget_old_letters};
use taskyard::tidying::{Household, Named, TidiedList};

use crate::arguments::parse_id;
use crate::context::Context;
use crate::edited_texts::{OldText, old_texts};
use crate::ended_agents::reopen_tasks_everywhere;
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Remove abandoned locks, leftover files and old history
///
/// `journal.keep` in taskyard.toml sets how long the full history is kept: a year, or less if a journal grows beyond
/// `journal.max_size`. Of older history it keeps the first and the last state of each task. Deleted tasks stay
/// restorable for `journal.keep`. Open tasks that disappeared are kept until you run `gc --forget ID`. It archives
/// lists that were not used for that long, and removes old jobs, acknowledged notices and messages, todo lists of ended
/// sessions, texts that `edit` could not save, and worktrees of this repository whose branches are merged.
///
/// If the clock has jumped by more than a month since the last run, or back, gc asks whether the clock is right before
/// it removes anything by age. Without a terminal it keeps all of that and says so; --yes confirms the clock.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Show what would be removed and how many bytes that frees, without removing it
    #[arg(long)]
    dry_run: bool,

    /// Do not ask: confirm that the clock is right
    #[arg(short, long)]
    yes: bool,

    /// Also forget these tasks, which were open when they disappeared, if they have been gone long enough
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',', num_args = 1..)]
    forget: Vec<TaskId>,
}

impl Gc {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let removed = sweep_litter(context, self.dry_run)?;
        let mut doubt = None;
        let (tidied, swept) = match context.household()? {
            Some(household) => {
                let named = self.named(context)?;
                let count = self.count_time(&household, output)?;
                doubt = count.elapsed.in_doubt();
                let tidied = match self.dry_run {
                    true => household.try_to_tidy(&count, &named),
                    false => household.tidy(&count, &named),
                };
                (tidied, sweep_records(context, &household, &count, self.dry_run)?)
            }
            None => (Vec::new(), Swept::default()),
        };
        let worktrees = self.worktrees(context, output)?;
        let thinned = self.thin_out(context, output)?;
        // Local data has been cleaned up regardless.
        let exit = if thinned.is_some() { Exit::Done } else { Exit::CouldNot };
        let shared = thinned.unwrap_or_default();
        let doubt = doubt.or(shared.doubt);
        if let Some(doubt) = doubt {
            output
                .warn(&format!("nothing is removed by age: {doubt}; if the clock is right, use `taskyard gc --yes`"))?;
        }
        for tidied in &tidied {
            if let Err(error) = &tidied.done {
                output
                    .warn(&format!("the journal in `{}` was not changed: {error}", tidied.memory.sidecar.display()))?;
            }
        }
        for task in still_kept(&self.forget, &tidied, &shared) {
            output.warn(&format!(
                "task {task} is kept: it exists, never existed, or has not been gone for long enough"
            ))?;
        }
        let journals: Vec<_> = tidied.iter().filter_map(|tidied| Some((tidied, told(tidied)?))).collect();
        let bytes = swept.bytes + journals.iter().map(|(_, done)| freed(done)).sum::<u64>();
        if output.is_json() {
            let store = context.address()?.to_string();
            let journals = journals.iter().map(|(tidied, done)| answer(tidied, done));
            let shared_journals = shared.lists.iter().map(|thinned| shared_answer(&store, thinned));
            output.document(Tidied {
                removed: removed.iter().filter_map(|(list, found)| litter_answer(list, found)).collect(),
                journals: journals.chain(shared_journals).collect(),
                jobs: swept.jobs.iter().map(|job| job.id.as_str()).collect(),
                notices: swept.notices + shared.notices,
                messages: swept.messages + shared.messages,
                todos: swept.todos.iter().map(|todo| todo.path.display().to_string()).collect(),
                edits: swept.edits.iter().map(|text| text.path.display().to_string()).collect(),
                worktrees: worktrees.iter().map(|path| path.display().to_string()).collect(),
                bytes,
                clock_doubt: doubt.map(|ClockDoubt { last, now }| answers::ClockDoubt {
                    last: last.to_string(),
                    now: now.to_string(),
                }),
                dry_run: self.dry_run,
            })?;
            return Ok(exit);
        }
        let verb = if self.dry_run { "Would remove" } else { "Removed" };
        let mut lines: Vec<Line> = removed.iter().filter_map(|(list, found)| litter_line(list, found, verb)).collect();
        lines.extend(journals.iter().map(|(tidied, done)| tidied_line(tidied, done, self.dry_run)));
        lines.extend(shared.lists.iter().map(|thinned| shared_line(thinned, self.dry_run)));
        let texts = swept.edits.iter().filter(|text| text.path.extension().is_some_and(|end| end == "md")).count();
        for (count, one, many) in [
            (swept.jobs.len(), "ended job", "ended jobs"),
            (swept.notices + shared.notices, "delivered notice", "delivered notices"),
            (swept.messages + shared.messages, "acknowledged message", "acknowledged messages"),
            (swept.todos.len(), "todo list of an ended session", "todo lists of ended sessions"),
            (worktrees.len(), "worktree of a merged branch", "worktrees of merged branches"),
            (texts, "text of an abandoned edit", "texts of abandoned edits"),
        ] {
            if count > 0 {
                lines.push(Line::plain(&format!("{verb} {}", counted(count as u64, one, many))));
            }
        }
        if lines.is_empty() {
            lines.push(Line::plain("Nothing to tidy"));
        } else if bytes > 0 {
            let gives = if self.dry_run { "That would free" } else { "That freed" };
            lines.push(Line::plain(&format!("{gives} {}", size(bytes))));
        }
        lines.iter().try_for_each(|line| output.say(line))?;
        Ok(exit)
    }

    /// Removes this repository's worktrees whose branches are merged, if the list ever had a worktree here.
    fn worktrees(&self, context: &Context, output: &mut Output) -> Result<Vec<PathBuf>, Problem> {
        let Some(repository) = context.repository_with_worktrees()? else { return Ok(Vec::new()) };
        let yard = context.yard()?;
        let tasks = yard.store().read(yard.list_id()).and_then(|list| list.tasks()).map_err(taskyard::Error::from)?;
        match repository.clean(yard.list_id(), &tasks, self.dry_run) {
            Ok(cleaned) => Ok(cleaned.removed),
            Err(error) => {
                output.warn(&format!("the worktrees were not changed: {error}"))?;
                Ok(Vec::new())
            }
        }
    }

    /// Checks the clock, and asks the user if it is in doubt.
    fn count_time(&self, household: &Household, output: &mut Output) -> Result<TimeCount, Problem> {
        let trust = if self.yes { ClockTrust::Vouched } else { ClockTrust::Plausible };
        if self.dry_run || !household.data.exists() {
            return Ok(household.try_to_count_time(trust));
        }
        let counted = match trust {
            ClockTrust::Vouched => household.confirm_time(),
            ClockTrust::Plausible => household.count_time(),
        };
        let count = match counted {
            Ok(count) => count,
            Err(error) => {
                output.warn(&error.to_string())?;
                return Ok(household.try_to_count_time(trust));
            }
        };
        match count.elapsed.in_doubt() {
            Some(doubt) if ask(doubt, output)? => {
                household.confirm_time().map_err(|error| taskyard::Error::from(error).into())
            }
            _ => Ok(count),
        }
    }

    /// Thins the journals of a shared store. Returns `None`, with a warning, if this user may not.
    fn thin_out(&self, context: &Context, output: &mut Output) -> Result<Option<ThinnedOut>, Problem> {
        let yard = context.yard()?;
        let Some(care) = yard.store().shared_care() else { return Ok(Some(ThinnedOut::default())) };
        let tasks = self.forget.iter().map(|id| TaskId::stored(id.file_stem())).collect();
        let named = (!self.forget.is_empty()).then(|| (yard.list_id().clone(), tasks));
        let mut terms = ThinOut { keep: context.config()?.keep(), named, is_dry: self.dry_run, is_confirmed: self.yes };
        let mut thinned = care.thin_out(&terms);
        if let Ok(ThinnedOut { doubt: Some(doubt), .. }) = &thinned
            && !self.dry_run
            && ask(*doubt, output)?
        {
            terms.is_confirmed = true;
            thinned = care.thin_out(&terms);
        }
        match thinned {
            Ok(thinned) => Ok(Some(thinned)),
            Err(error @ StoreError::Failed { .. }) => {
                output.warn(&format!("the journals in `{}` were not changed: {error}", context.address()?))?;
                Ok(None)
            }
            Err(error) => Err(taskyard::Error::from(error).into()),
        }
    }

    /// Returns the tasks given with `--forget`, and where they are remembered.
    fn named(&self, context: &Context) -> Result<Named, Problem> {
        if self.forget.is_empty() {
            return Ok(Named::default());
        }
        let yard = context.yard()?;
        let sidecar = yard.store().care().and_then(|care| care.memory_of(yard.list_id()));
        Ok(Named { sidecar, tasks: self.forget.iter().map(|id| TaskId::stored(id.file_stem())).collect() })
    }
}

/// Asks whether a doubtful clock is right. Without a terminal, the answer is no.
fn ask(doubt: ClockDoubt, output: &mut Output) -> Result<bool, Problem> {
    let question = format!("{doubt}; is the clock right, so that old data may be removed?");
    Ok(!output.is_json() && output.ask(&question)?)
}

/// What was removed, or would be.
#[derive(Debug, Default)]
struct Swept {
    jobs: Vec<Job>,
    /// The number of notices removed.
    notices: usize,
    /// The number of acknowledged messages removed.
    messages: usize,
    /// Todo lists of ended sessions.
    todos: Vec<DeadTodo>,
    /// Files of abandoned edits.
    edits: Vec<OldText>,
    /// The total size in bytes of job outputs, todo lists and texts.
    bytes: u64,
}

/// Removes old records, or only finds them. Does nothing while the clock is in doubt.
fn sweep_records(context: &Context, household: &Household, count: &TimeCount, is_dry: bool) -> Result<Swept, Problem> {
    let mut swept = Swept::default();
    if count.is_doubted() {
        return Ok(swept);
    }
    let jobs = context.shared_jobs()?;
    if household.data.join("machine.sqlite").exists() {
        let age = jobs.options().settings.keep;
        if is_dry {
            swept.jobs = jobs.ended_before(age)?;
            let sizes = swept.jobs.iter().filter_map(|job| fs::metadata(&job.output_file).ok());
            swept.bytes += sizes.map(|file| file.len()).sum::<u64>();
            swept.notices = Machine::look(&household.data)?.map_or(Ok(0), |machine| machine.heard_notices())?;
        } else {
            // Apply the effects of ended jobs on their tasks before removing the jobs.
            jobs.reconcile()?;
            reopen_tasks_everywhere(&jobs, context.environment())?;
            let gone = jobs.gc(age)?;
            (swept.jobs, swept.bytes) = (gone.jobs, swept.bytes + gone.bytes);
            swept.notices = Machine::open(&household.data)?.forget_heard_notices()?;
        }
    }
    let old = count.elapsed.old_before(household.keep);
    let letters = if is_dry { count_old_letters } else { forget_old_letters };
    swept.messages = letters(&household.data, old)?;
    let dead = context.places()?.client.as_deref().map(dead_todos).unwrap_or_default();
    for todo in dead {
        if is_dry || todo.remove().is_ok() {
            swept.bytes += todo.bytes;
            swept.todos.push(todo);
        }
    }
    for text in old_texts(&household.data, old) {
        if is_dry || text.remove().is_ok() {
            swept.bytes += text.bytes;
            swept.edits.push(text);
        }
    }
    Ok(swept)
}

/// Removes leftover files from all lists of the store, or only finds them.
fn sweep_litter(context: &Context, is_dry: bool) -> Result<Vec<(ListId, Litter)>, Problem> {
    let store = context.store()?;
    let mut removed: Vec<(ListId, Litter)> = Vec::new();
    // Only file-backed stores have leftovers.
    for (info, care) in store.lists()?.into_iter().filter_map(|info| Some((info, store.care()?))) {
        let mut litter = care.litter(&info.list)?;
        // Files that are faulty but in use are left to `doctor`.
        litter.retain(|litter| described(litter).is_some());
        let swept = if is_dry { litter } else { care.sweep(&info.list, &litter)? };
        removed.extend(swept.into_iter().map(|litter| (info.list.clone(), litter)));
        if !is_dry {
            care.flush(&info.list);
        }
    }
    Ok(removed)
}

/// Returns the line that describes it.
fn litter_line(list: &ListId, litter: &Litter, verb: &str) -> Option<Line> {
    let (_, kind, path) = described(litter)?;
    let mut line = Line::plain(&format!("{verb} {kind} "));
    line.push(Tone::Dim, &format!("{} in {list}", path.display()));
    Some(line)
}

/// Returns its answer for programs.
fn litter_answer<'a>(list: &'a ListId, litter: &Litter) -> Option<TidiedFile<'a>> {
    let (kind, _, path) = described(litter)?;
    Some(TidiedFile { list: list.as_str(), kind, path: path.display().to_string() })
}

/// Returns the JSON kind, the description and the path of a leftover, or `None` if `gc` does not remove it.
fn described(litter: &Litter) -> Option<(LitterKind, String, &Path)> {
    match litter {
        Litter::StaleLock { path, age } => {
            Some((LitterKind::StaleLock, format!("a lock that was not refreshed for {} s,", age.as_secs()), path))
        }
        Litter::Leftover { path } => Some((LitterKind::Leftover, "a temporary file,".to_owned(), path)),
        Litter::BadMark { path, found } => {
            Some((LitterKind::BadMark, format!("a mark with the value `{}`,", found.escape_debug()), path))
        }
        Litter::UnreadableMark { path, .. } => Some((LitterKind::BadMark, "an unreadable mark,".to_owned(), path)),
        Litter::LockInTheWay { .. }
        | Litter::SpecialFile { .. }
        | Litter::LowMark { .. }
        | Litter::Shadowed { .. }
        | Litter::TornFile { .. }
        | Litter::HiddenTwice { .. }
        | Litter::HiddenWork { .. } => None,
    }
}

/// Separates session and agent in a file name.
const BETWEEN: &str = "-agent-";

/// The todo list of an agent in an ended session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DeadTodo {
    path: PathBuf,
    /// Its size in bytes.
    bytes: u64,
}

impl DeadTodo {
    fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// How long a list and its session's transcript must have been unchanged.
const SILENCE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Returns the todo lists in the client's directory that are unchanged for a month and whose session has no newer
/// transcript.
fn dead_todos(client: &Path) -> Vec<DeadTodo> {
    let now = UNIX_EPOCH + Duration::from_millis(system::now().0.unsigned_abs());
    dead_todos_at(client, now)
}

fn dead_todos_at(client: &Path, now: SystemTime) -> Vec<DeadTodo> {
    let before = now - SILENCE;
    let is_old = |metadata: &fs::Metadata| metadata.modified().is_ok_and(|written| written < before);
    let mut dead = Vec::new();
    for entry in fs::read_dir(client.join("todos")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let session = name.strip_suffix(".json").and_then(|name| name.split_once(BETWEEN)).map(|(session, _)| session);
        let (Some(session), Ok(metadata)) = (session, fs::symlink_metadata(entry.path())) else { continue };
        if metadata.is_file() && is_old(&metadata) && !is_alive(client, session, &is_old) {
            dead.push(DeadTodo { path: entry.path(), bytes: metadata.len() });
        }
    }
    dead.sort_by(|one, other| one.path.cmp(&other.path));
    dead
}

/// Returns whether a transcript of the session was written recently.
fn is_alive(client: &Path, session: &str, is_old: &impl Fn(&fs::Metadata) -> bool) -> bool {
    let projects = fs::read_dir(client.join("projects")).into_iter().flatten().flatten();
    let mut transcripts = projects.map(|project| project.path().join(format!("{session}.jsonl")));
    transcripts.any(|transcript| fs::metadata(transcript).is_ok_and(|metadata| !is_old(&metadata)))
}

/// Journals that shrank by less than this, without losing entries, are not mentioned.
const LITTLE: u64 = 64 * 1024;

/// Returns what was done to a journal, if it is worth mentioning.
pub(crate) fn told(tidied: &TidiedList) -> Option<&TidiedJournal> {
    let done = tidied.done.as_ref().ok()?.as_ref()?;
    let is_told = done.entries > 0 || done.is_put_away || !done.forgotten.is_empty() || freed(done) >= LITTLE;
    is_told.then_some(done)
}

/// Returns the number of bytes freed.
pub(crate) fn freed(done: &TidiedJournal) -> u64 {
    done.bytes.0.saturating_sub(done.bytes.1)
}

/// Returns the line about a journal.
pub(crate) fn tidied_line(tidied: &TidiedList, done: &TidiedJournal, is_dry: bool) -> Line {
    let words = ["Archived", "Thinned out", "Made smaller"];
    let would = ["Would archive", "Would thin out", "Would shrink"];
    let [archived, thinned, smaller] = if is_dry { would } else { words };
    let what = match done.entries {
        _ if done.is_put_away => format!("{archived} the journal of "),
        0 => format!("{smaller} the journal of "),
        entries => format!("{thinned} {} of ", counted(entries, "entry", "entries")),
    };
    let mut line = Line::plain(&what);
    line.push(Tone::Plain, &name(tidied));
    line.push(Tone::Dim, &format!(" ({} less)", size(freed(done))));
    line
}

/// Returns the line about a journal in a shared store.
pub(crate) fn shared_line(thinned: &ThinnedList, is_dry: bool) -> Line {
    let verb = if is_dry { "Would thin out" } else { "Thinned out" };
    Line::plain(&format!("{verb} {} of {}", counted(thinned.entries, "entry", "entries"), thinned.list))
}

/// Returns the answer about such a journal. The bytes freed are unknown.
pub(crate) fn shared_answer<'a>(store: &str, thinned: &'a ThinnedList) -> answers::TidiedJournal<'a> {
    answers::TidiedJournal {
        list: Some(thinned.list.as_str().to_owned()),
        path: store.to_owned(),
        entries: thinned.entries,
        bytes: 0,
        archived: false,
        forgotten: thinned.forgotten.iter().map(TaskId::as_str).collect(),
    }
}

/// Returns the answer about a journal.
pub(crate) fn answer<'a>(tidied: &TidiedList, done: &'a TidiedJournal) -> answers::TidiedJournal<'a> {
    answers::TidiedJournal {
        list: tidied.memory.list.as_ref().map(|path| path.display().to_string()),
        path: tidied.memory.sidecar.display().to_string(),
        entries: done.entries,
        bytes: freed(done),
        archived: done.is_put_away,
        forgotten: done.forgotten.iter().map(TaskId::as_str).collect(),
    }
}

/// Returns the tasks given with `--forget` that were not removed.
pub(crate) fn still_kept<'a>(named: &'a [TaskId], tidied: &[TidiedList], shared: &ThinnedOut) -> Vec<&'a TaskId> {
    let done = tidied.iter().filter_map(|tidied| tidied.done.as_ref().ok()?.as_ref());
    let shared = shared.lists.iter().flat_map(|thinned| &thinned.forgotten);
    let gone: HashSet<&TaskId> = done.flat_map(|done| &done.forgotten).chain(shared).collect();
    named.iter().filter(|task| !gone.contains(task)).collect()
}

pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Formats a size.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", bytes / 1024),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

/// Returns the name of a list: its directory, or that of its document.
fn name(tidied: &TidiedList) -> String {
    let path = tidied.memory.list.as_deref().unwrap_or(&tidied.memory.sidecar);
    let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    named(path).unwrap_or_else(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use super::dead_todos_at;

    #[test]
    fn only_what_nobody_has_touched_is_dead() {
        let client = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let write = |path: &str, days: u64| {
            let path = client.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "[]").unwrap();
            let written = now - Duration::from_secs(days * 86_400);
            File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
        };
        for (path, days) in [
            ("todos/a-agent-a.json", 40),
            ("todos/b-agent-b.json", 2),
            ("todos/c-agent-x.json", 40),
            ("projects/p/c.jsonl", 3),
            ("todos/d-agent-d.json", 40),
            ("projects/p/d.jsonl", 50),
            ("todos/notes.json", 400),
        ] {
            write(path, days);
        }
        fs::create_dir(client.path().join("todos/e-agent-e.json")).unwrap();
        let dead = dead_todos_at(client.path(), now);
        let names: Vec<_> = dead.iter().map(|todo| todo.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a-agent-a.json", "d-agent-d.json"]);
        assert!(dead.iter().all(|todo| todo.bytes == 2));
    }
}
