//! Charts of what became of a list, as SVG for a page. They bring no style along: the page has one for their classes, and without it the
//! attributes of the elements say the same for a light page.
//!
//! Classes: `chart` and its kind on the picture; `grid`, `label` and `figure` (numbers) for what surrounds it; `done`, `in_progress`,
//! `pending` and `total` for what is shown.

mod agents_at_work;
mod burn_up;
mod frame;
mod time_axis;
mod time_in_state;

pub use agents_at_work::agents_at_work_svg;
pub use burn_up::burn_up_svg;
pub use time_in_state::time_in_state_svg;
