//! What a command reads that may outlive whoever feeds it.

/// Returns a file without a name that holds these bytes: a pipe would break off with whoever writes to it.
#[cfg(target_os = "linux")]
pub(crate) fn file_of(bytes: &[u8]) -> std::io::Result<std::fs::File> {
    use std::io::{Seek as _, Write as _};

    let file = rustix::fs::memfd_create("taskyard-input", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
