//! Tokens that let programs in at the server: its own, and those by name. What requests carry is judged elsewhere (`web/security/`).

mod digest;
mod scope;
mod server_token;
mod token_book;

pub(crate) use digest::{digest, is_sealed, random_secret, seal};
pub(crate) use scope::Scope;
pub(crate) use server_token::ServerToken;
pub(crate) use token_book::{TokenBook, TokenProblem, TokenRecord};
