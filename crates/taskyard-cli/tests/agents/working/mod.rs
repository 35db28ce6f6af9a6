//! `taskyard work` with real processes: what it runs, how it ends, and what is left when it dies.
#![cfg(unix)]

mod agents;
mod death;
mod hooks;
mod merge_contest;
mod orphans;
mod running;
mod runs;
mod site;
mod stopping;
mod supervising;
mod teams;
mod telling;
mod trees;
mod worktrees;
