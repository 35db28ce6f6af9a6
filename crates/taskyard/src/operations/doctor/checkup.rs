//! Examines a list with its surroundings: jobs, teams, disk space and inotify limits.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;
use std::{fmt, fs};

use taskyard_core::rules::health::{FindingCode, OWNER_SILENCE};
use taskyard_core::rules::history::retention::ClockDoubt;
use taskyard_core::{Job, ListId, Team};

#[cfg(feature = "failpoints")]
use crate::failpoint::inotify_instances;
use crate::operations::doctor::findings::{Finding, Fix};
use crate::operations::doctor::mending_lists::Mended;
use crate::teams::{Mended as TeamMended, TeamTrouble, Teams};
use crate::{Error, Yard};

/// The checks of this machine's jobs that a checkup needs. Implemented by `taskyard_jobs::Jobs`.
pub trait JobChecks: fmt::Debug {
    /// Returns the jobs recorded as running whose process is gone. Changes nothing.
    fn without_process(&self) -> Result<Vec<Job>, Error>;

    /// Stops what is left of such jobs, records them as lost, and returns them.
    fn end_without_process(&self) -> Result<Vec<Job>, Error>;
}

/// A list, and which of its surroundings to examine with it.
#[derive(Clone, Copy, Debug)]
pub struct Checkup<'a> {
    yard: &'a Yard,
    jobs: Option<&'a dyn JobChecks>,
    teams: Option<&'a Teams>,
    owner_silence: Duration,
    journal_limit: Option<u64>,
    clock_doubt: Option<ClockDoubt>,
    lints: bool,
}

impl<'a> Checkup<'a> {
    /// Returns a checkup of a list alone.
    pub fn of(yard: &'a Yard) -> Self {
        Self {
            yard,
            jobs: None,
            teams: None,
            owner_silence: OWNER_SILENCE,
            journal_limit: None,
            clock_doubt: None,
            lints: false,
        }
    }

    /// Adds findings about possible improvements.
    #[must_use]
    pub fn with_lint(self) -> Self {
        Self { lints: true, ..self }
    }

    /// Adds the jobs of this machine.
    #[must_use]
    pub fn with_jobs(self, jobs: &'a dyn JobChecks) -> Self {
        Self { jobs: Some(jobs), ..self }
    }

    /// Adds the teams.
    #[must_use]
    pub fn with_teams(self, teams: &'a Teams) -> Self {
        Self { teams: Some(teams), ..self }
    }

    /// Sets how long owners without a lease may be inactive. The default is a day.
    #[must_use]
    pub fn with_owner_silence(self, owner_silence: Duration) -> Self {
        Self { owner_silence, ..self }
    }

    /// Sets the journal size in bytes above which it is reported.
    #[must_use]
    pub fn with_journal_limit(self, bytes: u64) -> Self {
        Self { journal_limit: Some(bytes), ..self }
    }

    /// Reports that cleanup is suspended because the clock is in doubt. No owner is then reported as stale.
    #[must_use]
    pub fn with_clock_doubt(self, clock_doubt: Option<ClockDoubt>) -> Self {
        Self { clock_doubt, ..self }
    }

    /// Examines everything without changing anything.
    pub fn examine(&self) -> Result<Vec<Finding>, Error> {
        let looked_over = self.yard.look_over()?;
        let stale_owners = match self.clock_doubt {
            Some(_) => Ok(Vec::new()),
            None => self.yard.stale_owners(&looked_over, self.teams, self.owner_silence),
        };
        let mut findings = looked_over.findings;
        if self.lints {
            findings.extend(self.yard.without_active_form(&looked_over.tasks));
        }
        let owners = known(stale_owners, &mut findings)?;
        findings.extend(owners);
        let jobs = self.jobs.map_or(Ok(Vec::new()), JobChecks::without_process);
        let jobs = known(jobs, &mut findings)?;
        findings.extend(jobs.iter().map(Finding::of_job));
        let troubles = self.teams.map_or(Ok(Vec::new()), |teams| teams.find_trouble().map_err(Error::from));
        let troubles = known(troubles, &mut findings)?;
        findings.extend(troubles.into_iter().map(Finding::of_team));
        findings.extend(self.surroundings()?);
        Ok(findings)
    }

