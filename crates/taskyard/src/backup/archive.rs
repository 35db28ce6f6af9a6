//! The archive: an uncompressed tar, with everything in one folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;

use tar::{Archive, Builder, EntryType, Header};

use super::sums::{Sum, sum_of_all};
use super::{manifest, sums};

/// The folder that everything is in.
const FOLDER: &str = "taskyard-backup";

/// Where a file stands in an archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) sum: Sum,
}

/// An archive that is being written.
pub(super) struct ArchiveWriter {
    builder: Builder<BufWriter<File>>,
    at: u64,
}

impl ArchiveWriter {
    /// Begins an archive; its files are of this moment, in seconds.
    pub(super) fn new(file: File, at: u64) -> Self {
        Self { builder: Builder::new(BufWriter::with_capacity(1 << 18, file)), at }
    }

    /// Adds a file.
    pub(super) fn add(&mut self, name: &str, length: u64, contents: impl io::Read) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_size(length);
        header.set_mode(0o600);
        header.set_mtime(self.at);
        header.set_entry_type(EntryType::Regular);
        self.builder.append_data(&mut header, format!("{FOLDER}/{name}"), contents)
    }

    /// Ends the archive and flushes it to the disk.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut file = self.builder.into_inner()?;
        file.flush()?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

/// Returns where everything stands in an archive, and the sum of each. What stands beside the folder of the backup is passed over.
pub(super) fn index(path: &Path) -> io::Result<BTreeMap<String, Span>> {
    let mut archive = Archive::new(BufReader::with_capacity(1 << 18, File::open(path)?));
    let mut spans = BTreeMap::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Continuous) {
            continue;
        }
        let Some(name) = entry.path()?.to_str().map(|name| name.trim_start_matches("./").to_owned()) else { continue };
        let (start, length) = (entry.raw_file_position(), entry.size());
        let mut counted = (&mut entry).take(u64::MAX);
        let sum = sum_of_all(&mut counted)?;
        if u64::MAX - counted.limit() != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        spans.insert(name, Span { start, length, sum });
    }
    Ok(below_manifest(spans))
}

/// Returns the names as they are in the folder that the manifest is in; a user who packed it again may have named it
/// otherwise.
fn below_manifest(spans: BTreeMap<String, Span>) -> BTreeMap<String, Span> {
    let folder = |name: &String| {
        let name = name.strip_suffix(manifest::FILE).or_else(|| name.strip_suffix(sums::FILE))?;
        (name.is_empty() || name.ends_with('/')).then(|| name.to_owned())
    };
    let Some(folder) = spans.keys().filter_map(folder).min_by_key(String::len) else { return spans };
    spans.into_iter().filter_map(|(name, span)| Some((name.strip_prefix(&folder)?.to_owned(), span))).collect()
}

/// Tells whether a name is in the folder that our archives have.
pub(super) fn is_in_folder(name: &str) -> bool {
    name.strip_prefix(FOLDER).is_some_and(|rest| rest.starts_with('/'))
}
