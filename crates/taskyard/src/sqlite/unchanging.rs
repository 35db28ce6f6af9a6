//! Databases in places where nothing can be written.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Opens a database that no process can change, with nothing beside it.
///
/// Readers of a write-ahead log keep a file beside it. Where nothing can be written, no process writes the database either, and it is read
/// as it is.
pub(super) fn open_unchanging(path: &Path) -> rusqlite::Result<Connection> {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => address.push(char::from(*byte)),
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(&address, flags)
}
