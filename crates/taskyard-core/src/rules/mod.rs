//! The rules: what was read comes in, a decision goes out. They are the specification of Taskyard.

pub mod agents;
pub mod assignment;
pub mod attempts;
pub mod attention;
pub mod briefing;
pub mod chains;
pub mod circles;
pub mod claiming;
pub mod departing;
pub mod dependencies;
pub mod edges_lost;
pub mod editing;
pub mod fate;
pub mod gate;
pub mod health;
pub mod hooking;
pub mod importing;
pub mod job_fate;
pub mod leasing;
pub mod list_choice;
pub mod listing;
pub mod liveness;
pub mod mailing;
pub mod making;
pub mod membership;
pub mod mending;
pub mod merging;
pub mod notes;
pub mod notifying;
pub mod numbering;
pub mod ordering;
pub mod own_list;
pub mod ownership;
pub mod parts;
pub mod patching;
pub mod plan_approval;
pub mod presence;
pub mod readiness;
pub mod rebasing;
pub mod reconnecting;
pub mod refusal;
pub mod renumbering;
pub mod replacing;
pub mod restoring;
pub mod restoring_copies;
pub mod retention;
pub mod returning;
pub mod searching;
pub mod statistics;
pub mod summarizing;
pub mod tagging;
pub mod taking_back;

pub mod team_choice;
pub mod timing;
pub mod todos;
pub mod transitions;
pub mod undoing;
pub mod unfinished;
pub mod vanishing;
pub mod verifying;

mod import_circles;
mod places;

#[cfg(test)]
mod samples;
