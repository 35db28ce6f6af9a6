//! What to say when another program's files could not be read or written.

use crate::interchange::InterchangeError;

use taskyard_core::problem::{Problem, ProblemKind};

use super::advice;

impl From<InterchangeError> for Problem {
    fn from(error: InterchangeError) -> Self {
        let message = error.to_string();
        let (problem, path) = match error {
            InterchangeError::Io { path, source, .. } => {
                let problem = Self::new(ProblemKind::CouldNot, "io", message);
                let problem = match advice(&source) {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                };
                (problem, path)
            }
            InterchangeError::NotAFolder { path, .. } => {
                (Self::usage("not_a_folder", message).hint("give the folder that it is in"), path)
            }
            InterchangeError::NotAFile { path, .. } => {
                (Self::usage("not_a_file", message).hint("give the path of the file itself"), path)
            }
            InterchangeError::Bad { path, .. } => {
                let hint = "see that --from names what the file is; `taskyard import --help` lists the formats";
                (Self::usage("bad_source", message).hint(hint), path)
            }
            InterchangeError::OtherFormat { path, looks_like, .. } => {
                let hint = format!("`taskyard import {} --from {looks_like}`", path.display());
                (Self::usage("other_format", message).hint(hint).detail("looksLike", looks_like), path)
            }
            InterchangeError::NothingFound { path, .. } => {
                let hint = "see that the path is the right one; `taskyard import --help` lists the formats";
                (Self::usage("nothing_found", message).hint(hint), path)
            }
            InterchangeError::NotEmpty { path } => {
                (Self::usage("not_empty", message).hint("give a folder that does not exist yet"), path)
            }
        };
        problem.detail("path", path.display().to_string())
    }
}
