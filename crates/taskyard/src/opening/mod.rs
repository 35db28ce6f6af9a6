//! Opens everything at the address of a store. Begin with `open.rs`.
//!
//! [`open`] turns an [`Address`] into a store with its teams, notices and todo lists. [`Places`] has the paths on this
//! machine, [`Openers`] the stores of other crates. See `docs/design/stores.md`.

mod address_secrets;
#[cfg(feature = "teams")]
mod open;

pub use address_secrets::{WrittenAddress, hide_passwords, percent_decoded};
#[cfg(feature = "teams")]
pub use open::{Address, AddressError, OpenError, Opened, Opener, Openers, Places, RemoteAddress, open};
