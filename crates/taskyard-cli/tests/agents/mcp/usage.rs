//! What a process uses, as the system counts it.

use std::fs;

/// What a process uses at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Open files, sockets and the like.
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    /// Watchers of files; a user has 128 of them, for all programs together.
    pub(crate) watchers: usize,
    /// Memory in kB.
    pub(crate) resident: usize,
    /// The most memory it ever had, in kB.
    pub(crate) peak: usize,
}

impl Usage {
    /// Returns what a process uses now.
    pub(crate) fn of(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let open: Vec<_> = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten().collect();
        let is_watcher =
            |link: &fs::DirEntry| fs::read_link(link.path()).is_ok_and(|to| to.ends_with("anon_inode:inotify"));
        Self {
            descriptors: open.len(),
            threads: number("Threads:"),
            watchers: open.iter().filter(|link| is_watcher(link)).count(),
            resident: number("VmRSS:"),
            peak: number("VmHWM:"),
        }
    }
}
