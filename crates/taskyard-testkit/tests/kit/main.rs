//! What the testkit offers, and contests that it holds between processes, languages and stores.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod browser;
mod document_rivals;
mod log_store;
mod messages_arrive;
mod one_document;
mod one_winner;
mod postgres_server;
mod processes;
