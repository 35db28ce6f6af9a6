//! Connection settings from the address, service files, password files and the environment.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use taskyard::opening::percent_decoded;

/// Default connection timeout per host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Default schema.
const SCHEMA: &str = "taskyard";
const PORT: u16 = 5432;

/// The environment variable that supplies each setting that neither the address nor the service file gives.
const VARIABLES: [(&str, &str); 14] = [
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("dbname", "PGDATABASE"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("passfile", "PGPASSFILE"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("application_name", "PGAPPNAME"),
];
/// Other accepted settings. The last ones have no effect here.
const OTHERS: [&str; 12] = [
    "service",
    "schema",
    "channel_binding",
    "fallback_application_name",
    "gssencmode",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "sslcompression",
    "sslsni",
    "tcp_user_timeout",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The hosts to try, in order.
    pub(crate) hosts: Vec<Host>,
    pub(crate) user: String,
    pub(crate) database: String,
    /// The schema that holds the tables.
    pub(crate) schema: String,
    /// The application name of our connections.
    pub(crate) application: String,
    /// Whether to skip a host that is read-only.
    pub(crate) wants_writable: bool,
    /// Connection timeout per host.
    pub(crate) connect_timeout: Duration,
    /// Trusted certificate authorities; the system's if `None`.
    pub(crate) root_certificate: Option<PathBuf>,
    pub(crate) client_certificate: Option<PathBuf>,
    pub(crate) client_key: Option<PathBuf>,
    /// Whether a process that has the address without its password can connect, by a password file or because none is
    /// needed.
    pub(crate) opens_without_password: bool,
}

/// Settings from all sources, highest precedence first.
struct Said(Vec<(String, String)>);

impl Said {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn parts(&self, name: &str) -> Vec<&str> {
        self.get(name).map(|value| value.split(',').collect()).unwrap_or_default()
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
    }
}

impl Settings {
    /// Collects the settings for an address from all sources.
    pub(crate) fn read(address: &str, surroundings: &Surroundings) -> Result<Self, BadAddress> {
        let mut said = Said(parameters(address)?);
        let own_password = said.get("password").map(str::to_owned);
        if let Some(name) = said.get("service").or_else(|| surroundings.variable("PGSERVICE")).map(str::to_owned) {
            said.0.extend(service(&name, surroundings)?);
        }
        let variable = |(name, of): (&str, &str)| Some((name.to_owned(), surroundings.variable(of)?.to_owned()));
        // A service's password is in a file that child processes read, too.
        let of_service = said.get("password").map(str::to_owned);
        said.0.extend(VARIABLES.into_iter().filter_map(variable));
        let own_password =
            own_password.or_else(|| said.get("password").filter(|_| of_service.is_none()).map(str::to_owned));
        check(&said)?;
        let user = said.get("user").or(surroundings.user.as_deref());
        let user =
            user.ok_or_else(|| BadAddress::new("no user given; write postgres://USER@HOST/DATABASE or set PGUSER"))?;
        let database = said.get("dbname").unwrap_or(user).to_owned();
        let mut hosts = hosts(&said)?;
        let passfile = said.path("passfile").or_else(|| surroundings.at_home(".pgpass"));
        let passfile = passfile.as_deref().map(Passfile::read).unwrap_or_default();
        let mut opens_without_password = true;
        for host in &mut hosts {
            let kept = passfile.password(known_as(host), host.port, &database, user);
            if let Some(own) = &own_password {
                opens_without_password &= kept.is_some_and(|kept| kept.reveal() == own);
            }
            host.password = said.get("password").map(Secret::new).or_else(|| kept.cloned());
        }
        let timeout = said.get("connect_timeout").and_then(|seconds| seconds.parse().ok());
        let wants_writable = match said.get("target_session_attrs") {
            Some(kind) => matches!(kind, "read-write" | "primary"),
            None => hosts.len() > 1,
        };
        let root = said.path("sslrootcert").filter(|path| path != Path::new("system"));
        let usual = |path: &str| surroundings.at_home(path).filter(|path| path.exists());
        Ok(Self {
            user: user.to_owned(),
            database,
            schema: said.get("schema").unwrap_or(SCHEMA).to_owned(),
            application: said.get("application_name").unwrap_or("taskyard").to_owned(),
            wants_writable,
            connect_timeout: timeout.filter(|seconds| *seconds > 0).map_or(CONNECT_TIMEOUT, Duration::from_secs),
            root_certificate: match said.get("sslrootcert") {
                Some("system") => None,
                Some(_) => root,
                None => usual(".postgresql/root.crt"),
            },
            client_certificate: said.path("sslcert").or_else(|| usual(".postgresql/postgresql.crt")),
            client_key: said.path("sslkey").or_else(|| usual(".postgresql/postgresql.key")),
            opens_without_password,
            hosts,
        })
    }
}

/// Rejects unknown settings, rather than connecting differently than intended.
fn check(said: &Said) -> Result<(), BadAddress> {
    let is_known = |name: &str| VARIABLES.iter().any(|(known, _)| *known == name) || OTHERS.contains(&name);
    if let Some((name, _)) = said.0.iter().find(|(name, _)| !is_known(name)) {
        return Err(BadAddress::new(format!("unknown parameter `{}`", name.escape_debug())));
    }
    if said.get("channel_binding") == Some("require") {
        return Err(BadAddress::new(
            "channel binding is not supported; use `sslmode=verify-full` to verify the server",
        ));
    }
    let kinds = ["any", "read-write", "primary", "prefer-standby"];
    match said.get("target_session_attrs").filter(|kind| !kinds.contains(kind)) {
        Some(kind) => Err(BadAddress::new(format!("`target_session_attrs={kind}` is not supported; use read-write"))),
        None => match said.get("schema").filter(|schema| schema.len() > 63 || schema.contains('\0')) {
            Some(_) => Err(BadAddress::new("the name of its schema is longer than PostgreSQL allows")),
            None => Ok(()),
        },
    }
}

fn hosts(said: &Said) -> Result<Vec<Host>, BadAddress> {
    let (names, addresses, ports) = (said.parts("host"), said.parts("hostaddr"), said.parts("port"));
    let count = names.len().max(addresses.len()).max(1);
    if ports.len() > 1 && ports.len() != count {
        return Err(BadAddress::new(format!("it names {count} hosts and {} ports", ports.len())));
    }
    let mode = said.get("sslmode").map(|word| {
        TlsMode::parse(word).ok_or_else(|| BadAddress::new(format!("invalid sslmode `{}`", word.escape_debug())))
    });
    let mode = mode.transpose()?;
    let host = |place: usize| {
        let address = addresses.get(place).filter(|address| !address.is_empty());
        let address =
            address.map(|address| address.parse().map_err(|_| BadAddress::new("its `hostaddr` is not an IP address")));
        let address: Option<IpAddr> = address.transpose()?;
        let name = names.get(place).copied().filter(|name| !name.is_empty());
        let name = match (name, address) {
            (Some(name), _) => name.to_owned(),
            (None, Some(address)) => address.to_string(),
            (None, None) => default_socket(),
        };
        let port = ports.get(place).or(ports.first()).copied().filter(|port| !port.is_empty());
        let port = match port {
            Some(port) => {
                port.parse().map_err(|_| BadAddress::new(format!("`{}` is not a port number", port.escape_debug())))?
            }
            None => PORT,
        };
        let socket = name.starts_with('/').then(|| PathBuf::from(&name));
        // A local socket needs no encryption, and PostgreSQL does not support TLS on it.
        let tls =
            if socket.is_some() { TlsMode::Disable } else { mode.unwrap_or_else(|| TlsMode::usual(&name, false)) };
        Ok(Host { name, socket, address, port, tls, password: None })
    };
    (0..count).map(host).collect()
}

/// Returns the default directory of server sockets on this machine.
fn default_socket() -> String {
    let debian = "/var/run/postgresql";
    if Path::new(debian).is_dir() { debian.to_owned() } else { "/tmp".to_owned() }
}

/// Returns the name of a host in a password file.
fn known_as(host: &Host) -> &str {
    let is_default = host.socket.is_some() && host.name == default_socket();
    if is_default { "localhost" } else { &host.name }
}

/// Why an address is invalid. Contains no password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAddress(String);

impl BadAddress {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// Parses an address into settings with libpq's names; `schema` is our addition.
fn parameters(address: &str) -> Result<Vec<(String, String)>, BadAddress> {
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
    String::from_utf8(percent_decoded(text)).map_err(|_| BadAddress::new("its percent-encoded text is not UTF-8"))
}

/// A host that may run the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Its name, which its certificate must match.
    pub(crate) name: String,
    /// The directory of its socket, if it is local.
    pub(crate) socket: Option<PathBuf>,
    /// Its IP address, if given.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
    pub(crate) tls: TlsMode,
    pub(crate) password: Option<Secret>,
}

/// The values of `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsMode {
    Disable,
    /// Unencrypted if the server does not support TLS.
    Prefer,
    /// Encrypted, without verifying the server's identity.
    Require,
    /// The certificate must come from a trusted authority.
    VerifyCa,
    /// It must also match the host name.
    VerifyFull,
}

impl TlsMode {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "disable" => Some(Self::Disable),
            "allow" | "prefer" => Some(Self::Prefer),
            "require" => Some(Self::Require),
            "verify-ca" => Some(Self::VerifyCa),
            "verify-full" => Some(Self::VerifyFull),
            _ => None,
        }
    }

    /// Returns the default mode for a host: full verification unless the connection stays on this machine.
    pub(crate) fn usual(host: &str, is_socket: bool) -> Self {
        let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        match is_socket || is_loopback || host.eq_ignore_ascii_case("localhost") {
            true => Self::Prefer,
            false => Self::VerifyFull,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(directory) => write!(formatter, "{}, port {}", directory.display(), self.port),
            None => write!(formatter, "{}:{}", self.name, self.port),
        }
    }
}

