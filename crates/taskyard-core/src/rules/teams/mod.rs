//! Teams: who is in one, what they write to each other, and what they are told.

pub mod mailing;
pub mod membership;
pub mod notifying;
pub mod plan_approval;
pub mod team_choice;
