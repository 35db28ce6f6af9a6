//! Who the server is, and who reads along.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use taskyard::Store;
use taskyard::core::Rules;
use taskyard_postgres::{PostgresStore, Surroundings};
use taskyard_testkit::{Cluster, Program, SharedPostgres};

fn openssl(folder: &Path, words: &str) {
    let mut command = Program::new("openssl");
    command.args(words.split_whitespace()).current_dir(folder);
    command.unprivileged().succeed();
}

/// Makes an authority, and with it a certificate for `localhost`.
fn certificates(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for authority in ["authority", "stranger"] {
        let made = format!("-x509 {key} -keyout {authority}.key -out {authority}.crt -subj /CN={authority} -days 2");
        openssl(folder, &format!("req {made} -addext basicConstraints=critical,CA:TRUE"));
    }
    let asked = format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost");
    openssl(folder, &format!("{asked} -addext subjectAltName=DNS:localhost"));
    let signed = "x509 -req -in server.csr -CA authority.crt -CAkey authority.key -CAcreateserial";
    openssl(folder, &format!("{signed} -out server.crt -days 2 -copy_extensions copy"));
}

fn ask(address: &str) -> Result<(), String> {
    let store = PostgresStore::open(address, address, &Surroundings::default(), Rules::Strict).unwrap();
    store.lists().map(drop).map_err(|error| error.to_string())
}

/// Starts a server in a folder that has the certificate of another folder.
fn certified_server(folder: &Path, certified: &Path) -> Cluster {
    certificates(certified);
    let path = |name: &str| certified.join(name).display().to_string();
    let certificate = format!("ssl_cert_file = '{}'", path("server.crt"));
    let key = format!("ssl_key_file = '{}'", path("server.key"));
    Cluster::make(folder, &["ssl = on", &certificate, &key]).stop_when_dropped()
}

#[test]
fn a_server_must_prove_who_it_is_in_the_way_that_is_asked_for() {
    let (folder, certified) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cluster = certified_server(folder.path(), certified.path());
    let at = |host: &str, mode: &str, root: &str| {
        let root = certified.path().join(format!("{root}.crt")).display().to_string();
        format!("postgres://postgres@{host}:{}/postgres?sslmode={mode}&sslrootcert={root}", cluster.port())
    };
    ask(&at("localhost", "verify-full", "authority")).unwrap();
    ask(&at("127.0.0.1", "verify-ca", "authority")).unwrap();
    ask(&at("127.0.0.1", "require", "stranger")).unwrap();
    let refused = ask(&at("127.0.0.1", "verify-full", "authority")).unwrap_err();
    assert!(refused.contains("not valid for name"), "{refused}");
    for mode in ["verify-full", "verify-ca"] {
        let refused = ask(&at("localhost", mode, "stranger")).unwrap_err();
        assert!(refused.contains("certificate"), "{refused}");
    }
    // The system's authorities do not know it, and what is not local has to be known.
    let elsewhere = format!("postgres://postgres@elsewhere:{}/postgres?hostaddr=127.0.0.1", cluster.port());
    let refused = ask(&elsewhere).unwrap_err();
    assert!(refused.contains("certificate") || refused.contains("TLS"), "{refused}");
}

#[test]
fn nobody_reads_along_where_tls_is_used() {
    let (folder, certified) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cluster = certified_server(folder.path(), certified.path());
    for (mode, is_encrypted) in [("require", "t"), ("prefer", "t"), ("disable", "f")] {
        let address = format!("{}?sslmode={mode}&application_name={mode}", cluster.address());
        let store = PostgresStore::open(&address, &address, &Surroundings::default(), Rules::Strict).unwrap();
        store.lists().unwrap();
        let found = cluster.sql(&format!(
            "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = '{mode}'"
        ));
        assert_eq!(found, is_encrypted, "{mode}");
    }
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_asked_for() {
    let address = SharedPostgres::get().fresh_address();
    for mode in ["require", "verify-full"] {
        let refused = ask(&format!("{address}&sslmode={mode}")).unwrap_err();
        assert!(refused.contains("TLS"), "{refused}");
    }
    ask(&format!("{address}&sslmode=prefer")).unwrap();
}
