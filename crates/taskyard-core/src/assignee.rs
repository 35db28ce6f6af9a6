//! Who a task is for.

use std::fmt;

use crate::AgentName;

/// An agent, or a role that agents declare, that a task names because it may take it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Assignee {
    /// The agent of this name.
    Agent(AgentName),
    /// Every agent in this role.
    Role(String),
}

impl Assignee {
    /// Reads `role:NAME` or the name of an agent; a blank word names no agent.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        let role = word.strip_prefix("role:").map(str::trim).filter(|role| !role.is_empty());
        role.map_or_else(|| AgentName::new(word).ok().map(Self::Agent), |role| Some(Self::Role(role.to_owned())))
    }
}

impl fmt::Display for Assignee {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(name) => name.fmt(formatter),
            Self::Role(role) => write!(formatter, "role:{role}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Assignee;
    use crate::AgentName;

    #[test]
    fn a_word_names_a_role_or_an_agent_and_is_shown_as_it_was_written() {
        assert_eq!(Assignee::parse("role:review"), Some(Assignee::Role("review".into())));
        assert_eq!(Assignee::parse(" role: review "), Some(Assignee::Role("review".into())));
        assert_eq!(Assignee::parse("ana"), AgentName::new("ana").ok().map(Assignee::Agent));
        for word in ["role:review", "ana", "bob@alpha"] {
            assert_eq!(Assignee::parse(word).unwrap().to_string(), word);
        }
    }

    #[test]
    fn a_blank_word_names_nobody_and_a_role_without_a_name_opens_nothing() {
        assert_eq!(Assignee::parse("  "), None);
        assert_eq!(Assignee::parse("role:"), AgentName::new("role:").ok().map(Assignee::Agent));
    }
}
