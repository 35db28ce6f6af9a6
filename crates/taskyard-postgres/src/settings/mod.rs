//! Where the server is and how it is reached: what an address, a service file, the environment and a passfile say, in the places that
//! libpq looks at and in its order.

mod address;
mod host;
mod passfile;
mod reading;
mod secret;
mod service_file;
mod surroundings;

pub use address::BadAddress;
pub(crate) use host::{Host, TlsMode};
pub(crate) use passfile::Passfile;
pub(crate) use reading::Settings;
pub(crate) use secret::Secret;
pub use surroundings::Surroundings;
