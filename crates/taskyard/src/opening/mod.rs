//! From the address of a store to everything that lives there.
//!
//! [`open`] turns an [`Address`] into a store with its teams, notices and todo lists. Where things are on this machine is said by
//! [`Places`]; what other crates can open comes in as [`Openers`]. Nothing is read, made or connected to before it is asked for.
//! Why it is done so is `docs/design/opening.md`.

mod address;
mod error;
mod finding;
mod open;
mod opened;
mod openers;
mod percent;
mod places;
mod secrets;
mod written_address;

pub use address::{Address, RemoteAddress};
pub use error::{AddressError, OpenError};
pub use open::open;
pub use opened::Opened;
pub use openers::{Opener, Openers};
pub use percent::percent_decoded;
pub use places::Places;
pub use secrets::hide_passwords;
pub use written_address::WrittenAddress;
