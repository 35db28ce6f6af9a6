//! A whole run.

use std::io;
use std::process::ExitCode;

use crate::Failure;
use crate::options::Options;
use crate::places::Place;
use crate::table::{self, Row};
use crate::{
    backgrounding, boarding, claiming, completing, contending, creating, doctoring, filtering, idling, inboxing,
    listing, living, programs_served, ranking, serving, starting,
};

/// Makes a measurement.
enum Measure {
    /// In every place.
    In(fn(&Options, &Place) -> Result<Vec<Row>, Failure>),
    /// Of something that touches no files.
    Anywhere(fn(&Options) -> Result<Vec<Row>, Failure>),
}

const MEASURES: [(&str, Measure); 16] = [
    ("list", Measure::In(listing::measure)),
    ("doctor", Measure::In(doctoring::measure)),
    ("create", Measure::In(creating::measure)),
    ("start", Measure::In(starting::measure)),
    ("rank", Measure::Anywhere(ranking::measure)),
    ("filter", Measure::Anywhere(filtering::measure)),
    ("complete", Measure::In(completing::measure)),
    ("running", Measure::In(living::measure)),
    ("idle", Measure::In(idling::measure)),
    ("contend", Measure::In(contending::measure)),
    ("claim", Measure::In(claiming::measure)),
    ("mcp", Measure::In(serving::measure)),
    ("inbox", Measure::In(inboxing::measure)),
    ("jobs", Measure::In(backgrounding::measure)),
    ("board", Measure::In(boarding::measure)),
    ("web", Measure::In(programs_served::measure)),
];

/// Makes the measurements, writes the table, and answers with failure when a target is missed.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let mut rows = Vec::new();
    let places = Place::all(options);
    for (name, measure) in MEASURES {
        if !options.measures.is_empty() && !options.measures.iter().any(|wanted| wanted == name) {
            continue;
        }
        match measure {
            Measure::Anywhere(measure) => rows.extend(measure(options)?),
            Measure::In(measure) => {
                for place in &places {
                    rows.extend(measure(options, place)?);
                }
            }
        }
    }
    table::write(&rows, &mut io::stdout().lock())?;
    Ok(if rows.iter().any(|row| row.target.is_missed()) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
