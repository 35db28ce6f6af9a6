//! Looking over a list and what belongs to it: the jobs of this machine, and the teams.

use std::time::Duration;

use taskyard_core::rules::health::OWNER_SILENCE;
use taskyard_core::{Job, Team};

use super::finding::{Finding, Fix};
use super::mending::Mended;
use crate::jobs::Jobs;
use crate::teams::{Mended as TeamMended, TeamTrouble, Teams};
use crate::{Error, Yard};

/// A list, and what around it is to be looked over with it.
#[derive(Clone, Copy, Debug)]
pub struct Checkup<'a> {
    yard: &'a Yard,
    jobs: Option<&'a Jobs>,
    teams: Option<&'a Teams>,
    owner_silence: Duration,
}

impl<'a> Checkup<'a> {
    /// Returns a checkup of a list alone.
    pub fn of(yard: &'a Yard) -> Self {
        Self { yard, jobs: None, teams: None, owner_silence: OWNER_SILENCE }
    }

    /// Adds the jobs of this machine.
    #[must_use]
    pub fn with_jobs(self, jobs: &'a Jobs) -> Self {
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

    /// Looks everything over, changing nothing.
    pub fn examine(&self) -> Result<Vec<Finding>, Error> {
        let looked_over = self.yard.look_over()?;
        let stale_owners = self.yard.stale_owners(&looked_over, self.teams, self.owner_silence)?;
        let mut findings = looked_over.findings;
        findings.extend(stale_owners);
        for job in self.jobs.map(Jobs::without_process).transpose()?.unwrap_or_default() {
            findings.push(Finding::of_job(&job));
        }
        let troubles = self.teams.map(Teams::find_trouble).transpose()?.unwrap_or_default();
        findings.extend(troubles.into_iter().map(Finding::of_team));
        Ok(findings)
    }

    /// Mends what was found, as far as it is still so.
    pub fn mend(&self, findings: &[Finding]) -> Result<Mended, Error> {
        let is_around =
            |finding: &&Finding| matches!(finding.fix, Some(Fix::EndJob(_) | Fix::LetGo { .. } | Fix::MendTeam(_)));
        let (around, of_list): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(is_around);
        let of_list: Vec<Finding> = of_list.into_iter().cloned().collect();
        // First those who left, for their tasks come back with them.
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
        let jobs = self.jobs.filter(|_| is_asked);
        Ok(jobs.map(Jobs::reconcile).transpose()?.unwrap_or_default())
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
