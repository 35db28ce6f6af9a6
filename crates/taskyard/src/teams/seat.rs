//! A place in a team, and who sits there.

use taskyard_core::{Member, Team};

/// A member's place in its team, as it was when it was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The team.
    pub team: Team,
    /// The name of the member.
    pub name: String,
}

impl Seat {
    /// Returns the member; none where it has left since.
    pub fn member(&self) -> Option<&Member> {
        self.team.member(&self.name)
    }

    /// Tells whether it is the lead's.
    pub fn is_lead(&self) -> bool {
        self.name == self.team.lead()
    }

    /// Returns the colour that messages from here carry. The client gives the lead's none.
    pub(crate) fn message_colour(&self) -> Option<String> {
        self.member().and_then(|member| member.color.clone())
    }
}
