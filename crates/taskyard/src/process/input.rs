//! What a command reads that may outlive the process that feeds it.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};

/// Returns a file without a name that holds these bytes: a pipe would break off with its writer.
pub fn file_of(bytes: &[u8]) -> io::Result<File> {
    let mut file = nameless()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("taskyard-input", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// Returns one whose name was removed; other systems have no files that never had one.
#[cfg(not(target_os = "linux"))]
fn nameless() -> io::Result<File> {
    let path = format!("/tmp/taskyard-input-{}-{}", std::process::id(), crate::clock::now().0);
    let file = crate::private::create_new(std::path::Path::new(&path))?;
    std::fs::remove_file(path)?;
    Ok(file)
}
