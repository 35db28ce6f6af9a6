//! Taskyard as the measurements use it: the command, and the library in a running process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard::core::{AgentName, ListId, Rules};
use taskyard::operations::NewTask;
use taskyard::store::{FileStore, FileStoreOptions};
use taskyard::{Outcome, Yard};

use crate::Failure;
use crate::corpus;
use crate::places::Home;
use crate::worker::Creator;

/// Returns the command `taskyard` on a home's list, untouched by the environment of whoever measures.
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
pub(crate) fn yard(home: &Home) -> Result<Yard, Failure> {
    let options = FileStoreOptions { tasks: home.tasks(), data: Some(home.data()), rules: Rules::Strict };
    let actor = AgentName::new("bench").ok_or("no name")?;
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
        Ok(Self { yard: yard(home)?, created: 0 })
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
