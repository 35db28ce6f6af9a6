//! The promises of teams and messages, stamped onto the client's files.

use std::sync::Arc;

use taskyard::core::Rules;
use taskyard::teams::{FileTeams, FileTeamsOptions};
use taskyard_testkit::OpenedTeams;

taskyard_testkit::team_suite!(|| {
    let folder = tempfile::tempdir().unwrap();
    let options = FileTeamsOptions {
        root: folder.path().join("teams"),
        tasks: folder.path().join("tasks"),
        data: folder.path().join("data"),
        rules: Rules::Strict,
    };
    OpenedTeams::keeping(move || Arc::new(FileTeams::new(options.clone())), folder)
});
