//! Finding what is wrong with a list, and mending it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use taskyard_core::rules::health::{self, Defect, FindingCode};
use taskyard_core::rules::mending::{Mend, mend};
use taskyard_core::{Op, Revision, Task, TaskId};

use crate::store::{Litter, Problem, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// Something that is wrong with a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of defect it is.
    pub code: FindingCode,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// The name of the file it is about.
    pub file: Option<String>,
    /// What is wrong, in words.
    pub message: String,
    /// How it can be mended; none where only a person can.
    pub fix: Option<Fix>,
}

/// How a defect can be mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// By changing tasks.
    Mend(Mend),
    /// By removing what serves nobody.
    Sweep(Litter),
}

impl Fix {
    /// Says in words what would be done.
    pub fn describe(&self) -> String {
        match self {
            Self::Mend(mend) => mend.describe(),
            Self::Sweep(Litter::StaleLock { path, .. }) => format!("remove the lock `{}`", path.display()),
            Self::Sweep(Litter::Leftover { path }) => format!("remove `{}`", path.display()),
            Self::Sweep(Litter::BadMark { path, .. }) => format!("remove `{}`", path.display()),
        }
    }
}

/// What became of findings that were to be mended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// What was mended.
    pub fixed: Vec<Finding>,
    /// What was left: it has no fix, or is no longer as it was found.
    pub left: Vec<Finding>,
    /// The commit that changed tasks, where any changed.
    pub revision: Option<Revision>,
}

impl Yard {
    /// Looks the list over, changing nothing.
    pub fn examine(&self) -> Result<Vec<Finding>, Error> {
        let list = self.store().read(self.list_id())?;
        let problems = list.problems()?;
        let unreadable: HashSet<TaskId> = problems.iter().map(|problem| problem.task.clone()).collect();
        let mut findings: Vec<Finding> =
            health::examine(&list.tasks()?, &unreadable).into_iter().map(of_task).collect();
        findings.extend(problems.into_iter().map(of_problem));
        findings.extend(self.store().litter(self.list_id())?.into_iter().map(of_litter));
        Ok(findings)
    }

    /// Mends what was found, as far as it is still so.
    pub fn mend(&self, findings: &[Finding]) -> Result<Mended, Error> {
        let mut mended = Mended::default();
        let (of_tasks, others): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().partition(|finding| matches!(finding.fix, Some(Fix::Mend(_))));
        if !of_tasks.is_empty() {
            let outcome = self.transact(Op::Mend, |txn, _| Ok(mend_tasks(txn, &of_tasks)?))?;
            if let Outcome::Done(((fixed, left), event)) = outcome {
                mended = Mended { fixed, left, revision: event.map(|event| event.revision) };
            }
        }
        let litter: Vec<Litter> = others.iter().filter_map(|finding| finding.litter()).cloned().collect();
        let swept = if litter.is_empty() { litter } else { self.store().sweep(self.list_id(), &litter)? };
        for finding in others {
            let is_fixed = finding.litter().is_some_and(|litter| swept.contains(litter));
            if is_fixed { &mut mended.fixed } else { &mut mended.left }.push(finding.clone());
        }
        Ok(mended)
    }
}

impl Finding {
    fn litter(&self) -> Option<&Litter> {
        match &self.fix {
            Some(Fix::Sweep(litter)) => Some(litter),
            Some(Fix::Mend(_)) | None => None,
        }
    }
}

/// Stages the mends of findings that still hold, and splits them into those and the others.
fn mend_tasks(txn: &mut dyn Txn, findings: &[&Finding]) -> Result<(Vec<Finding>, Vec<Finding>), StoreError> {
    let unreadable: HashSet<TaskId> = txn.problems()?.into_iter().map(|problem| problem.task).collect();
    let tasks = txn.tasks()?;
    let now: HashSet<Mend> =
        health::examine(&tasks, &unreadable).into_iter().filter_map(|defect| defect.mend).collect();
    let mut tasks: BTreeMap<TaskId, Task> = tasks.into_iter().map(|task| (task.id.clone(), task)).collect();
    let mut changed: BTreeSet<TaskId> = BTreeSet::new();
    let (mut fixed, mut left) = (Vec::new(), Vec::new());
    for finding in findings {
        match &finding.fix {
            Some(Fix::Mend(how)) if now.contains(how) => {
                // One mend may have done another's work: the same edge can be wrong in two ways.
                changed.extend(mend(&mut tasks, how));
                fixed.push((*finding).clone());
            }
            _ => left.push((*finding).clone()),
        }
    }
    for id in &changed {
        if let Some(task) = tasks.remove(id) {
            txn.put(task)?;
        }
    }
    Ok((fixed, left))
}

fn of_task(defect: Defect) -> Finding {
    Finding {
        code: defect.code,
        file: Some(format!("{}.json", defect.task.file_stem())),
        task: Some(defect.task),
        message: defect.message,
        fix: defect.mend.map(Fix::Mend),
    }
}

fn of_problem(problem: Problem) -> Finding {
    Finding {
        code: FindingCode::Unreadable,
        file: file_name(&problem.path),
        message: format!("task {} cannot be read: {}", problem.task.as_str().escape_debug(), problem.why),
        task: Some(problem.task),
        fix: None,
    }
}

fn of_litter(litter: Litter) -> Finding {
    let (code, path, message) = match &litter {
        Litter::StaleLock { path, age } => {
            (FindingCode::StaleLock, path, format!("a lock whose holder has been silent for {} s", age.as_secs()))
        }
        Litter::Leftover { path } => (FindingCode::Leftover, path, "a temporary file that nobody needs".to_owned()),
        Litter::BadMark { path, found } => {
            (FindingCode::BadMark, path, format!("the mark holds `{}`, which is no number", found.escape_debug()))
        }
    };
    Finding { code, task: None, file: file_name(path), message, fix: Some(Fix::Sweep(litter)) }
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}
