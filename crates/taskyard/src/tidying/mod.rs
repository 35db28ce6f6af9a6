//! Tidying up: what is old goes, as far as it is not promised to stay. `docs/design/retention.md` says what that is.
//!
//! Nothing here removes a task that is on a list.

mod caretaker;
mod daily;
mod household;
mod time_count;

pub use caretaker::Caretaker;
pub use daily::DailyTidying;
pub use household::{Household, Named, TidiedList};
