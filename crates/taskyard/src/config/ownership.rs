//! Looking who besides the user could have written a configuration file.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::geteuid;
use taskyard_core::rules::lists::ownership::{Doubt, Rights, is_private_group, judge_project_file, judge_users_file};

use super::Origin;

/// What a look at a file's owner tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// There is no such file.
    NoFile,
    /// The file may count.
    Ours,
    /// Another user could have written it.
    Doubtful(Doubt),
}

/// Looks whether a configuration file may count. What cannot be looked at, or is no file, is left to the reader of the file.
pub(crate) fn ownership(path: &Path, origin: Origin) -> Ownership {
    if fs::symlink_metadata(path).is_err() {
        return Ownership::NoFile;
    }
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Only who may write to the directory can have put a link there; what counts is whose the file is that it leads to.
    let (Ok(file), Ok(directory)) = (fs::metadata(path), fs::metadata(directory)) else { return Ownership::Ours };
    if !file.is_file() {
        return Ownership::Ours;
    }
    judge(&file, &directory, origin).map_or(Ownership::Ours, Ownership::Doubtful)
}

fn judge(file: &Metadata, directory: &Metadata, origin: Origin) -> Option<Doubt> {
    let rights = |found: &Metadata| Rights { owner: found.uid(), group: found.gid(), mode: found.mode() & 0o7777 };
    let (user, file, directory) = (geteuid().as_raw(), rights(file), rights(directory));
    match origin {
        Origin::User => judge_users_file(user, file, directory),
        Origin::Project => judge_project_file(user, file, directory, |owner, group| {
            let read = |path| fs::read_to_string(path).unwrap_or_default();
            is_private_group(owner, group, &read("/etc/passwd"), &read("/etc/group"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use taskyard_core::rules::lists::ownership::Doubt;

    use super::{Origin, Ownership, ownership};

    #[test]
    fn a_file_and_its_directory_are_looked_at_through_a_link_too() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        assert_eq!(ownership(&file, Origin::Project), Ownership::NoFile);
        fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            assert_eq!(ownership(path, Origin::Project), Ownership::Ours);
        }
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        for path in [&file, &link] {
            assert_eq!(ownership(path, Origin::User), Ownership::Doubtful(Doubt::FileOpenToAll));
        }
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(ownership(&file, Origin::Project), Ownership::Doubtful(Doubt::DirectoryOpenToAll));
    }
}
