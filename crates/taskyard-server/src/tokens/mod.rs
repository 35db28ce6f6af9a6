//! Authentication data: the server's own token, named tokens, and signed-in browsers. Begin with `token_book.rs`. The
//! checks of requests are in `web/security/`.

mod answers;
mod browser_record;
mod browsers;
mod digest;
mod scope;
mod server_token;
mod token_book;

pub use answers::{token_created, tokens_shown};
pub use browser_record::BrowserRecord;
pub(crate) use browser_record::{BrowserDigests, LinkTerms};
pub(crate) use digest::{digest, random_secret, seal};
pub use scope::Scope;
pub use server_token::ServerToken;
pub use token_book::{TokenBook, TokenProblem, TokenRecord};
