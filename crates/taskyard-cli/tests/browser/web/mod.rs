//! The API and the pages over HTTP through the binary, over real sockets: what they answer, whom it lets in, what it withstands, and how events come.

mod answers;
mod contract;
mod contrast;
mod encryption;
mod events;
mod expecting;
mod foreign_programs;
mod guarding;
mod limits;
mod many_streams;
mod opening;
mod pages;
mod restarting;
mod served;
mod stores;
mod tokens;
mod waits;
