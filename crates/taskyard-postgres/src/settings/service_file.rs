//! Service files: settings under a name.

use std::fs;
use std::path::PathBuf;

use super::{BadAddress, Surroundings};

/// Returns the settings of a service, from the user's file or else the system's.
pub(super) fn service(name: &str, surroundings: &Surroundings) -> Result<Vec<(String, String)>, BadAddress> {
    let own = surroundings.variable("PGSERVICEFILE").map(PathBuf::from);
    let own = own.or_else(|| surroundings.at_home(".pg_service.conf"));
    let system = surroundings.variable("PGSYSCONFDIR").unwrap_or("/etc/postgresql-common");
    let system = PathBuf::from(system).join("pg_service.conf");
    let texts = own.into_iter().chain([system]).filter_map(|file| fs::read_to_string(file).ok());
    let mut found = texts.filter_map(|text| section(&text, name));
    found.next().ok_or_else(|| BadAddress::new(format!("no service file defines the service `{name}`")))
}

fn section(text: &str, name: &str) -> Option<Vec<(String, String)>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut lines =
        lines.skip_while(|line| line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) != Some(name));
    lines.next()?;
    let of_section = lines.take_while(|line| !line.starts_with('['));
    let setting =
        |line: &str| line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    Some(of_section.filter_map(setting).collect())
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_service_has_the_settings_below_its_name() {
        let text = "[one]\nhost=a\n\n[two]\n# words\nhost = b\nport=6432\n[three]\nhost=c\n";
        let expected = [("host", "b"), ("port", "6432")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(section(text, "two").unwrap(), expected);
        assert_eq!(section(text, "four"), None);
    }
}
