//! Directories behind links. The user's own may be anywhere; a link to another user's would let that user decide what is in a list.

use std::io;
use std::path::Path;

use rustix::fs::{FileType, lstat, stat};
use rustix::process::geteuid;

/// Fails where one of these is a link to a directory that belongs to another user. What is no link, and what leads nowhere, is for other
/// code to judge.
pub(super) fn must_not_be_foreign<'a>(paths: impl IntoIterator<Item = &'a Path>) -> io::Result<()> {
    for path in paths {
        let is_link = lstat(path).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink);
        if !is_link {
            continue;
        }
        if let Ok(found) = stat(path)
            && found.st_uid != geteuid().as_raw()
        {
            let why = format!("it is a link to a directory of another user (uid {})", found.st_uid);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};
    use std::path::PathBuf;

    use super::must_not_be_foreign;

    #[test]
    fn a_link_to_a_directory_of_ones_own_is_good_and_one_to_anothers_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["own", "theirs"] {
            fs::create_dir(path(name)).unwrap();
        }
        // A user that may not give a directory away finds one of root's.
        let theirs = chown(path("theirs"), Some(12_345), None).map_or(PathBuf::from("/"), |()| path("theirs"));
        symlink(path("own"), path("to-own")).unwrap();
        symlink(&theirs, path("to-theirs")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        for name in ["own", "theirs", "to-own", "dangling", "nothing"] {
            assert!(must_not_be_foreign([&*path(name)]).is_ok(), "{name}");
        }
        let refused = must_not_be_foreign([&*path("own"), &*path("to-theirs")]).unwrap_err();
        assert!(refused.to_string().contains("another user"), "{refused}");
    }
}
