//! The name that the client gives the directory in which it keeps what belongs to a project.

use std::path::Path;

/// Makes the directory name that the client makes of a path: everything but letters and digits becomes `-`.
pub fn slug(directory: &Path) -> String {
    let keep = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    directory.to_string_lossy().encode_utf16().map(keep).collect()
}
