//! The client that this process was started by: Claude Code, of whose process hooks, MCP servers and shell commands are descendants
//! (`docs/interop.md`, "Sessions and processes").

use std::fs;
use std::sync::OnceLock;

use rustix::param::clock_ticks_per_second;
use taskyard_core::ProcessMark;

use super::process_table::{look_at, mark_of, sees_processes};

/// What the client calls its process, in both releases.
const CLIENT: &str = "claude";

/// How many ancestors are looked at. Between the client and its commands there are a shell and whatever that runs.
const GENERATIONS: usize = 64;

/// The client that this process serves.
static SERVED: OnceLock<ProcessMark> = OnceLock::new();

/// Returns the nearest ancestor of this process that is Claude Code; `None` if there is none, or if processes cannot be seen.
pub fn client_above() -> Option<ProcessMark> {
    ancestors().find(|pid| name_of(*pid).as_deref() == Some(CLIENT)).and_then(mark_of)
}

/// Returns when the clients that run on this machine started, in milliseconds since its boot; `None` if not every process can be seen.
pub(crate) fn clients_started() -> Option<Vec<i64>> {
    let sees_all = sees_processes() && name_of(1).is_some();
    let table = fs::read_dir("/proc").ok().filter(|_| sees_all)?;
    let pids = table.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let clients = pids.filter(|pid| name_of(*pid).as_deref() == Some(CLIENT)).filter_map(look_at);
    let ticks = clock_ticks_per_second().max(1);
    Some(clients.map(|client| i64::try_from(client.started * 1000 / ticks).unwrap_or(0)).collect())
}

/// Takes note that this process serves a client: what is leased through it ends with that client.
pub fn serve_client(client: ProcessMark) {
    let _ = SERVED.set(client);
}

/// Returns the client that this process serves.
pub(super) fn served_client() -> Option<&'static ProcessMark> {
    SERVED.get()
}

/// Returns the ancestors of this process, its parent first.
fn ancestors() -> impl Iterator<Item = u32> {
    let parent_of = |pid: u32| look_at(pid).map(|process| process.parent).filter(|parent| *parent > 1);
    let first = if sees_processes() { parent_of(std::process::id()) } else { None };
    std::iter::successors(first, move |pid| parent_of(*pid)).take(GENERATIONS)
}

fn name_of(pid: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::ancestors;

    #[test]
    fn ancestors_begin_with_the_parent() {
        assert_eq!(ancestors().next(), Some(std::os::unix::process::parent_id()).filter(|pid| *pid > 1));
    }
}
