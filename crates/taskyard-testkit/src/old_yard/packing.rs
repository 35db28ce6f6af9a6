//! A yard in one file.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Packs a directory into one file: each file with its path, its mode and its length, compressed together.
pub fn pack(directory: &Path, packed: &Path) -> io::Result<()> {
    fs::write(packed, lz4_flex::compress_prepend_size(&bytes_of(directory)?))
}

/// Returns a directory as one text: each file with its path, its mode and its length.
pub(super) fn bytes_of(directory: &Path) -> io::Result<Vec<u8>> {
    let mut files = Vec::new();
    collect(directory, directory, &mut files)?;
    files.sort();
    let mut bytes = Vec::new();
    for path in files {
        let (full, name) = (directory.join(&path), path.to_string_lossy().into_owned());
        let contents = fs::read(&full)?;
        let mode = fs::metadata(&full)?.permissions().mode() & 0o777;
        writeln!(bytes, "{mode:o} {} {name}", contents.len())?;
        bytes.extend_from_slice(&contents);
    }
    Ok(bytes)
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if kind.is_dir() {
            collect(root, &path, files)?;
        } else if kind.is_file() {
            files.push(path.strip_prefix(root).map_err(io::Error::other)?.to_owned());
        }
    }
    Ok(())
}

/// Unpacks what was packed into a directory that is not there yet.
pub(super) fn unpack(packed: &[u8], root: &Path) {
    write_out(&lz4_flex::decompress_size_prepended(packed).expect("the yard is whole"), root);
}

/// Writes the files of a directory that is one text into a directory that is not there yet.
pub(super) fn write_out(bytes: &[u8], root: &Path) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').expect("a file has a head");
        let head = std::str::from_utf8(&rest[..end]).expect("a head is text");
        let [mode, length, name] = head.splitn(3, ' ').collect::<Vec<_>>().try_into().expect("a head has three words");
        let mode = u32::from_str_radix(mode, 8).expect("a mode is octal");
        let length: usize = length.parse().expect("a length is a number");
        let (contents, after) = rest[end + 1..].split_at(length);
        rest = after;
        let path = root.join(name);
        let folder = path.parent().expect("a file is in a directory");
        fs::create_dir_all(folder).expect("a directory can be made");
        if name.starts_with("data/") {
            fs::set_permissions(folder, Permissions::from_mode(0o700)).expect("a directory can be made private");
        }
        let file = File::options().write(true).create_new(true).mode(mode).open(&path);
        file.and_then(|mut file| file.write_all(contents)).expect("a file can be written");
    }
    fs::set_permissions(root.join("data"), Permissions::from_mode(0o700)).expect("a directory can be made private");
}
