//! Authentication, authorization and rate limits. Begin with `credentials.rs`, which identifies the caller; the records of
//! tokens and browsers are in `tokens/`.

mod cookies;
mod credentials;
mod guard;
mod headers;
mod links;
mod live_tokens;
mod rates;

pub(crate) use cookies::{BrowserSecrets, Cookies};
pub(crate) use credentials::{Credentials, Effort, Identity, Means};
pub(crate) use guard::{Guard, Refused, Scheme};
pub(crate) use headers::secured;
pub(crate) use links::{Links, OpeningPage};
use live_tokens::LiveTokens;
pub(crate) use rates::Rates;
