//! The identity of this machine, which distinguishes it from others made from the same image.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use taskyard_core::UNKNOWN_BOOT;

use crate::system::{hexadecimal, random_bytes};
use crate::{private, system};

const FILE: &str = "machine.json";
/// The maximum length of the file.
const LONGEST: u64 = 64 * 1024;
/// The number of boots that are kept. What was held during an earlier boot has expired by time.
const KEPT_BOOTS: usize = 64;

/// The data directory that identifies the machine.
static DATA: OnceLock<PathBuf> = OnceLock::new();

/// What the file proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MachineProof {
    /// The id of the data directory.
    pub(super) id: String,
    /// The boots of this machine that are over.
    pub(super) ended_boots: Arc<[String]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    id: String,
    /// The boots of the machine that had the directory, newest last.
    #[serde(default)]
    boots: Vec<String>,
    /// Whether a boot reappeared after another one, so that two machines must be using it at the same time.
    #[serde(default)]
    is_shared: bool,
}

/// Whether to create a missing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Made,
    Left,
}

/// Distinguishes this machine from others with the same machine id by a data directory. Only the first call has an
/// effect; it must precede any claim. Without it, processes are distinguished only by machine id, boot and pid
/// namespace.
pub fn know_machine_by(data: &Path) {
    let _ = DATA.set(data.to_owned());
}

/// Returns what the data directory proves; `None` if no directory was set, or its file is missing and not created.
pub(super) fn proof(missing: Missing) -> Option<&'static MachineProof> {
    static PROOF: OnceLock<MachineProof> = OnceLock::new();
    if let Some(proof) = PROOF.get() {
        return Some(proof);
    }
    let data = DATA.get()?;
    let is_own = |data: &Path| File::open(data).is_ok_and(|directory| is_written_here_only(directory.as_fd()));
    let found = prove(data, &system::boot_id(), is_own, missing);
    let found = found.inspect_err(|error| tracing::debug!(%error, "nothing proves which machine this is")).ok()??;
    Some(PROOF.get_or_init(|| found))
}

/// Reads the file, and records the current boot in it. A directory that other machines may write to proves the end of
/// no boot; `is_own` returns whether the directory is only written by this machine.
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

/// Records a boot as the newest one, and returns those that are over; empty if it cannot be recorded.
fn record(path: &Path, wire: &mut Wire, boot: &str) -> Arc<[String]> {
    if !wire.is_shared && wire.boots.last().map(String::as_str) != Some(boot) {
        if wire.boots.iter().any(|known| known == boot) {
            (wire.boots, wire.is_shared) = (Vec::new(), true);
        } else {
            wire.boots.push(boot.to_owned());
            let surplus = wire.boots.len().saturating_sub(KEPT_BOOTS);
            wire.boots.drain(..surplus);
        }
        // A concurrent process of the same boot writes the same contents.
        let recorded = write_beside(path, wire).and_then(|temporary| fs::rename(temporary, path));
        if let Err(error) = recorded {
            tracing::debug!(%error, "the run of the machine is not recorded");
            return [].into();
        }
    }
    wire.boots.iter().filter(|known| *known != boot).cloned().collect()
}

/// Reads the file; `None` if it does not exist.
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

/// Creates the file. If several processes do so at once, one succeeds and all use its contents.
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
    let temporary = path.with_added_extension(format!("{}-{:x}", std::process::id(), system::since_boot()));
    let mut file = private::create_new(&temporary)?;
    let mut text = serde_json::to_vec(wire)?;
    text.push(b'\n');
    file.write_all(&text).and_then(|()| file.sync_all()).inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    Ok(temporary)
}

/// Returns whether a file system is written only by the kernel of this machine, and not by other machines or by
/// user-space programs.
#[cfg(target_os = "linux")]
pub(crate) fn is_written_here_only(directory: BorrowedFd<'_>) -> bool {
    /// NFS, SMB, SMB2, CIFS, FUSE, 9P, Ceph, AFS, Coda, GFS2, OCFS2, Lustre, vboxsf, and host directories in virtual
    /// machines.
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

/// The files with the system's machine id, in order of preference.
const FILES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// Returns the machine id, or else the host name, marked as such. Read once per process.
pub(super) fn machine_id() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let said = FILES.iter().find_map(|file| machine_id_in(&std::fs::read_to_string(file).ok()?));
        said.unwrap_or_else(|| format!("host:{}", rustix::system::uname().nodename().to_string_lossy()))
    })
}

/// Parses a machine id file. Images for cloning contain `uninitialized` or nothing.
fn machine_id_in(text: &str) -> Option<String> {
    let word = text.trim();
    let is_id = word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| word.to_ascii_lowercase())
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
        // The file server has it on its own disk, and has never seen the boots of its clients.
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

#[cfg(test)]
mod machine_id_tests {
    use super::{machine_id, machine_id_in};

    #[test]
    fn only_what_can_be_a_machine_id_is_one() {
        let id = "3d1219c7c4c5404aaa1f6d2a48adfda4";
        assert_eq!(machine_id_in(&format!("{id}\n")).as_deref(), Some(id));
        for text in ["", "\n", "uninitialized\n", "3d1219c7", &format!("{id}0")] {
            assert_eq!(machine_id_in(text), None, "{text}");
        }
        assert!(!machine_id().is_empty());
    }
}
