//! A task as people edit it: fields on top, the description below.

mod printing;
mod reading;

pub use printing::{print, print_new};
pub use reading::{EditFormError, read};
