//! Teams and their messages, in the client's own files: who is in a team, and what its members write to each other.
//!
//! What the client would forget lives in a database of ours (`memory/`): who has which seat and what it lives with, which
//! messages were shown and acknowledged, and how far plans came. Why it is done so: `docs/design/teams.md`. What becomes of the
//! tasks of whoever leaves is an operation (`operations/team.rs`).

mod creating;
mod error;
mod following;
mod inbox;
mod joining;
mod known_whole;
mod memory;
mod mending;
mod outbox;
mod places;
mod planning;
mod random_id;
mod receiving;
mod refusal;
mod register;
mod seat;
mod sending;
mod showing;
mod team_file;

pub use creating::NewTeam;
pub use error::TeamError;
pub use following::{AgentListener, FollowedAgents, SeatListener};
pub use inbox::SetAside;
pub use joining::{NewMember, Presence};
pub use mending::{Mended, TeamTrouble};
pub use outbox::{Outbox, SentMessage};
pub use receiving::{Acknowledged, Received};
pub use refusal::TeamRefusal;
pub use register::{Teams, TeamsFound, TeamsOptions};
pub use seat::Seat;
pub use sending::{Letter, Sent};
pub use showing::{MemberShown, TeamShown};
pub use taskyard_core::rules::mailing::{Delivery, DeliveryState, Unreachable};
pub use taskyard_core::rules::membership::{BadMemberName, MemberState};
pub use taskyard_core::rules::plan_approval::PlanState;

/// What came of something that a rule may refuse.
pub type Judged<T> = Result<Result<T, TeamRefusal>, TeamError>;
