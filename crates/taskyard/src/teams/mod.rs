//! Teams and their messages: who is in a team, and what its members write to each other.
//!
//! What is decided about them is on [`Teams`], once; what a place must be able to do for them to live there is
//! `contract.rs`. Places are the client's own files (`files/`) and this process (`memory_teams.rs`). Why it is done so:
//! `docs/design/teams.md`. What becomes of the tasks of a member that leaves is an operation (`operations/team.rs`).

mod care;
mod choosing;
mod contract;
mod conversing;
mod creating;
mod ending;
mod error;
mod file_error;
#[cfg(feature = "teams")]
mod files;
mod joining;
mod memory_teams;
mod outbox;
mod planning;
mod random_id;
mod receiving;
mod refusal;
mod register;
mod seat;
mod seat_record;
mod sending;
mod showing;
mod teams_found;
mod troubles;

pub use care::{Mended, TeamFileCare, TeamTrouble};
pub use choosing::{ChosenBy, ChosenSeat};
pub use contract::{
    Acknowledged, Added, LeadMail, Mailbox, Mailboxes, Posted, Roster, SeatMemory, SentFound, SentLetter, SetAside,
    TeamStore, TeamWatch, Trace,
};
pub use conversing::Correspondence;
pub use creating::NewTeam;
pub use error::TeamError;
pub use file_error::TeamFileError;
#[cfg(feature = "teams")]
pub use files::{FileTeams, FileTeamsOptions, count_old_letters, forget_old_letters};
#[cfg(feature = "teams")]
pub(crate) use files::{MovedTeam, copy_team_memory, take_team_memory};
pub use joining::{Backend, Ghost, NewMember, Presence};
pub use memory_teams::MemoryTeams;
pub use outbox::{Outbox, SentMessage};
pub use receiving::Received;
pub use refusal::{Judged, TeamRefusal};
pub use register::{TeamCaller, Teams};
pub use seat::Seat;
pub use seat_record::{Plan, SeatRecord, SeatTaken};
pub use sending::{Letter, Sent};
pub use showing::{MemberShown, TeamShown};
pub use taskyard_core::rules::teams::mailing::{Delivery, DeliveryState, Traces};
pub use taskyard_core::rules::teams::membership::MemberState;
pub use taskyard_core::rules::teams::plan_approval::PlanState;
pub use teams_found::{TeamsFound, UnreadableTeam};
