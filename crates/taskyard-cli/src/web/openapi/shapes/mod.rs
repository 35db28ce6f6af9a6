//! The shapes of answers, as the document describes them. They are never made: the commands write their own JSON, and a test holds every
//! answer it gets against these.
#![expect(dead_code, reason = "shapes describe answers and are never made")]

mod access;
mod claims;
mod jobs;
mod leases;
mod lists;
mod tasks;
mod teams;

pub(crate) use access::{ErrorAnswer, EventStream, LinkMade, TokenMade, TokenRevoked, Tokens};
pub(crate) use claims::{ClaimLost, ClaimWon, ClaimedTogether, Departed, Released, ReleasedTogether, Renewed};
pub(crate) use jobs::{JobOutput, JobStarted, JobStopped, Jobs, JobsTidied};
pub(crate) use lists::{
    AgentAlone, Agents, Cleared, Exported, Findings, Found, Graph, History, Imported, ListAlone, Lists, Merged, Ready,
    Restorable, Restored, Stats, Undone, Where, Whoami,
};
pub(crate) use tasks::{Cancelled, Changed, ChangedTogether, Deleted, Listing, Made, MadeTogether, Noted, Shown};
pub(crate) use teams::{Inbox, Outbox, Sent, TeamEnded, TeamJoined, TeamLeft, TeamMade, TeamShown, Teams, Todos};
