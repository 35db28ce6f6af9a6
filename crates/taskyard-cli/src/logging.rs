//! What goes on inside, on stderr, for a user who asks for it.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;

/// Starts writing log lines to stderr, if there is a filter: a level, or `target=level`, several separated by commas.
pub(crate) fn start(filter: Option<&str>) {
    let Some(filter) = filter else { return };
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(true).without_time().with_ansi(false);
    let subscriber = tracing_subscriber::registry().with(targets(filter)).with(lines);
    // A second start can only happen in tests; the first one stays then.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Reads a filter. A part that cannot be read is ignored; errors are logged if none can be.
fn targets(filter: &str) -> Targets {
    let mut parts = filter.split(',').filter_map(|part| part.trim().parse::<Targets>().ok()).peekable();
    if parts.peek().is_none() {
        return Targets::new().with_default(LevelFilter::ERROR);
    }
    parts.fold(Targets::new(), |all, part| match part.default_level() {
        Some(level) => all.with_default(level),
        None => all.with_targets(part),
    })
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::targets;

    #[test]
    fn filter_is_a_level_or_levels_of_targets() {
        let everything = targets("debug");
        assert!(everything.would_enable("taskyard::store", &Level::DEBUG));
        assert!(!everything.would_enable("taskyard::store", &Level::TRACE));
        let store = targets("warn, taskyard::store=trace,=!");
        assert!(store.would_enable("taskyard::store::file", &Level::TRACE));
        assert!(store.would_enable("taskyard::hooks", &Level::WARN));
        assert!(!store.would_enable("taskyard::hooks", &Level::INFO));
        assert!(targets("").would_enable("taskyard", &Level::ERROR));
    }
}
