//! What the environment says of PostgreSQL.

use std::path::PathBuf;

/// What the environment says of PostgreSQL. The program that reads the environment fills this in.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The variables whose names begin with `PG`. One of them may be a password.
    pub variables: Vec<(String, String)>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The user's login.
    pub user: Option<String>,
}

impl Surroundings {
    /// Returns a variable; one that is empty counts as not set.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns a path in the home directory.
    pub(crate) fn at_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.variables.iter().map(|(name, _)| name.as_str()).collect();
        formatter.debug_struct("Surroundings").field("variables", &names).field("home", &self.home).finish()
    }
}