    /// Returns findings about disk space used by our records, the clock, and kernel limits.
    fn surroundings(&self) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        if let Some(care) = self.yard.store().care() {
            let size = care.journal_size(self.yard.list_id());
            findings.extend(self.journal_limit.and_then(|limit| large_journal(size, limit)));
            // The list itself is covered by the examination of its journal.
            let others = care.gone_memories()?.into_iter().filter(|(list, _)| list != self.yard.list_id());
            findings.extend(gone_lists(&others.collect::<Vec<_>>()));
        }
        findings.extend(self.clock_doubt.map(clock_in_doubt));
        findings.extend(InotifyUse::of_this_user().and_then(few_watches));
        Ok(findings)
    }

    /// Repairs findings that still hold.
    pub fn mend(&self, findings: &[Finding]) -> Result<Mended, Error> {
        let is_around =
            |finding: &&Finding| matches!(finding.fix, Some(Fix::EndJob(_) | Fix::LetGo { .. } | Fix::MendTeam(_)));
        let (around, of_list): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(is_around);
        let of_list: Vec<Finding> = of_list.into_iter().cloned().collect();
        // Members that left come first, because that releases their tasks.
        let lost = self.end_jobs(&around)?;
        let pruned = self.let_go(&around)?;
        let mut mended = self.yard.mend(&of_list)?;
        for finding in around {
            let is_fixed = match &finding.fix {
                Some(Fix::EndJob(id)) => lost.iter().any(|job| job.id == *id),
                Some(Fix::LetGo { team, member }) => {
                    pruned.iter().any(|(from, name)| from.name.as_str() == team && name == member)
                }
                Some(Fix::MendTeam(trouble)) => self.mend_team(trouble)?,
                _ => false,
            };
            mended.note(finding, is_fixed);
        }
        Ok(mended)
    }

    fn end_jobs(&self, findings: &[&Finding]) -> Result<Vec<Job>, Error> {
        let is_asked = findings.iter().any(|finding| matches!(finding.fix, Some(Fix::EndJob(_))));
        self.jobs.filter(|_| is_asked).map_or(Ok(Vec::new()), JobChecks::end_without_process)
    }

    fn mend_team(&self, trouble: &TeamTrouble) -> Result<bool, Error> {
        let mended = self.teams.map(|teams| teams.mend(trouble)).transpose()?;
        Ok(matches!(mended, Some(TeamMended::Whole { .. } | TeamMended::SetAside | TeamMended::WasWhole)))
    }

    fn let_go(&self, findings: &[&Finding]) -> Result<Vec<(Team, String)>, Error> {
        let mut gone = Vec::new();
        let Some(teams) = self.teams else { return Ok(gone) };
        for team in teams.list()? {
            let is_asked = |finding: &&Finding| matches!(&finding.fix, Some(Fix::LetGo { team: of, .. }) if of == team.name.as_str());
            if findings.iter().any(is_asked) {
                let pruned = self.yard.prune_team(teams, &team)?;
                gone.extend(pruned.into_iter().map(|pruned| (team.clone(), pruned.name)));
            }
        }
        Ok(gone)
    }
}

/// Returns what was found. If a newer Taskyard wrote the database, returns nothing and reports that once.
fn known<T>(found: Result<Vec<T>, Error>, findings: &mut Vec<Finding>) -> Result<Vec<T>, Error> {
    let error = match found {
        Err(error) if error.newer_database().is_some() => error,
        found => return found,
    };
    let newer = error.newer_database().map(|(path, format)| Finding::of_newer(path, format));
    findings.extend(newer.filter(|newer| !findings.contains(newer)));
    Ok(Vec::new())
}

pub(super) fn large_journal(size: u64, limit: u64) -> Option<Finding> {
    let message = || format!("the journal of the list takes {}; the limit is {}", in_words(size), in_words(limit));
    let file = || Some("journal.sqlite".to_owned());
    (size > limit).then(|| Finding::of_surroundings(FindingCode::LargeJournal, file(), message()))
}

/// Returns a finding for the disk space used by records of lists that are gone.
pub(super) fn gone_lists(gone: &[(ListId, u64)]) -> Option<Finding> {
    let size = in_words(gone.iter().map(|(_, size)| size).sum());
    let message = match gone {
        [] => return None,
        [(list, _)] => format!("list {list} is gone, and its history takes {size}"),
        [(list, _), others @ ..] => {
            format!("list {list} and {} more are gone, and their history takes {size}", others.len())
        }
    };
    Some(Finding::of_surroundings(FindingCode::GoneLists, None, message))
}

/// Returns the finding that cleanup is suspended because the clock has jumped.
pub(super) fn clock_in_doubt(doubt: ClockDoubt) -> Finding {
    let message = format!("{doubt}; `taskyard gc` asks whether the clock is right");
    Finding::of_surroundings(FindingCode::ClockInDoubt, None, message)
}

/// Returns a finding if this user's inotify instances are nearly used up.
pub(super) fn few_watches(used: InotifyUse) -> Option<Finding> {
    let InotifyUse { instances, limit } = used;
    let message = || {
        format!(
            "this user has {instances} of {limit} inotify instances in use (fs.inotify.max_user_instances), as far as /proc shows"
        )
    };
    used.is_near_limit().then(|| Finding::of_surroundings(FindingCode::FewWatches, None, message()))
}

