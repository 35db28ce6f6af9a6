//! `taskyard doctor` and `backup`

use std::path::PathBuf;

use clap::Args;
use taskyard::answers::{shared_list, unknown_settings};
use taskyard::backup::{BackUp, BackedUp, BackedUpList, BackedUpTeam, Overwriting, back_up};
use taskyard::core::answers::answer_words::Severity;
use taskyard::core::answers::maintenance_answers as answers;
use taskyard::core::answers::maintenance_answers::{Findings, Mended};
use taskyard::core::render::{Line, Tone};
use taskyard::operations::{Checkup, Finding, FindingCode};
use taskyard_jobs::worktrees::Explanation;

use crate::commands::import_export::progress_bar;
use crate::context::Context;
use crate::exit::{Exit, Problem};
use crate::output::Output;
use crate::repository::git_failed;

/// Find and repair defects of the list
///
/// Looks for one-sided and dangling dependencies, dependency cycles, tasks that the client cannot see, unreadable
/// files, duplicate ids, abandoned locks and temporary files, a mark from which numbers would be reused, a list that
/// another program emptied, changes that other programs reverted with stale data, tasks that they replaced, a damaged
/// journal or one that a newer Taskyard wrote, owners with no recent activity, jobs and team members whose process is
/// gone, and unknown keys of taskyard.toml. Each finding says what it means and how it would be repaired. Exits with 3
/// if it found something. A journal that is larger than `[journal] max_size`, records of lists that are gone, a clock
/// that has jumped, inotify instances that run out, repositories that share the list, and worktrees that differ from
/// what their tasks record are warnings: nothing is wrong yet.
///
/// --fix changes tasks in one revision, which `taskyard undo` reverts.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Repair what can be repaired, after asking
    #[arg(long)]
    pub(crate) fix: bool,

    /// Also report tasks without an `activeForm`
    #[arg(long)]
    pub(crate) lint: bool,

    /// Repair without asking
    #[arg(long, requires = "fix")]
    pub(crate) yes: bool,
}

