//! Where the texts of edits lie.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use taskyard::private::{make_data_directory, make_directory};

use super::sheet::{Sheet, base_of};

/// So many edits of one thing can be under way, or left, at a time.
const MOST: u32 = 1000;

/// The directory in which the texts of edits lie.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    data: PathBuf,
}

impl Desk {
    /// Returns the one in a data directory.
    pub(crate) fn in_data(data: &Path) -> Self {
        Self { data: data.to_owned() }
    }

    /// Lays out a text to be edited under a name, with what it began as. Where an earlier one has the name, it gets a number behind it.
    pub(crate) fn lay_out(&self, name: &str, text: &str, base: &str) -> io::Result<Sheet> {
        make_data_directory(&self.data)?;
        let directory = self.directory();
        if !directory.is_dir() {
            make_directory(&directory)?;
        }
        for number in 1..=MOST {
            match Sheet::make(&self.path(name, number), text, base) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{MOST} texts are left there")))
    }

    /// Takes up the newest text of that name that an earlier edit left; none where each is open in an editor, or there is none.
    pub(crate) fn take_up(&self, name: &str) -> io::Result<Option<Sheet>> {
        for path in self.left_under(name) {
            if let Some(sheet) = Sheet::take_up(&path)? {
                return Ok(Some(sheet));
            }
        }
        Ok(None)
    }

    /// Returns the newest text of that name that an earlier edit left.
    pub(crate) fn left(&self, name: &str) -> Option<PathBuf> {
        // A user who is at one now has not left it.
        self.take_up(name).ok().flatten().map(|sheet| sheet.path().to_owned())
    }

    /// Returns the texts of a name, the newest first.
    fn left_under(&self, name: &str) -> Vec<PathBuf> {
        let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
        for number in 1..=MOST {
            let path = self.path(name, number);
            if !base_of(&path).exists() {
                // A gap: those behind it were laid out while this one was there, which is rare; a few are looked at all the same.
                if number > 8 {
                    break;
                }
                continue;
            }
            if let Ok(modified) = fs::metadata(&path).and_then(|found| found.modified()) {
                found.push((modified, path));
            }
        }
        found.sort_by(|one, other| other.cmp(one));
        found.into_iter().map(|(_, path)| path).collect()
    }

    fn directory(&self) -> PathBuf {
        self.data.join("edits")
    }

    fn path(&self, name: &str, number: u32) -> PathBuf {
        let number = if number == 1 { String::new() } else { format!(".{number}") };
        self.directory().join(format!("{name}{number}.md"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Desk;

    #[test]
    fn a_text_stays_until_it_is_put_away_and_can_be_taken_up() {
        let place = tempfile::tempdir().unwrap();
        let desk = Desk::in_data(place.path());
        assert!(desk.take_up("a").unwrap().is_none());
        let sheet = desk.lay_out("a", "text", "base").unwrap();
        let path = sheet.path().to_owned();
        // A user who is at it has not left it.
        assert_eq!(desk.left("a"), None);
        let other = desk.lay_out("a", "other", "base").unwrap();
        assert_ne!(other.path(), path);
        other.put_away();
        fs::write(&path, "typed").unwrap();
        drop(sheet);
        assert_eq!(desk.left("a"), Some(path));
        let sheet = desk.take_up("a").unwrap().unwrap();
        assert_eq!((sheet.read().unwrap(), sheet.base().unwrap()), ("typed".into(), "base".into()));
        sheet.put_away();
        assert_eq!(desk.left("a"), None);
        assert_eq!(fs::read_dir(place.path().join("edits")).unwrap().count(), 0);
    }

    #[test]
    fn a_text_that_cannot_be_replaced_stays_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let sheet = Desk::in_data(place.path()).lay_out("a", "text", "base").unwrap();
        // Something stands in the way of the new one.
        fs::create_dir(place.path().join("edits/a.md.new")).unwrap();
        assert!(sheet.replace("new", "new base").is_err());
        assert_eq!((sheet.read().unwrap(), sheet.base().unwrap()), ("text".into(), "base".into()));
    }
}
