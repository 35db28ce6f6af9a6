//! Packs a directory into one file, for `scripts/old-yard`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, packed] = words.as_slice() else {
        return Err(std::io::Error::other("usage: pack-yard DIRECTORY FILE"));
    };
    taskyard_testkit::pack(Path::new(directory), Path::new(packed))
}
