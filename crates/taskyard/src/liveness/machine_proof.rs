//! What tells this machine from others made from the same image: a file in its data directory (`docs/formats/signs.md`).
//!
//! It proves two things: by its id, that two processes use the same data directory; by the runs of the machine it lists, that a run is over.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use taskyard_core::UNKNOWN_BOOT;

use crate::random::{hexadecimal, random_bytes};
use crate::{clock, private};

const FILE: &str = "machine.json";
/// The file is never longer than this.
const LONGEST: u64 = 64 * 1024;
/// Number of runs that are kept. What lived with an earlier one has ended by its time.
const KEPT_BOOTS: usize = 64;

/// The data directory by which this process knows its machine.
static DATA: OnceLock<PathBuf> = OnceLock::new();

/// What the file proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MachineProof {
    /// The id of the data directory.
    pub(super) id: String,
    /// The runs of this machine that are over.
    pub(super) ended_boots: Arc<[String]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    id: String,
    /// The runs of the machine that had the directory, the newest last.
    #[serde(default)]
    boots: Vec<String>,
    /// Whether a run came back after another one, so that two machines must have it at once.
    #[serde(default)]
    is_shared: bool,
}

/// Whether a file that is missing is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Made,
    Left,
}

/// Has this process tell its machine from others of the same machine id by a data directory. The first call counts; it comes before
/// anything is claimed. Without it, processes are told apart by machine id, run and pid namespace alone.
pub fn know_machine_by(data: &Path) {
    let _ = DATA.set(data.to_owned());
}

/// Returns what the data directory proves; `None` if no directory was named, or there is no file in it and none is made.
pub(super) fn proof(missing: Missing) -> Option<&'static MachineProof> {
    static PROOF: OnceLock<MachineProof> = OnceLock::new();
    if let Some(proof) = PROOF.get() {
        return Some(proof);
    }
    let data = DATA.get()?;
    let is_own = |data: &Path| File::open(data).is_ok_and(|directory| is_written_here_only(directory.as_fd()));
    let found = prove(data, &clock::boot_id(), is_own, missing);
    let found = found.inspect_err(|error| tracing::debug!(%error, "nothing proves which machine this is")).ok()??;
    Some(PROOF.get_or_init(|| found))
}

/// Looks at the file, and records the run of the machine in it. A directory that other machines may write to proves the end of no run:
/// `is_own` tells that it is none of those.
fn prove(
    data: &Path,
    boot: &str,
    is_own: impl Fn(&Path) -> bool,
    missing: Missing,
) -> io::Result<Option<MachineProof>> {
    let path = data.join(FILE);
    let mut wire = match (read(&path)?, missing) {
        (Some(wire), _) => wire,
        (None, Missing::Made) => {
            private::make_data_directory(data)?;
            make(&path)?
        }
        (None, Missing::Left) => return Ok(None),
    };
    let ended_boots = if is_own(data) && boot != UNKNOWN_BOOT { record(&path, &mut wire, boot) } else { [].into() };
    Ok(Some(MachineProof { id: wire.id, ended_boots }))
}

/// Records a run of the machine as the newest one, and returns those that are over; none if it cannot be recorded.
fn record(path: &Path, wire: &mut Wire, boot: &str) -> Arc<[String]> {
    if !wire.is_shared && wire.boots.last().map(String::as_str) != Some(boot) {
        if wire.boots.iter().any(|known| known == boot) {
            (wire.boots, wire.is_shared) = (Vec::new(), true);
        } else {
            wire.boots.push(boot.to_owned());
            let surplus = wire.boots.len().saturating_sub(KEPT_BOOTS);
            wire.boots.drain(..surplus);
        }
        // Another process of this run that does so at the same time writes the same.
        let recorded = write_beside(path, wire).and_then(|temporary| fs::rename(temporary, path));
        if let Err(error) = recorded {
            tracing::debug!(%error, "the run of the machine is not recorded");
            return [].into();
        }
    }
    wire.boots.iter().filter(|known| *known != boot).cloned().collect()
}

/// Reads the file; `None` if there is none.
fn read(path: &Path) -> io::Result<Option<Wire>> {
    let file = match private::open_to_read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

/// Makes the file. Of several processes that do so at once one succeeds, and all use what that one wrote.
fn make(path: &Path) -> io::Result<Wire> {
    let id = hexadecimal(&random_bytes::<16>()?);
    let temporary = write_beside(path, &Wire { id, boots: Vec::new(), is_shared: false })?;
    let made = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary)?;
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => read(path)?.ok_or_else(|| io::ErrorKind::NotFound.into()),
    }
}

