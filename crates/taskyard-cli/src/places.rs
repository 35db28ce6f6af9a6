//! The directories Taskyard uses, and the problems reported if there is no home directory.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use taskyard::jobs::JobSettings;
use taskyard::liveness::know_machine_by;
use taskyard::private::{NotPrivate, secure_data_directory};
use taskyard_jobs::JobOptions;

use crate::environment::{CLAUDE_CONFIG_DIR, Environment, HOME, TASKYARD_HOME, XDG_CONFIG_HOME};
use crate::exit::{Problem, ProblemKind};

/// Returns the client's directory: `$CLAUDE_CONFIG_DIR`, otherwise `~/.claude`.
pub(crate) fn client_config(environment: &Environment) -> Result<PathBuf, Problem> {
    match &environment.client_config {
        Some(path) => Ok(path.clone()),
        None => Ok(home(environment, CLAUDE_CONFIG_DIR)?.join(".claude")),
    }
}

/// Returns our data directory: `$TASKYARD_HOME`, otherwise the platform's default. It is either private to this user
/// or does not exist yet.
pub(crate) fn data(environment: &Environment) -> Result<PathBuf, Problem> {
    // Checked once, since the environment does not change.
    static SECURED: OnceLock<Result<(), NotPrivate>> = OnceLock::new();
    let data = data_wherever(environment)?;
    match SECURED.get_or_init(|| secure_data_directory(&data).inspect(|()| know_machine_by(&data))) {
        Ok(()) => Ok(data),
        Err(why) => {
            Err(Problem::new(ProblemKind::CouldNot, "not_private", format!("the data directory cannot be used: {why}"))
                .hint(format!("set {TASKYARD_HOME} to a directory that you own")))
        }
    }
}

fn data_wherever(environment: &Environment) -> Result<PathBuf, Problem> {
    if let Some(path) = &environment.data {
        return Ok(path.clone());
    }
    if let Some(path) = environment.xdg_data.as_ref().filter(|path| path.is_absolute()) {
        return Ok(path.join("taskyard"));
    }
    let below = if cfg!(target_os = "macos") {
        "Library/Application Support/taskyard"
    } else if cfg!(windows) {
        "AppData/Local/taskyard"
    } else {
        ".local/share/taskyard"
    };
    Ok(home(environment, TASKYARD_HOME)?.join(below))
}

/// Returns the directories and settings of jobs; this program is their supervisor.
pub(crate) fn jobs(environment: &Environment, settings: JobSettings) -> Result<JobOptions, Problem> {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let temporary = environment.client_temporary.clone().unwrap_or_else(|| PathBuf::from("/tmp"));
    Ok(JobOptions {
        environment: environment.for_children(),
        settings,
        ..JobOptions::of_this_program(absolute(data(environment)?), absolute(temporary))
    })
}

/// Returns the path of the user's `taskyard.toml`, whether or not it exists; `None` without a home directory.
pub(crate) fn user_config(environment: &Environment) -> Option<PathBuf> {
    let base = match environment.xdg_config.as_ref().filter(|path| path.is_absolute()) {
        Some(path) => path.clone(),
        None => environment.home.as_ref()?.join(".config"),
    };
    Some(base.join("taskyard").join("taskyard.toml"))
}

/// Returns the user's directory of templates, beside the user's `taskyard.toml`.
pub(crate) fn templates(environment: &Environment) -> Result<PathBuf, Problem> {
    match user_config(environment) {
        Some(config) => Ok(config.with_file_name("templates")),
        None => home(environment, XDG_CONFIG_HOME).map(|home| home.join(".config/taskyard/templates")),
    }
}

/// Returns the nearest directory, this one or a parent, that contains `.git`.
pub(crate) fn repository(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|ancestor| ancestor.join(".git").exists())
}

fn home<'a>(environment: &'a Environment, instead: &str) -> Result<&'a Path, Problem> {
    let advice = format!("set {HOME} to your home directory, or {instead} to the directory to use");
    let problem = |message: String| Problem::new(ProblemKind::CouldNot, "no_home", message).hint(advice.clone());
    let Some(home) = &environment.home else {
        return Err(problem(format!("there is no home directory: {HOME} is not set")));
    };
    // Checked once, since the environment does not change.
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    if !IS_THERE.get_or_init(|| home.is_dir()) {
        return Err(problem(format!(
            "there is no home directory: {HOME} names `{}`, which does not exist",
            home.display()
        )));
    }
    Ok(home)
}
