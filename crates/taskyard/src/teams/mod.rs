//! Teams: their members, and the messages between members. All decisions are in [`Teams`] (`register.rs`, begin there);
//! a store of teams implements the traits in `team_store.rs`, as the client's files (`files/`) and memory
//! (`memory_teams.rs`) do. The design is in `docs/design/teams.md`.

#[cfg(feature = "teams")]
mod files;
mod members;
mod memory_teams;
mod messages;
mod register;
mod team_error;
mod team_status;
mod team_store;

#[cfg(feature = "teams")]
pub use files::{FileTeams, FileTeamsOptions, count_old_letters, forget_old_letters};
#[cfg(feature = "teams")]
pub(crate) use files::{MovedTeam, copy_team_memory, take_team_memory};
pub use members::{Backend, Ghost, NewMember, NewTeam, Presence};
pub use memory_teams::MemoryTeams;
pub use messages::{Correspondence, Letter, Outbox, Received, Sent, SentMessage};
pub use register::{TeamCaller, Teams};
pub use taskyard_core::rules::teams::mailing::{Delivery, DeliveryState, Traces};
pub use taskyard_core::rules::teams::membership::{MemberState, PlanState};
pub use team_error::{TeamError, TeamFileError};
pub use team_status::{ChosenBy, ChosenSeat, MemberShown, TeamShown};
pub use team_store::{
    Acknowledged, Added, LeadMail, Mailbox, Mailboxes, Mended, Plan, Posted, Roster, Seat, SeatMemory, SeatRecord,
    SeatTaken, SentFound, SentLetter, SetAside, TeamFileCare, TeamStore, TeamTrouble, TeamWatch, TeamsFound, Trace,
    UnreadableTeam,
};
