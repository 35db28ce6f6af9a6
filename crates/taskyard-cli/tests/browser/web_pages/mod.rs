//! The pages in a real Chromium: two windows, everything by mouse and by keyboard, what comes from outside, and what never runs.

mod belonging;
mod board;
mod everyday;
mod keyboard;
mod large_lists;
mod lists_and_teams;
mod live;
mod looks;
mod proxied;
mod scripts;
mod windows;
mod work;
