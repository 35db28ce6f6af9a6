//! From the address of a store to everything that lives there.
//!
//! [`open`] turns an [`Address`] into a store with its teams, notices and todo lists. Where things are on this machine is said by
//! [`Places`]; what other crates can open comes in as [`Openers`]. Nothing is read, made or connected to before it is asked for.
//! Why it is done so is `docs/design/opening.md`.

#[cfg(feature = "teams")]
mod address;
#[cfg(feature = "teams")]
mod error;
#[cfg(feature = "teams")]
mod finding;
#[cfg(feature = "teams")]
mod open;
#[cfg(feature = "teams")]
mod opened;
#[cfg(feature = "teams")]
mod openers;
mod percent;
#[cfg(feature = "teams")]
mod places;
mod secrets;
mod written_address;

#[cfg(feature = "teams")]
pub use address::{Address, RemoteAddress};
#[cfg(feature = "teams")]
pub use error::{AddressError, OpenError};
#[cfg(feature = "teams")]
pub use open::open;
#[cfg(feature = "teams")]
pub use opened::Opened;
#[cfg(feature = "teams")]
pub use openers::{Opener, Openers};
pub use percent::percent_decoded;
#[cfg(feature = "teams")]
pub use places::Places;
pub use secrets::hide_passwords;
pub use written_address::WrittenAddress;
