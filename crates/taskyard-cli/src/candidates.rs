//! Gathering what could name the list. Which of it counts is the core's decision.

use std::fs;
use std::path::Path;

use serde_json::Value;
use taskyard::config::Config;
use taskyard::core::ListId;
use taskyard::core::rules::lists::list_choice::{Candidates, short_session_list};

use crate::environment::Environment;
use crate::places;

/// A configuration file of a package larger than this is not looked into.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Returns what the flag and the variables say. Nothing needs to be looked for where one of them names the list.
pub(crate) fn said(flag: Option<&String>, environment: &Environment) -> Candidates {
    Candidates {
        flag: flag.cloned(),
        taskyard_list: environment.list.clone(),
        client_list: environment.client_list.clone(),
        session: environment.client_session.clone(),
        ..Candidates::default()
    }
}

/// Tells whether what was said already names the list, whatever else there is.
pub(crate) fn is_enough(candidates: &Candidates) -> bool {
    candidates.flag.is_some() || candidates.taskyard_list.is_some() || candidates.client_list.is_some()
}

/// Adds what the configuration says, and which lists the session has.
pub(crate) fn look_around(candidates: &mut Candidates, environment: &Environment, config: &Config) {
    candidates.config = config.list().map(|(list, _)| list.to_owned());
    let client = places::client_config(environment).ok();
    if let (Some(session), Some(client)) = (&candidates.session, &client) {
        let exists =
            |name: &str| ListId::new(name).is_ok_and(|list| client.join("tasks").join(list.directory()).is_dir());
        candidates.session_list_exists = exists(session);
        candidates.short_session_list_exists = exists(&short_session_list(session));
    }
}

/// Returns the names that the project of a directory goes by: those of its packages, of its root and of its repository.
pub(crate) fn project_names(directory: Option<&Path>, project: Option<&Path>, root: Option<&Path>) -> Vec<String> {
    let package = directory.and_then(nearest_package).map(|(_, name)| name);
    let of_root = project.and_then(package_name);
    [package, of_root, project.and_then(name_of), root.and_then(name_of)].into_iter().flatten().collect()
}

/// Returns the nearest directory above that has a package with a name, and that name.
pub(crate) fn nearest_package(directory: &Path) -> Option<(&Path, String)> {
    directory.ancestors().find_map(|above| package_name(above).map(|name| (above, name)))
}

/// Returns the name of the package at exactly this directory.
pub(crate) fn package_name(directory: &Path) -> Option<String> {
    let package = json(&directory.join("package.json"))?;
    package.get("name")?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn json(path: &Path) -> Option<Value> {
    let size = fs::metadata(path).ok()?;
    if !size.is_file() || size.len() > LARGEST || is_open_to_all(path.parent()?) {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Tells whether every user can write to a directory, as to the one for temporary files: what lies there names no user's list.
fn is_open_to_all(directory: &Path) -> bool {
    #[cfg(unix)]
    let is_open = |found: fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o002 != 0;
    #[cfg(not(unix))]
    let is_open = |_: fs::Metadata| false;
    fs::metadata(directory).is_ok_and(is_open)
}

/// Returns the name of a directory.
pub(crate) fn name_of(directory: &Path) -> Option<String> {
    directory.file_name().map(|name| name.to_string_lossy().into_owned())
}
