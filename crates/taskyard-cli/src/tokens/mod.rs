//! Tokens that let programs in at the server, its own and those by name; and the browsers that a link let in. What requests carry is judged elsewhere (`web/security/`).

mod answers;
mod browser_record;
mod browsers;
mod digest;
mod scope;
mod server_token;
mod token_book;

pub(crate) use answers::{token_created, tokens_shown};
pub(crate) use browser_record::{BrowserDigests, BrowserRecord, LinkTerms};
pub(crate) use digest::{digest, random_secret, seal};
pub(crate) use scope::Scope;
pub(crate) use server_token::ServerToken;
pub(crate) use token_book::{TokenBook, TokenProblem, TokenRecord};
