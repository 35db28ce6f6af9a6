//! The user's templates: Markdown files in the directory `templates` beside the user's `taskyard.toml`. What is in them
//! is read by `taskyard::core::forms::template`.

use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use taskyard::core::near_words::nearest;
use taskyard::private::{create, is_ours_or_roots, make_directory};
use taskyard::regular_file::read_following;

use crate::environment::Environment;
use crate::exit::{Problem, ProblemKind};
use crate::places;

/// Maximum size of a template in bytes.
const LARGEST: u64 = 16 << 20;
/// Maximum length of a template's name in bytes.
const LONGEST_NAME: usize = 100;
/// The extension of a template's file.
const EXTENSION: &str = ".md";

/// The user's directory of templates. It need not exist.
pub(crate) struct TemplateFiles {
    directory: PathBuf,
}

impl TemplateFiles {
    pub(crate) fn of(environment: &Environment) -> Result<Self, Problem> {
        places::templates(environment).map(|directory| Self { directory })
    }

    /// Returns the file of a template, whether or not it exists.
    pub(crate) fn path(&self, name: &str) -> Result<PathBuf, Problem> {
        let is_usual = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_' | '.');
        let has_usual = name.starts_with(char::is_alphanumeric) && name.chars().all(is_usual);
        if !has_usual || name.len() > LONGEST_NAME {
            let message = format!("`{}` cannot be the name of a template", name.escape_debug());
            return Err(Problem::usage("bad_template_name", message).hint(format!(
                "use letters, digits, `-`, `_` and `.`, at most {LONGEST_NAME} bytes, with a letter or digit first"
            )));
        }
        Ok(self.directory.join(format!("{name}{EXTENSION}")))
    }

    /// Returns the names of all templates, sorted.
    pub(crate) fn names(&self) -> Result<Vec<String>, Problem> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("read", &self.directory, &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed("read", &self.directory, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(EXTENSION).filter(|name| self.path(name).is_ok()).map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the text of a template. A file that another user could have written is a problem.
    pub(crate) fn read(&self, name: &str) -> Result<String, Problem> {
        let path = self.path(name)?;
        let found = match fs::metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.not_found(name)?),
            Err(error) => return Err(failed("read", &path, &error)),
        };
        if !is_ours_or_roots(found.uid()) || found.mode() & 0o002 != 0 {
            let message = format!("`{}` is not used: another user could have written it", path.display());
            return Err(Problem::new(ProblemKind::CouldNot, "template_doubtful", message)
                .hint("make it yours, and close it to others with `chmod o-w`")
                .detail("path", path.display().to_string()));
        }
        let bytes = read_following(&path, LARGEST).map_err(|why| failed("read", &path, &io::Error::from(why)))?;
        String::from_utf8(bytes).map_err(|error| {
            Problem::usage("not_utf8", format!("`{}` is not UTF-8: {}", path.display(), error.utf8_error()))
        })
    }

    /// Writes a new template.
    pub(crate) fn create(&self, name: &str, text: &str) -> Result<(), Problem> {
        let path = self.path(name)?;
        if fs::symlink_metadata(&path).is_ok() {
            return Err(Problem::new(
                ProblemKind::Refused,
                "template_exists",
                format!("template `{name}` already exists"),
            )
            .hint("`--replace` overwrites it")
            .detail("template", name)
            .detail("path", path.display().to_string()));
        }
        self.replace(name, text)
    }

    /// Writes a template, whether or not it exists.
    pub(crate) fn replace(&self, name: &str, text: &str) -> Result<(), Problem> {
        let path = self.path(name)?;
        let temporary = self.directory.join(format!(".{name}.{}.tmp", std::process::id()));
        let write = || {
            make_directory(&self.directory)?;
            let mut file = create(&temporary)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&temporary);
            failed("write", &path, &error)
        })
    }

    /// Removes a template.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Problem> {
        let path = self.path(name)?;
        fs::remove_file(&path).map_err(|error| failed("remove", &path, &error))
    }

    fn not_found(&self, name: &str) -> Result<Problem, Problem> {
        let names = self.names()?;
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = match (nearest(name, &words), words.is_empty()) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, true) => "`taskyard template save NAME 12-19` creates one".to_owned(),
            (None, false) => format!("templates are {}", words.join(", ")),
        };
        let message = format!("there is no template named `{name}`");
        Ok(Problem::new(ProblemKind::NotFound, "template_not_found", message).hint(hint).detail("template", name))
    }
}

fn failed(doing: &str, path: &Path, error: &io::Error) -> Problem {
    Problem::io(&format!("cannot {doing} `{}`", path.display()), error).detail("path", path.display().to_string())
}
