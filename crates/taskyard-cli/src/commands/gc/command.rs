//! The command.

use clap::Args;
use taskyard::core::TaskId;
use taskyard::core::answers::maintenance::{self as answers, Tidied};
use taskyard::core::render::Line;
use taskyard::core::rules::history::elapsed::{ClockDoubt, ClockTrust};
use taskyard::store::{StoreError, ThinOut, ThinnedOut, TimeCount};
use taskyard::tidying::{Household, Named};

use super::swept::Swept;
use super::{litter, swept};
use crate::arguments::parse_id;
use crate::context::Context;
use crate::displays::tidied_lists;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Tidy up: abandoned locks, leftovers, old history, lists long gone
///
/// `journal.keep` in taskyard.toml says how long everything is kept: a year, or less where a journal grows beyond `journal.max_size`. Of
/// older history it keeps how each task began and what it was at the end of that time. It keeps the last state of a removed task until the
/// task has been gone for that long, and that of an open task that nobody deleted on purpose until you name it with --forget. It
/// archives lists that nobody has touched for that long, and removes old jobs, notices and messages that were acknowledged, todo lists of
/// sessions that are over, and texts that `edit` could not save.
///
/// If the clock has moved by more than a month since the last tidying, or back, gc asks whether it is right before anything goes because
/// it is old. Without a terminal it leaves all of that as it is, and says so; --yes vouches for the clock.
#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// Show what would be removed and how many bytes that gives, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask: the clock is right, and all the time that it says has passed
    #[arg(short, long)]
    yes: bool,

    /// Also forget these tasks of the list, which were open when they vanished, once they have been gone for long enough
    #[arg(long, value_name = "IDS", value_parser = parse_id, value_delimiter = ',', num_args = 1..)]
    forget: Vec<TaskId>,
}

impl Gc {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let removed = litter::sweep(context, self.dry_run)?;
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
                (tidied, swept::sweep(context, &household, &count, self.dry_run)?)
            }
            None => (Vec::new(), Swept::default()),
        };
        let thinned = self.thin_out(context, output)?;
        // What is on this machine was tidied all the same.
        let exit = if thinned.is_some() { Exit::Done } else { Exit::CouldNot };
        let shared = thinned.unwrap_or_default();
        let doubt = doubt.or(shared.doubt);
        if let Some(doubt) = doubt {
            output.warn(&format!(
                "nothing goes because it is old: {doubt}; if the clock is right, use `taskyard gc --yes`"
            ))?;
        }
        for tidied in &tidied {
            if let Err(error) = &tidied.done {
                output.warn(&format!("the journal in `{}` is left alone: {error}", tidied.memory.sidecar.display()))?;
            }
        }
        for task in tidied_lists::still_kept(&self.forget, &tidied, &shared) {
            output.warn(&format!(
                "task {task} is not forgotten: it is there, was never there, or has not been gone for long enough"
            ))?;
        }
        let journals: Vec<_> = tidied.iter().filter_map(|tidied| Some((tidied, tidied_lists::told(tidied)?))).collect();
        let bytes = swept.bytes + journals.iter().map(|(_, done)| tidied_lists::freed(done)).sum::<u64>();
        if output.is_json() {
            let store = context.address()?.to_string();
            let journals = journals.iter().map(|(tidied, done)| tidied_lists::answer(tidied, done));
            let shared_journals = shared.lists.iter().map(|thinned| tidied_lists::shared_answer(&store, thinned));
            output.document(Tidied {
                removed: removed.iter().filter_map(|(list, found)| litter::answer(list, found)).collect(),
                journals: journals.chain(shared_journals).collect(),
                jobs: swept.jobs.iter().map(|job| job.id.as_str()).collect(),
                notices: swept.notices + shared.notices,
                messages: swept.messages + shared.messages,
                todos: swept.todos.iter().map(|todo| todo.path.display().to_string()).collect(),
                edits: swept.edits.iter().map(|text| text.path.display().to_string()).collect(),
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
        let mut lines: Vec<Line> = removed.iter().filter_map(|(list, found)| litter::line(list, found, verb)).collect();
        lines.extend(journals.iter().map(|(tidied, done)| tidied_lists::line(tidied, done, self.dry_run)));
        lines.extend(shared.lists.iter().map(|thinned| tidied_lists::shared_line(thinned, self.dry_run)));
        let texts = swept.edits.iter().filter(|text| text.path.extension().is_some_and(|end| end == "md")).count();
        for (count, one, many) in [
            (swept.jobs.len(), "job that ended", "jobs that ended"),
            (swept.notices + shared.notices, "notice that was heard", "notices that were heard"),
            (swept.messages + shared.messages, "message that was acknowledged", "messages that were acknowledged"),
            (swept.todos.len(), "todo list of a session that is over", "todo lists of sessions that are over"),
            (texts, "text of an edit that nobody went on with", "texts of edits that nobody went on with"),
        ] {
            if count > 0 {
                lines.push(Line::plain(&format!("{verb} {}", tidied_lists::counted(count as u64, one, many))));
            }
        }
        if lines.is_empty() {
            lines.push(Line::plain("Nothing to tidy"));
        } else if bytes > 0 {
            let gives = if self.dry_run { "That would give back" } else { "That gave back" };
            lines.push(Line::plain(&format!("{gives} {}", tidied_lists::size(bytes))));
        }
        lines.iter().try_for_each(|line| output.say(line))?;
        Ok(exit)
    }

    /// Reads the clock, and asks if it is in doubt.
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

    /// Thins out the journals of a store that many machines share; `None`, with a warning, if the store does not let this user.
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
                output.warn(&format!("the journals in `{}` are left alone: {error}", context.address()?))?;
                Ok(None)
            }
            Err(error) => Err(taskyard::Error::from(error).into()),
        }
    }

    /// Returns the tasks that were named, and where we remember them.
    fn named(&self, context: &Context) -> Result<Named, Problem> {
        if self.forget.is_empty() {
            return Ok(Named::default());
        }
        let yard = context.yard()?;
        let sidecar = yard.store().care().and_then(|care| care.memory_of(yard.list_id()));
        Ok(Named { sidecar, tasks: self.forget.iter().map(|id| TaskId::stored(id.file_stem())).collect() })
    }
}

/// Asks whether a clock in doubt is right; without a terminal it is not.
fn ask(doubt: ClockDoubt, output: &mut Output) -> Result<bool, Problem> {
    let question = format!("{doubt}; is it right, so that what is old by it may be removed?");
    Ok(!output.is_json() && output.ask(&question)?)
}
