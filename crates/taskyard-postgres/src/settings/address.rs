//! What an address says.

use taskyard::opening::percent_decoded;

/// Why an address cannot be used. It holds no password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAddress(String);

impl BadAddress {
    /// Says what is wrong.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// Returns what an address says, under libpq's names; `schema` is ours.
pub(super) fn parameters(address: &str) -> Result<Vec<(String, String)>, BadAddress> {
    let rest = address.split_once("://").map(|(_, rest)| rest);
    let rest = rest.ok_or_else(|| BadAddress::new("two slashes are missing after its colon"))?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let (names, ports): (Vec<&str>, Vec<&str>) = hosts.split(',').map(host_and_port).unzip();
    let hosts = names.iter().map(|name| decoded(name)).collect::<Result<Vec<_>, _>>()?.join(",");
    let ports = if ports.iter().all(|port| port.is_empty()) { String::new() } else { ports.join(",") };
    let mut found = vec![
        ("user".to_owned(), decoded(user)?),
        ("password".to_owned(), decoded(password)?),
        ("host".to_owned(), if names.iter().all(|name| name.is_empty()) { String::new() } else { hosts }),
        ("port".to_owned(), ports),
        ("dbname".to_owned(), decoded(database)?),
    ];
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        found.push((decoded(name)?, decoded(value)?));
    }
    found.retain(|(_, value)| !value.is_empty());
    Ok(found)
}

fn host_and_port(host: &str) -> (&str, &str) {
    if let Some((name, rest)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (name, rest.strip_prefix(':').unwrap_or_default());
    }
    host.split_once(':').unwrap_or((host, ""))
}

fn decoded(text: &str) -> Result<String, BadAddress> {
    String::from_utf8(percent_decoded(text)).map_err(|_| BadAddress::new("what is percent-encoded in it is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::parameters;

    #[test]
    fn an_address_says_who_where_and_how() {
        let said = parameters("postgres://ana:s%40x@h1:1,[::1]:2/d%62?sslmode=require&schema=yard").unwrap();
        let expected = [
            ("user", "ana"),
            ("password", "s@x"),
            ("host", "h1,::1"),
            ("port", "1,2"),
            ("dbname", "db"),
            ("sslmode", "require"),
            ("schema", "yard"),
        ];
        assert_eq!(said, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn what_an_address_does_not_say_is_left_to_others() {
        assert_eq!(parameters("postgres://").unwrap(), []);
        let socket = parameters("postgres://%2Frun%2Fpg/db").unwrap();
        assert_eq!(socket[0], ("host".to_owned(), "/run/pg".to_owned()));
    }
}
