//! Files of other programs that are replaced as a whole: written beside, then renamed.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes the file that is to take another's place. It has that one's mode before anything is written to it; where there is none,
/// what the umask leaves.
pub(crate) fn create_replacement(temporary: &Path, place: &Path) -> io::Result<File> {
    let file = File::create_new(temporary)?;
    if let Ok(found) = fs::metadata(place) {
        file.set_permissions(found.permissions())?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::create_replacement;

    #[test]
    fn a_replacement_has_the_mode_of_what_it_replaces() {
        let place = tempfile::tempdir().unwrap();
        let (old, new) = (place.path().join("old"), place.path().join("new"));
        fs::write(&old, "").unwrap();
        for mode in [0o600, 0o664, 0o640, 0o444] {
            fs::set_permissions(&old, Permissions::from_mode(mode)).unwrap();
            create_replacement(&new, &old).unwrap();
            assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o7777, mode);
            fs::remove_file(&new).unwrap();
        }
    }
}
