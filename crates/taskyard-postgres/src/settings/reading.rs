//! From all that is said to what counts.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::address::parameters;
use super::service_file::service;
use super::{BadAddress, Host, Passfile, Secret, Surroundings, TlsMode};

/// How long a host has to let us in, unless the address or the environment says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The schema that a yard is in, unless its address says otherwise.
const SCHEMA: &str = "taskyard";
const PORT: u16 = 5432;

/// The variable that stands for each setting which neither an address nor a service gives.
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
/// What else may be said. The last ones change nothing here.
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

/// Where the server is, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The hosts to try, in this order.
    pub(crate) hosts: Vec<Host>,
    /// Who we are there.
    pub(crate) user: String,
    /// The database.
    pub(crate) database: String,
    /// The schema in it that holds the yard.
    pub(crate) schema: String,
    /// The name under which the server lists our connections.
    pub(crate) application: String,
    /// Whether a host that takes no writes is passed over.
    pub(crate) wants_writable: bool,
    /// How long each host has to let us in.
    pub(crate) connect_timeout: Duration,
    /// The authorities to trust; the system's where none is named.
    pub(crate) root_certificate: Option<PathBuf>,
    /// What proves who we are.
    pub(crate) client_certificate: Option<PathBuf>,
    /// And its key.
    pub(crate) client_key: Option<PathBuf>,
    /// Whether a process that has the address without its password gets in by a passfile, or needs none.
    pub(crate) opens_without_password: bool,
}

/// What was said, most important first.
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
    /// Takes everything together that is said of an address.
    pub(crate) fn read(address: &str, surroundings: &Surroundings) -> Result<Self, BadAddress> {
        let mut said = Said(parameters(address)?);
        let own_password = said.get("password").map(str::to_owned);
        if let Some(name) = said.get("service").or_else(|| surroundings.variable("PGSERVICE")).map(str::to_owned) {
            said.0.extend(service(&name, surroundings)?);
        }
        let variable = |(name, of): (&str, &str)| Some((name.to_owned(), surroundings.variable(of)?.to_owned()));
        // A service's password is in a file that children read as well.
        let of_service = said.get("password").map(str::to_owned);
        said.0.extend(VARIABLES.into_iter().filter_map(variable));
        let own_password =
            own_password.or_else(|| said.get("password").filter(|_| of_service.is_none()).map(str::to_owned));
        check(&said)?;
        let user = said.get("user").or(surroundings.user.as_deref());
        let user = user.ok_or_else(|| BadAddress::new("nobody says which user it is; name one before an `@`"))?;
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

/// Refuses what is not known, rather than to connect otherwise than was meant.
fn check(said: &Said) -> Result<(), BadAddress> {
    let is_known = |name: &str| VARIABLES.iter().any(|(known, _)| *known == name) || OTHERS.contains(&name);
    if let Some((name, _)) = said.0.iter().find(|(name, _)| !is_known(name)) {
        return Err(BadAddress::new(format!("its parameter `{}` is not known", name.escape_debug())));
    }
    if said.get("channel_binding") == Some("require") {
        return Err(BadAddress::new(
            "channel binding is not supported; `sslmode=verify-full` proves who the server is",
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
        TlsMode::parse(word).ok_or_else(|| BadAddress::new(format!("`{}` is no sslmode", word.escape_debug())))
    });
    let mode = mode.transpose()?;
    let host = |place: usize| {
        let address = addresses.get(place).filter(|address| !address.is_empty());
        let address =
            address.map(|address| address.parse().map_err(|_| BadAddress::new("its `hostaddr` is no number")));
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
        // No third party stands in between on one machine, and PostgreSQL knows no TLS there.
        let tls =
            if socket.is_some() { TlsMode::Disable } else { mode.unwrap_or_else(|| TlsMode::usual(&name, false)) };
        Ok(Host { name, socket, address, port, tls, password: None })
    };
    (0..count).map(host).collect()
}

/// Returns the directory that servers on this machine have their sockets in.
fn default_socket() -> String {
    let debian = "/var/run/postgresql";
    if Path::new(debian).is_dir() { debian.to_owned() } else { "/tmp".to_owned() }
}

/// Returns the name that a passfile has for a host.
fn known_as(host: &Host) -> &str {
    let is_default = host.socket.is_some() && host.name == default_socket();
    if is_default { "localhost" } else { &host.name }
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
    fn an_address_counts_more_than_a_service_and_that_more_than_the_environment() {
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
    fn a_password_comes_from_the_address_a_variable_or_a_file_that_others_cannot_read() {
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
    fn an_address_opens_without_its_password_where_a_passfile_has_the_same() {
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
