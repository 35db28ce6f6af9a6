//! A whole run.

use std::io;
use std::process::ExitCode;

use crate::Failure;
use crate::options::Options;
use crate::places::Place;
use crate::table::{self, Row};
use crate::{claiming, contending, creating, listing, starting};

/// Makes a measurement in a place.
type Measure = fn(&Options, &Place) -> Result<Vec<Row>, Failure>;

const MEASURES: [(&str, Measure); 5] = [
    ("list", listing::measure),
    ("create", creating::measure),
    ("start", starting::measure),
    ("contend", contending::measure),
    ("claim", claiming::measure),
];

/// Makes the measurements, writes the table, and answers with failure when a target is missed.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let mut rows = Vec::new();
    let places = Place::all(options);
    for (name, measure) in MEASURES {
        if options.measures.is_empty() || options.measures.iter().any(|wanted| wanted == name) {
            for place in &places {
                rows.extend(measure(options, place)?);
            }
        }
    }
    table::write(&rows, &mut io::stdout().lock())?;
    Ok(if rows.iter().any(|row| row.target.is_missed()) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
