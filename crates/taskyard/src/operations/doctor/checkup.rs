//! Looking over a list and what belongs to it: the jobs of this machine, and the teams.

use std::fmt;
use std::time::Duration;

use taskyard_core::rules::health::OWNER_SILENCE;
use taskyard_core::rules::history::elapsed::ClockDoubt;
use taskyard_core::{Job, Team};

use super::finding::{Finding, Fix};
use super::inotify_use::InotifyUse;
use super::mending::Mended;
use super::surroundings::{clock_in_doubt, few_watches, gone_lists, large_journal};
use crate::teams::{Mended as TeamMended, TeamTrouble, Teams};
use crate::{Error, Yard};

/// What a checkup asks of the jobs of this machine. `taskyard_jobs::Jobs` answers it.
pub trait JobChecks: fmt::Debug {
    /// Returns the jobs that are recorded as running and whose process is gone. Changes nothing.
    fn without_process(&self) -> Result<Vec<Job>, Error>;

    /// Ends what is left of such jobs, records that they are lost, and returns them.
    fn end_without_process(&self) -> Result<Vec<Job>, Error>;
}

/// A list, and what around it is to be looked over with it.
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

    /// Adds what is not wrong, and could be better.
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

    /// Lets owners without a lease be silent for another time than a day.
    #[must_use]
    pub fn with_owner_silence(self, owner_silence: Duration) -> Self {
        Self { owner_silence, ..self }
    }

    /// Lets the journal be so large before it is told of.
    #[must_use]
    pub fn with_journal_limit(self, bytes: u64) -> Self {
        Self { journal_limit: Some(bytes), ..self }
    }

    /// Adds that tidying waits, because the clock is in doubt. No owner is stale by such a clock.
    #[must_use]
    pub fn with_clock_doubt(self, clock_doubt: Option<ClockDoubt>) -> Self {
        Self { clock_doubt, ..self }
    }

    /// Looks everything over, changing nothing.
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

    /// Returns what is worth knowing of the room that our memory takes, and of what the kernel will do.
    fn surroundings(&self) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        if let Some(care) = self.yard.store().care() {
            let size = care.journal_size(self.yard.list_id());
            findings.extend(self.journal_limit.and_then(|limit| large_journal(size, limit)));
            // What has become of the list itself is told by its journal.
            let others = care.gone_memories()?.into_iter().filter(|(list, _)| list != self.yard.list_id());
            findings.extend(gone_lists(&others.collect::<Vec<_>>()));
        }
        findings.extend(self.clock_doubt.map(clock_in_doubt));
        findings.extend(InotifyUse::of_this_user().and_then(few_watches));
        Ok(findings)
    }

    /// Mends what was found, as far as it is still so.
    pub fn mend(&self, findings: &[Finding]) -> Result<Mended, Error> {
        let is_around =
            |finding: &&Finding| matches!(finding.fix, Some(Fix::EndJob(_) | Fix::LetGo { .. } | Fix::MendTeam(_)));
        let (around, of_list): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(is_around);
        let of_list: Vec<Finding> = of_list.into_iter().cloned().collect();
        // First the members that left, for their tasks come back with them.
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

/// Returns what was found out; nothing where a newer Taskyard has what would tell, which is told instead, once.
fn known<T>(found: Result<Vec<T>, Error>, findings: &mut Vec<Finding>) -> Result<Vec<T>, Error> {
    let error = match found {
        Err(error) if error.newer_database().is_some() => error,
        found => return found,
    };
    let newer = error.newer_database().map(|(path, format)| Finding::of_newer(path, format));
    findings.extend(newer.filter(|newer| !findings.contains(newer)));
    Ok(Vec::new())
}
