//! What goes on inside, on stderr, for a user who asks for it.

use tracing_subscriber::EnvFilter;

/// Starts writing log lines to stderr, if there is a filter.
pub(crate) fn start(filter: Option<&str>) {
    let Some(filter) = filter else { return };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_target(true)
        .without_time()
        .with_ansi(false)
        .finish();
    // A second start can only happen in tests; the first one stays then.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
