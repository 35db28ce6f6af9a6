//! `taskyard doctor`

use clap::Args;
use taskyard::answers::{shared_list, unknown_settings};
use taskyard::core::answers::maintenance::{self as answers, Findings, Mended};
use taskyard::core::render::{Line, Tone};
use taskyard::operations::{Checkup, Finding, FindingCode};

use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Find what is wrong with the list, and mend it
///
/// Looks for edges that only one side knows of or that lead nowhere, circles, tasks that the client cannot see, files
/// that cannot be read, ids that are given twice, abandoned locks and temporary files, a mark from which numbers would
/// be given out again, a list that another program emptied, changes that other programs unknowingly reverted, tasks
/// that they replaced by others, a damaged journal or one that a newer Taskyard wrote, owners who show no life, jobs
/// and team members whose process is gone, and keys of taskyard.toml that mean nothing. Each finding says what it means
/// and what would mend it. Exits 3 when it found something. A journal that is larger than `[journal] max_size`, records
/// of lists that are gone, a clock that has jumped, inotify instances that run out, and repositories that share the list
/// are warnings: nothing is wrong yet.
///
/// What --fix does to tasks is one revision: `taskyard undo` takes it back.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Show what would be mended, and ask; with --yes mend it
    #[arg(long)]
    pub(crate) fix: bool,

    /// Also tell of tasks without an `activeForm`
    #[arg(long)]
    pub(crate) lint: bool,

    /// Mend without asking
    #[arg(long, requires = "fix")]
    pub(crate) yes: bool,
}

impl Doctor {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        context.do_without_newer();
        let yard = context.yard()?;
        context.expect_damage();
        // Without a place for what we remember there are no jobs and no teams, and tasks all the same.
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
        let shared = shared_list(yard.list_id(), &context.repositories_of(yard.list_id())?);
        let mendable = findings.iter().filter(|finding| finding.fix.is_some()).count();
        if !output.is_json() {
            tell(&findings, &settings, shared.as_ref(), self.fix, output)?;
        }
        let agreed = self.fix && mendable > 0 && (self.yes || self.ask(mendable, output)?);
        if !agreed {
            if output.is_json() {
                output.document(Findings {
                    findings: findings.iter().map(Into::into).chain(settings.iter().cloned()).chain(shared).collect(),
                })?;
            }
            let is_well = findings.iter().all(|finding| finding.code.is_warning());
            return Ok(if is_well && settings.is_empty() { Exit::Done } else { Exit::Refused });
        }
        let mended = checkup.mend(&findings)?;
        if output.is_json() {
            output.document(Mended {
                findings: mended.left.iter().map(Into::into).chain(settings.iter().cloned()).chain(shared).collect(),
                fixed: mended.fixed.iter().map(Into::into).collect(),
                revision: mended.revision.map(|revision| revision.0),
            })?;
        } else {
            output.say(&Line::new().with(Tone::Done, &format!("Mended {}", things(mended.fixed.len()))))?;
            if let Some(revision) = mended.revision {
                crate::displays::answers::way_back(revision, output)?;
            }
            for finding in mended.left.iter().filter(|finding| !finding.code.is_warning()) {
                output.warn(&format!("left as it is: {}", finding.message))?;
            }
        }
        let is_well = mended.left.iter().all(|finding| finding.code.is_warning());
        Ok(if is_well && settings.is_empty() { Exit::Done } else { Exit::Refused })
    }

    fn ask(&self, mendable: usize, output: &mut Output) -> Result<bool, Problem> {
        if output.is_json() {
            return Ok(false);
        }
        let agreed = output.ask(&format!("Mend {}?", things(mendable)))?;
        if !agreed {
            let line = Line::new().with(Tone::Dim, "mend with ").with(Tone::Hint, "taskyard doctor --fix --yes");
            output.say(&line)?;
        }
        Ok(agreed)
    }
}

fn tell(
    findings: &[Finding],
    settings: &[answers::Finding],
    shared: Option<&answers::Finding>,
    fixing: bool,
    output: &mut Output,
) -> Result<(), Problem> {
    if findings.is_empty() && settings.is_empty() && shared.is_none() {
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
    for finding in settings.iter().chain(shared) {
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
    output.say(&Line::new().with(Tone::Dim, &format!("Found {found}; {mendable} can be mended")))?;
    if mendable > 0 && !fixing {
        output.advise("mend with `taskyard doctor --fix`")?;
    }
    let is_newer = |finding: &Finding| finding.code == FindingCode::NewerFormat;
    if findings.iter().any(is_newer) {
        output.advise("use the newer taskyard: this one changes nothing there")?;
    } else if wrong.clone().any(|finding| finding.fix.is_none()) {
        output.advise("what has no fix needs a person: correct the file, or move it out of the list's directory")?;
    }
    Ok(())
}

fn things(count: usize) -> String {
    if count == 1 { "1 thing".to_owned() } else { format!("{count} things") }
}
