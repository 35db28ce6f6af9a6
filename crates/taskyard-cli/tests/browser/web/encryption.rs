//! Beyond this machine everything is encrypted, unless the user says otherwise.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustix::process::Signal;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use taskyard_testkit::{Home, wait_until};

use crate::web::served::Served;

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

/// Asks a server for something, trusting one certificate alone.
fn ask(served: &Served, certificate: &Path) -> io::Result<String> {
    let mut trusted = RootCertStore::empty();
    trusted.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let (address, token) = (&served.address, &served.token);
    let mut stream = StreamOwned::new(session, TcpStream::connect(address).unwrap());
    write!(
        stream,
        "GET /api/v1/where HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    Ok(answer)
}

/// Makes a certificate for this machine, and its key.
fn make(certificate: &Path, key: &Path) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    fs::write(certificate, made.cert.pem()).unwrap();
    fs::write(key, made.signing_key.serialize_pem()).unwrap();
}

#[test]
fn generated_certificate_is_accepted_by_client_that_trusts_it() {
    let home = home();
    let served = Served::with(&home, "--bind 0.0.0.0");
    assert!(served.link.starts_with("https://"), "{}", served.link);
    let answer = ask(&served, &home.data().join("serve-certificate.pem")).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A client that speaks without encryption is told nothing.
    let mut plain = TcpStream::connect(&served.address).unwrap();
    write!(plain, "GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[test]
fn given_certificate_is_used_and_reloaded_on_sighup() {
    let home = home();
    let [certificate, key, old] = ["site.pem", "site.key", "old.pem"].map(|name| home.path().join(name));
    make(&certificate, &key);
    fs::copy(&certificate, &old).unwrap();
    let served = Served::with(&home, "--tls-cert site.pem --tls-key site.key");
    assert!(ask(&served, &certificate).unwrap().starts_with("HTTP/1.1 200"));
    assert!(!home.data().join("serve-certificate.pem").exists(), "none of our own was made");
    make(&certificate, &key);
    assert!(ask(&served, &certificate).is_err(), "it is not read before a client asks for that");
    served.signal(Signal::HUP);
    wait_until("the new certificate to be used", || ask(&served, &certificate).is_ok());
    assert!(ask(&served, &old).is_err());
    // One that cannot be read changes nothing.
    fs::write(&key, "none").unwrap();
    served.signal(Signal::HUP);
    assert!(ask(&served, &certificate).unwrap().starts_with("HTTP/1.1 200"));
}

#[test]
fn certificate_without_key_or_with_insecure_is_refused() {
    let home = home();
    for (flags, code) in [
        ("--tls-cert a.pem", 2),
        ("--tls-key a.key", 2),
        ("--tls-cert a.pem --tls-key a.key --insecure", 2),
        ("--tls-cert a.pem --tls-key a.key", 1),
    ] {
        let ran = home.run(&format!("serve --port 0 {flags}"));
        assert_eq!(ran.code, Some(code), "{flags}: {ran:?}");
    }
}