/// A password. Its `Debug` output does not reveal it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }

    /// Returns the password, to be sent to the server only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

/// The parts of the environment that libpq's settings come from. Filled in by the program that reads the environment.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The variables whose names begin with `PG`. May include a password.
    pub variables: Vec<(String, String)>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The user's login name.
    pub user: Option<String>,
}

impl Surroundings {
    /// Returns a variable; an empty one counts as unset.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns a path in the home directory, or `None` if that is unknown.
    pub(crate) fn at_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.variables.iter().map(|(name, _)| name.as_str()).collect();
        formatter.debug_struct("Surroundings").field("variables", &names).field("home", &self.home).finish()
    }
}

/// Returns the settings of a service, from the user's file or else the system's.
fn service(name: &str, surroundings: &Surroundings) -> Result<Vec<(String, String)>, BadAddress> {
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

/// The entries of a password file.
#[derive(Debug, Default)]
pub(crate) struct Passfile(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    /// Host, port, database and user; each may be `*`.
    of: [String; 4],
    password: Secret,
}

impl Passfile {
    /// Reads a file. One that does not exist, or that other users can read, counts as empty.
    pub(crate) fn read(path: &Path) -> Self {
        match fs::read_to_string(path) {
            Ok(_) if is_open_to_others(path) => {
                tracing::warn!(path = %path.display(), "others can read it, so it is ignored; run `chmod 600` on it");
                Self::default()
            }
            Ok(text) => Self::parse(&text),
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    tracing::warn!(path = %path.display(), %error, "cannot be read");
                }
                Self::default()
            }
        }
    }

    fn parse(text: &str) -> Self {
        Self(text.lines().filter(|line| !line.starts_with('#')).filter_map(Entry::parse).collect())
    }

    /// Returns the first matching password.
    pub(crate) fn password(&self, host: &str, port: u16, database: &str, user: &str) -> Option<&Secret> {
        let port = port.to_string();
        let wanted = [host, &port, database, user];
        let fits = |entry: &&Entry| entry.of.iter().zip(wanted).all(|(of, wanted)| of == "*" || of == wanted);
        self.0.iter().find(fits).map(|entry| &entry.password)
    }
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = vec![String::new()];
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            if letter == ':' && fields.len() < 5 {
                fields.push(String::new());
                continue;
            }
            let letter = if letter == '\\' { letters.next() } else { Some(letter) };
            fields.last_mut()?.extend(letter);
        }
        let password = fields.pop().filter(|password| !password.is_empty())?;
        Some(Self { of: fields.try_into().ok()?, password: Secret::new(password) })
    }
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_path: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::time::Duration;

    use super::{Settings, Surroundings, TlsMode};

    fn around(home: &Path, variables: &[(&str, &str)]) -> Surroundings {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Surroundings { variables, home: Some(home.to_owned()), user: Some("login".into()) }
    }

    fn read(address: &str, variables: &[(&str, &str)]) -> Settings {
        let home = tempfile::tempdir().unwrap();
        Settings::read(address, &around(home.path(), variables)).unwrap()
    }

    #[test]
    fn address_beats_service_and_service_beats_environment() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".pg_service.conf"), "[yard]\nhost=service\nport=1\ndbname=of_service\n").unwrap();
        let variables = [("PGPORT", "2"), ("PGUSER", "ana"), ("PGSERVICE", "yard"), ("PGDATABASE", "of_variable")];
        let read = Settings::read("postgres://named/", &around(home.path(), &variables)).unwrap();
        let host = &read.hosts[0];
        assert_eq!((host.name.as_str(), host.port), ("named", 1));
        assert_eq!(
            (read.user.as_str(), read.database.as_str(), read.schema.as_str()),
            ("ana", "of_service", "taskyard")
        );
        let refused = Settings::read("postgres://h/?service=other", &around(home.path(), &[])).unwrap_err();
        assert!(refused.to_string().contains("`other`"), "{refused}");
    }

    #[test]
    fn a_host_that_is_not_local_must_prove_who_it_is() {
        let mode = |address: &str| read(address, &[]).hosts[0].tls;
        assert_eq!(mode("postgres://db.example.com/x"), TlsMode::VerifyFull);
        assert_eq!(mode("postgres://10.0.0.1/x"), TlsMode::VerifyFull);
        for local in ["postgres://localhost/x", "postgres://127.0.0.1/x", "postgres://[::1]/x"] {
            assert_eq!(mode(local), TlsMode::Prefer, "{local}");
        }
        assert_eq!(mode("postgres://%2Frun/x"), TlsMode::Disable);
        assert_eq!(mode("postgres://db.example.com/x?sslmode=require"), TlsMode::Require);
        assert_eq!(read("postgres://h/x", &[("PGSSLMODE", "disable")]).hosts[0].tls, TlsMode::Disable);
    }

    #[test]
    fn of_several_hosts_the_one_that_takes_writes_is_wanted() {
        let several = read("postgres://a:1,b:2/x?connect_timeout=3", &[]);
        assert_eq!(several.hosts.iter().map(|host| host.port).collect::<Vec<_>>(), [1, 2]);
        assert!(several.wants_writable);
        assert_eq!(several.connect_timeout, Duration::from_secs(3));
        assert!(!read("postgres://a/x", &[]).wants_writable);
        assert!(!read("postgres://a,b/x?target_session_attrs=any", &[]).wants_writable);
    }

    #[test]
    fn password_comes_from_address_variable_or_private_file() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".pgpass");
        fs::write(&file, "h:*:*:ana:kept\n").unwrap();
        let password = |address: &str, variables: &[(&str, &str)]| {
            let read = Settings::read(address, &around(home.path(), variables)).unwrap();
            read.hosts[0].password.as_ref().map(|secret| secret.reveal().to_owned())
        };
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(password("postgres://ana@h/x", &[]), None);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(password("postgres://ana@h/x", &[]).as_deref(), Some("kept"));
        assert_eq!(password("postgres://ana@h/x", &[("PGPASSWORD", "set")]).as_deref(), Some("set"));
        assert_eq!(password("postgres://ana:own@h/x", &[("PGPASSWORD", "set")]).as_deref(), Some("own"));
    }

    #[test]
    fn address_opens_without_password_if_passfile_has_it() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".pgpass");
        fs::write(&file, "h:*:*:ana:kept\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let opens = |address: &str| Settings::read(address, &around(home.path(), &[])).unwrap().opens_without_password;
        assert!(opens("postgres://ana@h/x"));
        assert!(opens("postgres://ana:kept@h/x"));
        assert!(!opens("postgres://ana:other@h/x"));
        assert!(!opens("postgres://ben:kept@h/x"));
        let of_variable = |password: &str| {
            let around = around(home.path(), &[("PGPASSWORD", password)]);
            Settings::read("postgres://ana@h/x", &around).unwrap().opens_without_password
        };
        assert!(of_variable("kept") && !of_variable("other"));
    }

    #[test]
    fn what_nobody_knows_is_refused_and_no_password_is_shown() {
        let home = tempfile::tempdir().unwrap();
        for address in
            ["postgres://h/x?nonsense=1", "postgres://h:port/x", "postgres://h/x?sslmode=maybe", "postgres:x"]
        {
            assert!(Settings::read(address, &around(home.path(), &[])).is_err(), "{address}");
        }
        let read = read("postgres://ana:s3cret@h/x", &[("PGPASSWORD", "s3cret")]);
        assert!(!format!("{read:?}").contains("s3cret"));
    }
}

