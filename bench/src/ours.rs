//! Taskyard as the measurements use it: the command, and the library in a running process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard::core::{AgentName, ListId, Rules, Status};
use taskyard::operations::{Claim, NewTask};
use taskyard::store::{FileStore, FileStoreOptions, HistoryQuery};
use taskyard::{Outcome, Yard};

use crate::Failure;
use crate::corpus;
use crate::places::Home;
use crate::worker::Creator;

/// Returns the command `taskyard` on a home's list, untouched by the environment that the measurement is started in.
pub(crate) fn command(programs: &Path, home: &Home) -> Command {
    let mut command = Command::new(programs.join("taskyard"));
    command
        .env_clear()
        .env("HOME", home.root())
        .env("CLAUDE_CONFIG_DIR", home.root())
        .env("TASKYARD_HOME", home.data())
        .env("TASKYARD_LIST", Home::LIST)
        .env("TASKYARD_AGENT", "bench")
        .current_dir(home.root())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Opens the list of a home through the library.
pub(crate) fn yard(home: &Home, actor: &str) -> Result<Yard, Failure> {
    let options = FileStoreOptions { tasks: home.tasks(), data: Some(home.data()), rules: Rules::Strict };
    let actor = AgentName::new(actor)?;
    Ok(Yard::new(Arc::new(FileStore::open(options)), ListId::new(Home::LIST)?, actor))
}

/// Creates tasks through the library.
#[derive(Debug)]
pub(crate) struct LibraryCreator {
    yard: Yard,
    created: usize,
}

impl LibraryCreator {
    /// Opens the list of a home.
    pub(crate) fn open(home: &Home) -> Result<Self, Failure> {
        Ok(Self { yard: yard(home, "bench")?, created: 0 })
    }
}

impl Creator for LibraryCreator {
    fn create(&mut self) -> Result<Duration, Failure> {
        self.created += 1;
        let start = Instant::now();
        let outcome = self.yard.create(NewTask {
            subject: corpus::subject(self.created),
            description: corpus::DESCRIPTION.to_owned(),
            active_form: Some(corpus::active_form(self.created)),
            ..NewTask::default()
        })?;
        let elapsed = start.elapsed();
        match outcome {
            Outcome::Done(_) => Ok(elapsed),
            Outcome::Refused(refusal) => Err(format!("a plain task was refused: {refusal:?}").into()),
        }
    }
}

/// Takes what comes next from a list through the library, and finishes it.
#[derive(Debug)]
pub(crate) struct LibraryClaimer {
    yard: Yard,
}

impl LibraryClaimer {
    /// Opens the list of a home, under a name no other process has.
    pub(crate) fn open(home: &Home) -> Result<Self, Failure> {
        Ok(Self { yard: yard(home, &format!("bench-{}", std::process::id()))? })
    }

    /// Takes a task and finishes it; returns how long the taking took.
    pub(crate) fn take_and_finish(&self) -> Result<Duration, Failure> {
        let start = Instant::now();
        let outcome = self.yard.claim_next(&Claim::default())?;
        let elapsed = start.elapsed();
        let claimed = match outcome {
            Outcome::Done(claimed) => claimed,
            Outcome::Refused(refusal) => return Err(format!("nothing was given: {refusal}").into()),
        };
        match self.yard.proving(claimed.lease.token).done(&claimed.task.id)? {
            Outcome::Done(_) => Ok(elapsed),
            Outcome::Refused(refusal) => Err(format!("what was taken could not be finished: {refusal:?}").into()),
        }
    }
}

/// Looks at a list of so many tasks until all of it is known: what a list in use is.
pub(crate) fn get_to_know(home: &Home, count: usize) -> Result<(), Failure> {
    let yard = yard(home, "bench")?;
    let known = yard.history(&HistoryQuery::default())?.len();
    if known == count { Ok(()) } else { Err(format!("{known} of {count} tasks are known").into()) }
}

/// A rate counts only when what was acknowledged is so.
pub(crate) fn expect_finished(home: &Home, acknowledged: usize) -> Result<(), Failure> {
    let list = ListId::new(Home::LIST)?;
    let tasks = yard(home, "bench")?.store().read(&list)?.tasks()?;
    let finished = tasks.iter().filter(|task| task.status == Status::Completed && task.owner().is_some()).count();
    if finished == acknowledged {
        Ok(())
    } else {
        Err(format!("{acknowledged} tasks taken and finished, {finished} are so").into())
    }
}
