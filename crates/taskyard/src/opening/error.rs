//! Why an address leads nowhere.

use crate::StoreError;

/// Why an address cannot be read. None of these holds a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// No opener knows what it names.
    #[error("`{address}` is no store that is known")]
    Unknown {
        /// The address, without a password.
        address: String,
        /// The schemes that other crates' stores have.
        schemes: Vec<&'static str>,
    },
    /// The directory it needs is missing.
    #[error("the store `{scheme}:` names no directory")]
    NoDirectory {
        /// What stands before the colon.
        scheme: String,
    },
    /// It has a password, and it cannot be told where that ends.
    #[error("the store `{scheme}:…` cannot be read: it is not clear where its password ends")]
    UnclearPassword {
        /// What stands before the colon.
        scheme: String,
    },
    /// The opener of such addresses cannot make sense of it.
    #[error("the store `{address}` cannot be used: {why}")]
    Unusable {
        /// The address, without a password.
        address: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Its address leads nowhere.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// It is in the client's directory, and that is nowhere.
    #[error("there is no directory of the client")]
    NoClientDirectory,
    /// It needs our data directory, and that is nowhere.
    #[error("there is no data directory")]
    NoDataDirectory,
    /// It says so itself.
    #[error(transparent)]
    Store(#[from] StoreError),
}