#[cfg(test)]
mod address_tests {
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

#[cfg(test)]
mod service_file_tests {
    use super::section;

    #[test]
    fn a_service_has_the_settings_below_its_name() {
        let text = "[one]\nhost=a\n\n[two]\n# words\nhost = b\nport=6432\n[three]\nhost=c\n";
        let expected = [("host", "b"), ("port", "6432")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(section(text, "two").unwrap(), expected);
        assert_eq!(section(text, "four"), None);
    }
}

#[cfg(test)]
mod passfile_tests {
    use super::Passfile;

    fn password(text: &str, host: &str, user: &str) -> Option<String> {
        Passfile::parse(text).password(host, 5432, "db", user).map(|secret| secret.reveal().to_owned())
    }

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# a comment\nother:5432:db:ana:no\nhost:*:db:ana:first\nhost:5432:db:ana:second\n*:*:*:*:rest\n";
        assert_eq!(password(text, "host", "ana").as_deref(), Some("first"));
        assert_eq!(password(text, "host", "ben").as_deref(), Some("rest"));
        assert_eq!(password("host:5433:db:ana:x\n", "host", "ana"), None);
    }

    #[test]
    fn colons_and_backslashes_are_escaped() {
        assert_eq!(password(r"::1:5432:db:ana:x", "::1", "ana"), None);
        assert_eq!(password(r"\:\:1:5432:db:ana:a\:b\\c", "::1", "ana").as_deref(), Some(r"a:b\c"));
        assert_eq!(password("host:5432:db:ana:a:b", "host", "ana").as_deref(), Some("a:b"));
    }

    #[test]
    fn a_line_that_is_none_is_passed_over() {
        assert_eq!(
            password("host:5432:db\n\nhost:5432:db:ana:\nhost:5432:db:ana:x", "host", "ana").as_deref(),
            Some("x")
        );
    }
}
