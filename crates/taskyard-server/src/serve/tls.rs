//! TLS: a given certificate, or a self-signed one.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};
use taskyard::private;
use tokio_rustls::TlsAcceptor;

use taskyard::core::problem::{Problem, ProblemKind};

/// The files of the self-signed certificate in the data directory.
const OWN: [&str; 2] = ["serve-certificate.pem", "serve-key.pem"];
/// The self-signed certificate is renewed when it is older than this. Browsers reject certificates valid for much
/// longer than a year.
const OWN_AGE: Duration = Duration::from_secs(300 * 24 * 60 * 60);
/// Validity of the self-signed certificate in days.
const OWN_DAYS: i64 = 390;

/// The TLS configuration of a server. It can be reloaded while the server runs.
#[derive(Clone, Debug)]
pub struct Tls {
    files: [PathBuf; 2],
    config: Arc<Mutex<Arc<ServerConfig>>>,
    fingerprint: String,
}

impl Tls {
    /// Reads a certificate and its key.
    pub fn given(certificate: &Path, key: &Path) -> Result<Self, Problem> {
        let files = [certificate.to_owned(), key.to_owned()];
        let (config, fingerprint) = read(&files)?;
        Ok(Self { files, config: Arc::new(Mutex::new(config)), fingerprint })
    }

    /// Reads the self-signed certificate for these host names and addresses, creating it if necessary.
    pub fn own(data: &Path, names: &[String]) -> Result<Self, Problem> {
        let files = OWN.map(|name| data.join(name));
        if !is_fresh(&files, names) {
            make(data, &files, names).map_err(|error| Problem::io("cannot make a certificate", &error))?;
        }
        let [certificate, key] = &files;
        Self::given(certificate, key)
    }

    /// Returns the acceptor for the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Reloads the files for future connections. If they cannot be read, the current certificate stays in use.
    pub(super) fn reload(&self) {
        match read(&self.files) {
            Ok((config, _)) => *self.config.lock().unwrap_or_else(PoisonError::into_inner) = config,
            Err(problem) => tracing::error!(why = problem.report().message, "the certificate is not read anew"),
        }
    }

    /// Returns the certificate's SHA-256 fingerprint.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

fn read([certificate, key]: &[PathBuf; 2]) -> Result<(Arc<ServerConfig>, String), Problem> {
    let wrong = |path: &Path, why: &dyn std::fmt::Display| {
        Problem::new(ProblemKind::CouldNot, "bad_certificate", format!("cannot use `{}`: {why}", path.display()))
            .hint("give a certificate and its key as PEM files with --tls-cert and --tls-key")
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(certificate, &error))?;
    let Some(first) = chain.first() else { return Err(wrong(certificate, &"it contains no certificate")) };
    let sum = Sha256::digest(first);
    let fingerprint = sum.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":");
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| wrong(certificate, &error))?;
    Ok((Arc::new(config), fingerprint))
}

/// Returns whether the self-signed certificate exists, is not too old and covers these names.
fn is_fresh([certificate, key]: &[PathBuf; 2], names: &[String]) -> bool {
    let is_young = |path: &Path| {
        let changed = fs::metadata(path).and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < OWN_AGE))
    };
    let is_ours = fs::read_to_string(certificate).is_ok_and(|text| text.starts_with(&heading(names)));
    is_ours && is_young(certificate) && is_young(key)
}

/// Returns the line above the certificate that lists its names. PEM readers ignore it.
fn heading(names: &[String]) -> String {
    format!("taskyard serve: {}\n", names.join(" "))
}

fn make(data: &Path, [certificate, key]: &[PathBuf; 2], names: &[String]) -> io::Result<()> {
    let made = rcgen::KeyPair::generate().and_then(|pair| {
        let mut params = rcgen::CertificateParams::new(names.to_vec())?;
        params.distinguished_name.push(rcgen::DnType::CommonName, "taskyard serve");
        let [from, to] = [-1, OWN_DAYS].map(day);
        params.not_before = rcgen::date_time_ymd(from.0, from.1, from.2);
        params.not_after = rcgen::date_time_ymd(to.0, to.1, to.2);
        Ok((params.self_signed(&pair)?.pem(), pair.serialize_pem()))
    });
    let (made, secret) = made.map_err(io::Error::other)?;
    private::make_data_directory(data)?;
    // Write the key first, so that a certificate always has its key.
    replace(data, key, &secret)?;
    replace(data, certificate, &(heading(names) + &made))
}

/// Returns the year, month and day `days` from now.
fn day(days: i64) -> (i32, u8, u8) {
    let moment = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(days * 24);
    let date = moment.to_zoned(jiff::tz::TimeZone::UTC).date();
    (date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
}

fn replace(data: &Path, path: &Path, text: &str) -> io::Result<()> {
    let temporary = data.join(format!(".serve-pem.{}.tmp", std::process::id()));
    let _ = fs::remove_file(&temporary);
    let mut file = private::create_new(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::{OWN, Tls};

    #[test]
    fn own_certificate_is_made_once_and_key_is_private() {
        let data = tempfile::tempdir().unwrap();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let one = Tls::own(data.path(), &names(&["localhost", "127.0.0.1"])).unwrap();
        let again = Tls::own(data.path(), &names(&["localhost", "127.0.0.1"])).unwrap();
        let other = Tls::own(data.path(), &names(&["localhost", "192.0.2.7"])).unwrap();
        assert_eq!(one.fingerprint(), again.fingerprint());
        assert_ne!(one.fingerprint(), other.fingerprint());
        assert_eq!(one.fingerprint().len(), 95);
        let mode = fs::metadata(data.path().join(OWN[1])).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_certificate_is_refused_by_name() {
        let data = tempfile::tempdir().unwrap();
        let (certificate, key) = (data.path().join("a.pem"), data.path().join("b.pem"));
        fs::write(&certificate, "none").unwrap();
        let problem = Tls::given(&certificate, &key).unwrap_err();
        assert!(problem.report().message.contains("a.pem"), "{problem:?}");
    }
}
