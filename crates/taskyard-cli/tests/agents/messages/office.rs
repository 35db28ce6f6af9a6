//! A home with a team in it.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use taskyard_testkit::{Home, leftovers};

/// A home whose user, `tester`, leads team alpha.
pub(crate) struct Office {
    pub(crate) home: Home,
}

impl Office {
    /// Returns a home without teams.
    pub(crate) fn empty() -> Self {
        Self { home: Home::new(env!("CARGO_BIN_EXE_taskyard")) }
    }

    /// Returns a home with team alpha, and these in it.
    pub(crate) fn with(members: &[&str]) -> Self {
        let office = Self::empty();
        office.home.ask("team create alpha");
        for member in members {
            office.home.ask(&format!("team join alpha --as {member}"));
        }
        office
    }

    /// Returns a path below the directory of team alpha.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(".claude/teams/alpha").join(below)
    }

    /// Returns what lies in an inbox, which has to be whole; none where there is no inbox.
    pub(crate) fn inbox(&self, agent: &str) -> Option<Vec<Value>> {
        let text = fs::read_to_string(self.path(&format!("inboxes/{agent}.json"))).ok()?;
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
    }

    /// Returns the texts of what lies in an inbox.
    pub(crate) fn lying(&self, agent: &str) -> Vec<String> {
        self.inbox(agent).unwrap_or_default().iter().map(|message| text(&message["text"])).collect()
    }

    /// Returns the texts of what an agent is shown.
    pub(crate) fn shown(&self, agent: &str) -> Vec<String> {
        let messages = self.home.ask(&format!("inbox --as {agent}"))["messages"].as_array().unwrap().clone();
        messages.iter().map(|message| text(&message["text"])).collect()
    }

    /// Returns the names of the members of team alpha; none where there is no team.
    pub(crate) fn members(&self) -> Option<Vec<String>> {
        let teams = self.home.ask("team list")["teams"].as_array().unwrap().clone();
        let names = teams.first()?["members"].as_array().unwrap();
        Some(names.iter().map(text).collect())
    }

    /// Returns what processes that died left behind.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let root = self.home.path().join(".claude/teams");
        [root, self.path(""), self.path("inboxes")].iter().flat_map(|place| leftovers(place)).collect()
    }
}

/// Returns the text of a JSON value.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
