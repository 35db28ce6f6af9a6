//! How many inotify instances this user has in use, as far as can be seen.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

#[cfg(feature = "failpoints")]
use crate::failpoint::inotify_instances;

/// How many inotify instances a user has, and may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InotifyUse {
    /// Those in use by processes that this one may look at.
    pub(super) instances: u64,
    /// The kernel's limit for each user, `fs.inotify.max_user_instances`.
    pub(super) limit: u64,
}

impl InotifyUse {
    /// Counts those of the user of this process; none where the system does not tell.
    pub(super) fn of_this_user() -> Option<Self> {
        let found = Self::in_proc(Path::new("/proc"), rustix::process::getuid().as_raw());
        // What else runs beside a test must not change what it sees.
        #[cfg(feature = "failpoints")]
        let found = found.map(|found| Self { instances: inotify_instances().unwrap_or(0), ..found });
        found
    }

    /// Tells whether nine tenths are in use.
    pub(super) fn is_near_limit(&self) -> bool {
        self.instances * 10 >= self.limit * 9
    }

    fn in_proc(proc: &Path, user: u32) -> Option<Self> {
        let limit = fs::read_to_string(proc.join("sys/fs/inotify/max_user_instances")).ok()?.trim().parse().ok()?;
        let processes = fs::read_dir(proc).ok()?.flatten();
        let of_user = processes
            .filter(|process| process.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()))
            .filter(|process| process.metadata().is_ok_and(|found| found.uid() == user));
        let instances = of_user.map(|process| count(&process.path().join("fd"))).sum();
        Some(Self { instances, limit })
    }
}

/// Counts the descriptors that lead to inotify.
fn count(descriptors: &Path) -> u64 {
    let links = fs::read_dir(descriptors).into_iter().flatten().flatten();
    let is_inotify =
        |link: &fs::DirEntry| fs::read_link(link.path()).is_ok_and(|to| to == Path::new("anon_inode:inotify"));
    links.filter(is_inotify).count() as u64
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::InotifyUse;

    #[test]
    fn instances_of_the_users_processes_are_counted() {
        let proc = tempfile::tempdir().unwrap();
        let inotify = proc.path().join("sys/fs/inotify");
        fs::create_dir_all(&inotify).unwrap();
        fs::write(inotify.join("max_user_instances"), "128\n").unwrap();
        for (process, links) in
            [("7", ["anon_inode:inotify", "/dev/null"]), ("812", ["anon_inode:inotify", "anon_inode:inotify"])]
        {
            let descriptors = proc.path().join(process).join("fd");
            fs::create_dir_all(&descriptors).unwrap();
            for (number, link) in links.iter().enumerate() {
                symlink(link, descriptors.join(number.to_string())).unwrap();
            }
        }
        // What is no process is not looked into.
        fs::create_dir_all(proc.path().join("self/fd")).unwrap();
        symlink("anon_inode:inotify", proc.path().join("self/fd/0")).unwrap();
        let user = rustix::process::getuid().as_raw();
        assert_eq!(InotifyUse::in_proc(proc.path(), user), Some(InotifyUse { instances: 3, limit: 128 }));
        assert_eq!(InotifyUse::in_proc(proc.path(), user + 1), Some(InotifyUse { instances: 0, limit: 128 }));
        assert_eq!(InotifyUse::in_proc(&proc.path().join("nowhere"), user), None);
    }
}
