//! The file in which a process says that it was alive, and when (`docs/formats/signs.md`).

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use taskyard_core::{Moment, ProcessMark, Timestamp};

use crate::private;

/// A sign is never longer than this.
const LONGEST: u64 = 4096;

/// What is written in the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    machine: String,
    pid_space: String,
    boot: String,
    pid: u32,
    started: u64,
    at: i64,
    since_boot: i64,
    /// The client that the process serves: its process id and start time, in the same pid namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<(u32, u64)>,
}

/// A sign of life: whose, and when it was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sign {
    pub(super) process: ProcessMark,
    pub(super) left: Moment,
    /// The client that the process serves; `None` if it serves none, or an older release left the sign.
    pub(super) client: Option<ProcessMark>,
}

/// Returns the name of the file in which a process leaves its signs. Marks come out of databases; nothing in them can lead
/// elsewhere.
pub(super) fn name_of(process: &ProcessMark) -> String {
    let ProcessMark { machine, pid_space, boot, pid, started } = process;
    let plain = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).take(64).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    format!("{}-{}-{}-{pid}-{started}", plain(machine), plain(pid_space), plain(boot))
}

/// Writes a sign over the one before. The file keeps its name and its inode, so that no follower of a list is woken.
pub(super) fn write(file: &File, sign: &Sign) -> io::Result<()> {
    let Sign { process, left, client } = sign.clone();
    let wire = Wire {
        machine: process.machine,
        pid_space: process.pid_space,
        boot: process.boot,
        pid: process.pid,
        started: process.started,
        at: left.wall.0,
        since_boot: left.since_boot,
        client: client.map(|client| (client.pid, client.started)),
    };
    let mut text = serde_json::to_vec(&wire)?;
    text.push(b'\n');
    file.write_all_at(&text, 0)?;
    file.set_len(text.len() as u64)
}

/// Reads a sign. What cannot be read as one was left when the file was last written, by the process it is named after.
pub(super) fn read(path: &Path) -> io::Result<Result<Sign, Timestamp>> {
    let file = private::open_to_read(path)?;
    let metadata = file.metadata()?;
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text)?;
    let Ok(wire) = serde_json::from_slice::<Wire>(&text) else {
        let written = metadata.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        return Ok(Err(Timestamp(i64::try_from(written.as_millis()).unwrap_or(i64::MAX))));
    };
    let Wire { machine, pid_space, boot, pid, started, at, since_boot, client } = wire;
    let left = Moment { wall: Timestamp(at), boot: boot.clone(), since_boot };
    let process = ProcessMark { machine, pid_space, boot, pid, started };
    let client = client.map(|(pid, started)| ProcessMark { pid, started, ..process.clone() });
    Ok(Ok(Sign { process, left, client }))
}

#[cfg(test)]
mod tests {
    use taskyard_core::{Moment, ProcessMark, Timestamp};

    use super::{Sign, name_of, read, write};
    use crate::private;

    fn sign(since_boot: i64) -> Sign {
        let process = ProcessMark {
            machine: "host:a/../b".into(),
            pid_space: "pid:[4026531836]".into(),
            boot: "b-1".into(),
            pid: 7,
            started: 9,
        };
        let client = Some(ProcessMark { pid: 3, started: 4, ..process.clone() });
        Sign { left: Moment { wall: Timestamp(5), boot: process.boot.clone(), since_boot }, process, client }
    }

    #[test]
    fn a_sign_is_read_as_it_was_left_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sign");
        let file = private::open(&path).unwrap();
        for since_boot in [1_000_000, 7] {
            write(&file, &sign(since_boot)).unwrap();
            assert_eq!(read(&path).unwrap(), Ok(sign(since_boot)));
        }
        let of_older_release = r#"{"machine":"m","pidSpace":"","boot":"b","pid":7,"started":9,"at":5,"sinceBoot":7}"#;
        std::fs::write(&path, of_older_release).unwrap();
        assert_eq!(read(&path).unwrap().map(|sign| sign.client), Ok(None));
        std::fs::write(&path, b"").unwrap();
        assert!(read(&path).unwrap().is_err_and(|written| written.0 > 1_700_000_000_000));
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        assert!(read(&folder.path().join("link")).is_err());
    }

    #[test]
    fn the_name_of_a_sign_leads_nowhere_else() {
        assert_eq!(name_of(&sign(1).process), "hostab-pid4026531836-b1-7-9");
    }
}