impl Doctor {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        context.do_without_newer();
        let yard = context.yard()?;
        context.expect_damage();
        // Without a data directory there are no jobs and teams, but tasks still work.
        let (jobs, teams) = (context.jobs().ok(), context.teams().ok());
        let mut checkup = Checkup::of(&yard);
        if let Some(jobs) = &jobs {
            checkup = checkup.with_jobs(jobs);
        }
        if let Some(teams) = &teams {
            checkup = checkup.with_teams(teams);
        }
        if let Some(silence) = context.config()?.stale_owner() {
            checkup = checkup.with_owner_silence(silence);
        }
        checkup = checkup.with_journal_limit(context.config()?.max_size());
        checkup = checkup.with_clock_doubt(context.household()?.and_then(|household| household.clock_doubt()));
        if self.lint {
            checkup = checkup.with_lint();
        }
        let findings = checkup.examine()?;
        let settings = unknown_settings(context.config()?);
        let mut others: Vec<answers::Finding> =
            shared_list(yard.list_id(), &context.repositories_of(yard.list_id())?).into_iter().collect();
        others.extend(self.worktrees(context, output)?);
        let mendable = findings.iter().filter(|finding| finding.fix.is_some()).count();
        if !output.is_json() {
            tell(&findings, &settings, &others, self.fix, output)?;
        }
        let agreed = self.fix && mendable > 0 && (self.yes || self.ask(mendable, output)?);
        if !agreed {
            if output.is_json() {
                output.document(Findings {
                    findings: findings.iter().map(Into::into).chain(settings.iter().cloned()).chain(others).collect(),
                })?;
            }
            let is_well = findings.iter().all(|finding| finding.code.is_warning());
            return Ok(if is_well && settings.is_empty() { Exit::Done } else { Exit::Refused });
        }
        let mended = checkup.mend(&findings)?;
        if output.is_json() {
            output.document(Mended {
                findings: mended.left.iter().map(Into::into).chain(settings.iter().cloned()).chain(others).collect(),
                fixed: mended.fixed.iter().map(Into::into).collect(),
                revision: mended.revision.map(|revision| revision.0),
            })?;
        } else {
            output.say(&Line::new().with(Tone::Done, &format!("Mended {}", things(mended.fixed.len()))))?;
            if let Some(revision) = mended.revision {
                crate::displays::way_back(revision, output)?;
            }
            for finding in mended.left.iter().filter(|finding| !finding.code.is_warning()) {
                output.warn(&format!("not changed: {}", finding.message))?;
            }
        }
        let is_well = mended.left.iter().all(|finding| finding.code.is_warning());
        Ok(if is_well && settings.is_empty() { Exit::Done } else { Exit::Refused })
    }

    /// Reports worktrees that do not match their tasks; with `--fix`, completes interrupted moves.
    fn worktrees(&self, context: &Context, output: &mut Output) -> Result<Vec<answers::Finding>, Problem> {
        let Some(repository) = context.repository_with_worktrees()? else { return Ok(Vec::new()) };
        if self.fix {
            for path in repository.finish(context.cancel()).map_err(git_failed)? {
                output.note(&format!("finished the move of `{}`", path.display()))?;
            }
        }
        let yard = context.yard()?;
        let tasks = yard.store().read(yard.list_id()).and_then(|list| list.tasks()).map_err(taskyard::Error::from)?;
        let explained = repository.explain(yard.list_id(), &tasks).map_err(git_failed)?;
        let finding = |explained: Explanation| answers::Finding {
            code: explained.code,
            task: explained.task.as_ref().map(ToString::to_string),
            file: Some(explained.path.display().to_string()),
            message: explained.message,
            means: explained.means,
            fix: explained.can_be_finished.then(|| "finish or revert the move".to_owned()),
            severity: Some(Severity::Warning),
            lost: None,
        };
        Ok(explained.into_iter().map(finding).collect())
    }

    fn ask(&self, mendable: usize, output: &mut Output) -> Result<bool, Problem> {
        if output.is_json() {
            return Ok(false);
        }
        let agreed = output.ask(&format!("Mend {}?", things(mendable)))?;
        if !agreed {
            let line = Line::new().with(Tone::Dim, "repair with ").with(Tone::Hint, "taskyard doctor --fix --yes");
            output.say(&line)?;
        }
        Ok(agreed)
    }
}

fn tell(
    findings: &[Finding],
    settings: &[answers::Finding],
    others: &[answers::Finding],
    fixing: bool,
    output: &mut Output,
) -> Result<(), Problem> {
    if findings.is_empty() && settings.is_empty() && others.is_empty() {
        output
            .say(&Line::new().with(Tone::Done, output.look().either("✔ ", "")).with(Tone::Plain, "Nothing is wrong"))?;
        return Ok(());
    }
    let mut codes: Vec<FindingCode> = Vec::new();
    for finding in findings {
        if !codes.contains(&finding.code) {
            codes.push(finding.code);
        }
    }
    for code in codes {
        let mut line = Line::new().with(Tone::Warning, code.as_str()).with(Tone::Plain, "  ");
        line.push(Tone::Dim, code.meaning());
        output.line(&line)?;
        for finding in findings.iter().filter(|finding| finding.code == code) {
            let mut line = Line::new().with(Tone::Plain, "  ");
            if let Some(file) = &finding.file {
                line.push(Tone::Dim, &format!("{file}: "));
            }
            line.push(Tone::Plain, &finding.message);
            output.line(&line)?;
            if let Some(fix) = &finding.fix {
                output.line(&Line::new().with(Tone::Dim, "    fix: ").with(Tone::Plain, &fix.describe()))?;
            }
        }
    }
    for finding in settings.iter().chain(others) {
        let mut line = Line::new().with(Tone::Warning, finding.code).with(Tone::Plain, "  ");
        line.push(Tone::Plain, &finding.message);
        output.line(&line)?;
    }
    let mendable = findings.iter().filter(|finding| finding.fix.is_some()).count();
    let wrong = findings.iter().filter(|finding| !finding.code.is_warning());
    let found = things(wrong.clone().count() + settings.len());
    if wrong.clone().next().is_none() && settings.is_empty() {
        output.say(&Line::new().with(Tone::Dim, "Nothing is wrong yet"))?;
        return Ok(());
    }
    output.say(&Line::new().with(Tone::Dim, &format!("Found {found}; {mendable} can be repaired")))?;
    if mendable > 0 && !fixing {
        output.advise("repair with `taskyard doctor --fix`")?;
    }
    let is_newer = |finding: &Finding| finding.code == FindingCode::NewerFormat;
    if findings.iter().any(is_newer) {
        output.advise("upgrade taskyard: this version changes nothing there")?;
    } else if wrong.clone().any(|finding| finding.fix.is_none()) {
        output.advise("the rest has no automatic fix: correct the file, or move it out of the list's directory")?;
    }
    Ok(())
}

