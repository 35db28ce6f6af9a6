//! The commands, each through the real binary on an empty home directory, with stdout, stderr and exit code.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod adopt;
mod backup;
mod bad_files;
#[cfg(unix)]
mod bad_places;
#[cfg(unix)]
mod bad_teams;
mod cancel;
mod claim;
mod clear;
mod completions;
mod config;
mod create;
mod delete;
mod demo;
mod depend;
mod dialects;
mod doctor;
mod done;
#[cfg(unix)]
mod edit;
mod export;
mod gc;
mod graph;
mod hidden;
mod history;
mod hook;
mod hook_answers;
#[cfg(unix)]
mod hooks;
mod import;
mod job_traces;
#[cfg(target_os = "linux")]
mod jobs;
mod json_keys;
mod keystrokes;
mod list;
mod lists;
mod lost_lists;
mod man;
mod member_ends;
mod merge;
mod mistakes;
#[cfg(unix)]
mod modes;
#[cfg(unix)]
mod nobody;
mod note;
mod notify;
mod numbers;
mod other_lists;
mod passwords;
mod prime;
#[cfg(unix)]
mod privacy;
mod readme;
mod ready;
mod recurring;
mod reference;
mod release;
mod renew;
mod reopen;
mod repositories;
mod restore;
mod search;
mod send;
mod serve;
mod session_start;
mod setup;
mod short;
mod show;
#[cfg(unix)]
mod signals;
mod start;
mod stats;
mod statusline;
mod surrogates;
#[cfg(target_os = "linux")]
mod system_calls;
mod team;
mod template;
#[cfg(unix)]
mod terminal;
mod terminals;
mod test;
mod todo;
mod token;
mod trackers;
#[cfg(unix)]
mod trust;
mod undepend;
mod undo;
#[cfg(unix)]
mod untrusted;
mod update;
mod usage;
mod use_list;
mod version;
mod watch;
mod where_is;
mod whoami;
#[cfg(unix)]
mod work;