fn write_beside(path: &Path, wire: &Wire) -> io::Result<PathBuf> {
    let temporary = path.with_added_extension(format!("{}-{:x}", std::process::id(), clock::since_boot()));
    let mut file = private::create_new(&temporary)?;
    let mut text = serde_json::to_vec(wire)?;
    text.push(b'\n');
    file.write_all(&text).and_then(|()| file.sync_all()).inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    Ok(temporary)
}

/// Tells whether only the kernel of this machine writes to a file system: not one that other machines, or programs of the user's own, write
/// to.
#[cfg(target_os = "linux")]
pub(crate) fn is_written_here_only(directory: BorrowedFd<'_>) -> bool {
    /// NFS, SMB, SMB2, CIFS, FUSE, 9P, Ceph, AFS, Coda, GFS2, OCFS2, Lustre, vboxsf, and a host's directory in a virtual machine.
    const ELSEWHERE: [u32; 14] = [
        0x6969,
        0x517B,
        0xFE53_4D42,
        0xFF53_4D42,
        0x6573_5546,
        0x0102_1997,
        0x00C3_6400,
        0x5346_414F,
        0x7375_7245,
        0x0116_1970,
        0x7461_636F,
        0x0BD0_0BD0,
        0x786F_4256,
        0x6A65_6A62,
    ];
    rustix::fs::fstatfs(directory).is_ok_and(|found| !ELSEWHERE.contains(&(found.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_written_here_only(_directory: BorrowedFd<'_>) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{FILE, KEPT_BOOTS, MachineProof, Missing, prove};

    fn proof(data: &Path, boot: &str) -> MachineProof {
        prove(data, boot, |_| true, Missing::Made).unwrap().unwrap()
    }

    #[test]
    fn the_id_stays_and_earlier_runs_are_over() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(prove(data.path(), "a", |_| true, Missing::Left).unwrap(), None);
        let first = proof(data.path(), "a");
        assert_eq!((first.id.len(), &*first.ended_boots), (32, &[] as &[String]));
        assert_eq!(proof(data.path(), "a"), first);
        let later = proof(data.path(), "b");
        assert_eq!((&later.id, &*later.ended_boots), (&first.id, &["a".to_owned()] as &[String]));
        assert_eq!(&*proof(data.path(), "c").ended_boots, ["a", "b"]);
        let another = tempfile::tempdir().unwrap();
        assert_ne!(proof(another.path(), "a").id, first.id);
    }

    #[test]
    fn a_directory_that_machines_share_proves_the_end_of_no_run() {
        let data = tempfile::tempdir().unwrap();
        let there = |boot| prove(data.path(), boot, |_| false, Missing::Made).unwrap().unwrap();
        let id = there("a").id;
        assert_eq!(there("b"), MachineProof { id, ended_boots: [].into() });
        // The server of the file system has it on its own disk, and has never seen the runs of its clients.
        assert_eq!(&*proof(data.path(), "c").ended_boots, [] as [&str; 0]);
    }

    #[test]
    fn a_run_that_comes_back_shows_that_machines_share_it() {
        let data = tempfile::tempdir().unwrap();
        for boot in ["a", "b", "a"] {
            proof(data.path(), boot);
        }
        for boot in ["a", "b", "c"] {
            assert_eq!(&*proof(data.path(), boot).ended_boots, [] as [&str; 0], "{boot}");
        }
    }

    #[test]
    fn a_copy_knows_the_runs_before_it_was_made_and_none_since() {
        let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        proof(one.path(), "image");
        fs::copy(one.path().join(FILE), two.path().join(FILE)).unwrap();
        proof(one.path(), "of one");
        assert_eq!(&*proof(two.path(), "of two").ended_boots, ["image"]);
    }

    #[test]
    fn a_file_keeps_so_many_runs_and_a_damaged_one_is_left_alone() {
        let data = tempfile::tempdir().unwrap();
        for run in 0..KEPT_BOOTS + 2 {
            proof(data.path(), &run.to_string());
        }
        let ended = proof(data.path(), &(KEPT_BOOTS + 1).to_string()).ended_boots;
        assert_eq!((ended.len(), ended[0].as_str()), (KEPT_BOOTS - 1, "2"));
        let path = data.path().join(FILE);
        fs::write(&path, "half a f").unwrap();
        prove(data.path(), "a", |_| true, Missing::Made).unwrap_err();
        assert_eq!(fs::read_to_string(path).unwrap(), "half a f");
    }
}
