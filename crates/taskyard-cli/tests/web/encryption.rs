//! Beyond this machine everything is encrypted, unless somebody says otherwise.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;
use taskyard_testkit::Home;

#[test]
fn a_certificate_is_made_and_whoever_trusts_it_is_answered() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut child = home.command("serve --port 0 --json --bind 0.0.0.0").stderr(Stdio::inherit()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let address = told["url"].as_str().unwrap().strip_prefix("https://").unwrap().to_owned();
    assert_eq!(told["fingerprint"].as_str().unwrap().len(), 95);
    let token = std::fs::read_to_string(told["tokenFile"].as_str().unwrap()).unwrap();
    let mut trusted = RootCertStore::empty();
    let made = CertificateDer::from_pem_file(home.data().join("serve-certificate.pem")).unwrap();
    trusted.add(made).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(session, TcpStream::connect(&address).unwrap());
    write!(
        stream,
        "GET /api/v1/where HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        token.trim()
    )
    .unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Whoever speaks without encryption is told nothing.
    let mut plain = TcpStream::connect(&address).unwrap();
    write!(plain, "GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}