fn in_words(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..0x10_0000 => format!("{} KB", tenths(1 << 10)),
        0x10_0000..0x4000_0000 => format!("{} MB", tenths(1 << 20)),
        _ => format!("{} GB", tenths(1 << 30)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InotifyUse {
    /// The instances of processes that this process may inspect.
    pub(super) instances: u64,
    /// The kernel's limit for each user, `fs.inotify.max_user_instances`.
    pub(super) limit: u64,
}

impl InotifyUse {
    /// Counts the instances of this process's user; `None` if the system does not report them.
    pub(super) fn of_this_user() -> Option<Self> {
        let found = Self::in_proc(Path::new("/proc"), rustix::process::getuid().as_raw());
        // Other processes must not affect a test.
        #[cfg(feature = "failpoints")]
        let found = found.map(|found| Self { instances: inotify_instances().unwrap_or(0), ..found });
        found
    }

    /// Returns whether at least nine tenths are in use.
    pub(super) fn is_near_limit(&self) -> bool {
        self.instances * 10 >= self.limit * 9
    }

    fn in_proc(proc: &Path, user: u32) -> Option<Self> {
        let limit = fs::read_to_string(proc.join("sys/fs/inotify/max_user_instances")).ok()?.trim().parse().ok()?;
        let processes = fs::read_dir(proc).ok()?.flatten();
        let of_user = processes
            .filter(|process| process.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()))
            .filter(|process| process.metadata().is_ok_and(|found| found.uid() == user));
        let instances = of_user.map(|process| count(&process.path().join("fd"))).sum();
        Some(Self { instances, limit })
    }
}

/// Counts the descriptors that refer to inotify.
fn count(descriptors: &Path) -> u64 {
    let links = fs::read_dir(descriptors).into_iter().flatten().flatten();
    let is_inotify =
        |link: &fs::DirEntry| fs::read_link(link.path()).is_ok_and(|to| to == Path::new("anon_inode:inotify"));
    links.filter(is_inotify).count() as u64
}

#[cfg(test)]
mod tests {
    use taskyard_core::ListId;

    use super::InotifyUse;
    use super::{few_watches, gone_lists, in_words, large_journal};

    #[test]
    fn a_journal_is_told_of_once_it_is_larger_than_it_may_get() {
        assert_eq!(large_journal(1 << 20, 1 << 20), None);
        let told = large_journal((5 << 20) + 1, 1 << 20).unwrap();
        assert_eq!(told.message, "the journal of the list takes 5.0 MB; the limit is 1.0 MB");
    }

    #[test]
    fn lists_that_are_gone_are_told_of_together() {
        let list = |name: &str| ListId::new(name).unwrap();
        assert_eq!(gone_lists(&[]), None);
        let told = |gone: &[(ListId, u64)]| gone_lists(gone).unwrap().message;
        assert_eq!(told(&[(list("a"), 10)]), "list a is gone, and its history takes 10 bytes");
        let gone = [(list("a"), 1000), (list("b"), 1048), (list("c"), 512)];
        assert_eq!(told(&gone), "list a and 2 more are gone, and their history takes 2.5 KB");
    }

    #[test]
    fn watches_are_told_of_when_nine_tenths_are_in_use() {
        assert_eq!(few_watches(InotifyUse { instances: 115, limit: 128 }), None);
        let told = few_watches(InotifyUse { instances: 116, limit: 128 }).unwrap();
        assert!(told.message.contains("116 of 128"), "{}", told.message);
        assert!(few_watches(InotifyUse { instances: 0, limit: 0 }).is_some());
    }

    #[test]
    fn sizes_are_told_in_the_largest_unit_that_fits() {
        assert_eq!(
            [0, 1023, 1024, 1536 << 10, 3 << 30].map(in_words),
            ["0 bytes", "1023 bytes", "1.0 KB", "1.5 MB", "3.0 GB"]
        );
    }
}

#[cfg(test)]
mod inotify_use_tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::InotifyUse;

    #[test]
    fn instances_of_the_users_processes_are_counted() {
        let proc = tempfile::tempdir().unwrap();
        let inotify = proc.path().join("sys/fs/inotify");
        fs::create_dir_all(&inotify).unwrap();
        fs::write(inotify.join("max_user_instances"), "128\n").unwrap();
        for (process, links) in
            [("7", ["anon_inode:inotify", "/dev/null"]), ("812", ["anon_inode:inotify", "anon_inode:inotify"])]
        {
            let descriptors = proc.path().join(process).join("fd");
            fs::create_dir_all(&descriptors).unwrap();
            for (number, link) in links.iter().enumerate() {
                symlink(link, descriptors.join(number.to_string())).unwrap();
            }
        }
        // An entry that is not a process is ignored.
        fs::create_dir_all(proc.path().join("self/fd")).unwrap();
        symlink("anon_inode:inotify", proc.path().join("self/fd/0")).unwrap();
        let user = rustix::process::getuid().as_raw();
        assert_eq!(InotifyUse::in_proc(proc.path(), user), Some(InotifyUse { instances: 3, limit: 128 }));
        assert_eq!(InotifyUse::in_proc(proc.path(), user + 1), Some(InotifyUse { instances: 0, limit: 128 }));
        assert_eq!(InotifyUse::in_proc(&proc.path().join("nowhere"), user), None);
    }
}