fn things(count: usize) -> String {
    if count == 1 { "1 thing".to_owned() } else { format!("{count} things") }
}

/// Back up every list of the store with its history, and the teams
///
/// A path that ends with `.tar` becomes one archive, any other one a folder. Each list is copied as it is at one
/// moment, even while others write to it. The backup appears when it is complete, and only you can read it. Restore it
/// with `taskyard restore --from PATH`. Of a store in PostgreSQL only the lists are copied; they can be restored to
/// files, too.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The archive (`….tar`) or folder to write
    path: PathBuf,

    /// Replace an existing backup
    #[arg(long)]
    replace: bool,
}

impl Backup {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let place = context.directory()?.join(&self.path);
        let store = context.store()?;
        let bar = progress_bar(output, "lists copied");
        // When asked to stop, the process removes what it has created.
        let _attended = context.cancel().attend();
        let what = BackUp {
            store: &*store,
            address: context.address()?,
            places: context.places()?,
            place: &place,
            cancel: context.cancel(),
            overwriting: if self.replace { Overwriting::Replacing } else { Overwriting::Refused },
        };
        let made = back_up(&what, &mut |done, of| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        let made = made?;
        let exit = if made.manifest.is_complete() { Exit::Done } else { Exit::CouldNot };
        if output.is_json() {
            output.document(answer(&made, &place.display().to_string()))?;
            return Ok(exit);
        }
        let manifest = &made.manifest;
        let mut line = Line::plain(&format!(
            "Backed up {} and {} to ",
            count(manifest.lists.len(), "list"),
            count(manifest.teams.len(), "team")
        ));
        line.push(Tone::Strong, &self.path.display().to_string());
        line.push(Tone::Dim, &format!("  {}", size(made.bytes)));
        output.say(&line)?;
        for list in &manifest.lists {
            if let Some(why) = &list.journal_problem {
                output.warn(&format!("`{}` is incomplete in the backup: {why}", list.list))?;
            }
            for (name, why) in &list.left_out {
                output.warn(&format!("`{name}` of `{}` is not in the backup: {why}", list.list))?;
            }
        }
        for team in &manifest.teams {
            for (name, why) in &team.left_out {
                output.warn(&format!("`{name}` of team `{}` is not in the backup: {why}", team.team))?;
            }
        }
        Ok(exit)
    }
}

fn answer<'a>(made: &'a BackedUp, path: &'a str) -> answers::BackedUp<'a> {
    let manifest = &made.manifest;
    let list = |list: &'a BackedUpList| answers::BackedUpList {
        list: &list.list,
        revision: list.revision,
        files: list.files,
        history: list.journal,
        problem: list.journal_problem.as_deref(),
        left_out: &list.left_out,
    };
    let team = |team: &'a BackedUpTeam| answers::BackedUpTeam {
        team: &team.team,
        files: team.files,
        left_out: &team.left_out,
    };
    answers::BackedUp {
        path,
        archive: made.is_archive,
        bytes: made.bytes,
        at: &manifest.at,
        complete: manifest.is_complete(),
        lists: manifest.lists.iter().map(list).collect(),
        teams: manifest.teams.iter().map(team).collect(),
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Formats a size.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
