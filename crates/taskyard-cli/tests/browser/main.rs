//! The API and its pages, over real sockets and in a real browser.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod page_scripts;
mod web;
mod web_pages;
