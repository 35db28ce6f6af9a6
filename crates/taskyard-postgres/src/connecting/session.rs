//! One connection to the server: connecting to a host, TLS and the session.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{AsyncMessage, Client, Config, Row, Socket};
use tokio_rustls::TlsConnector;

use super::failure::{Failure, FailureKind};
use super::statement::{Statement, pipeline};
use crate::connecting::failure::Notification;
use crate::settings::{Host, Settings, TlsMode};

static ROUND_TRIPS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of round trips this process made to the server.
pub(crate) fn round_trips() -> u64 {
    ROUND_TRIPS.load(Ordering::Relaxed)
}

/// A connection with its own runtime. A caller's thread drives it during a request; between requests it uses no CPU.
pub(crate) struct Session {
    client: Client,
    /// Its task owns the socket. `None` only while the session is being dropped.
    runtime: Option<Runtime>,
    is_usable: bool,
}

impl Session {
    /// Connects to the first host that answers and is suitable (writable, if that is required).
    pub(crate) fn connect(settings: &Settings) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(FailureKind::Wrong, error.to_string()))?;
        let client = runtime.block_on(reach(settings, None))?;
        Ok(Self { client, runtime: Some(runtime), is_usable: true })
    }

    /// Sends statements as a pipeline and returns the rows of each.
    pub(crate) fn ask(&mut self, statements: &[Statement], patience: Duration) -> Result<Vec<Vec<Row>>, Failure> {
        ROUND_TRIPS.fetch_add(1, Ordering::Relaxed);
        let answers = self.runtime().block_on(async {
            match tokio::time::timeout(patience, pipeline(&self.client, statements)).await {
                Ok(answers) => answers.map_err(Failure::from),
                Err(_) => Err(Failure::timed_out(patience)),
            }
        });
        // After this, late answers may still arrive.
        self.is_usable &= !matches!(&answers, Err(failure) if failure.kind() == FailureKind::Lost);
        answers
    }

    /// Sends a statement without waiting for its answer.
    pub(crate) fn tell(&mut self, statement: Statement) {
        let client = &self.client;
        self.runtime().block_on(async {
            let telling = async { drop(pipeline(client, std::slice::from_ref(&statement)).await) };
            let mut telling = std::pin::pin!(telling);
            for _ in 0..4 {
                // Each yield lets the task that owns the socket write.
                if poll_fn(|context| Poll::Ready(telling.as_mut().poll(context).is_ready())).await {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("only dropping takes it")
    }

    /// Returns whether the session accepts further requests.
    pub(crate) fn is_usable(&self) -> bool {
        self.is_usable && !self.client.is_closed()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The last owner may be a listening thread within its own runtime, in which blocking on another runtime is
        // not allowed.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Session")
    }
}

/// TCP keepalive interval.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// How long sent data may stay unacknowledged.
const UNCONFIRMED: Duration = Duration::from_secs(15);

/// Forwards notifications, and holds the connection's slot until its socket is closed.
#[derive(Clone)]
pub(crate) struct NotificationSender {
    pub(crate) heard: UnboundedSender<Notification>,
    pub(crate) _place: Arc<dyn Any + Send + Sync>,
}

/// State owned by the connection's task. Fields are dropped in this order however the task ends: the socket is closed
/// before the slot is free for another connection.
struct Driven<C> {
    connection: C,
    heard: Option<NotificationSender>,
}

/// Connects to the first suitable host. The connection runs as a task of the current runtime.
pub(crate) async fn reach(settings: &Settings, heard: Option<NotificationSender>) -> Result<Client, Failure> {
    let mut failed: Option<Failure> = None;
    for host in &settings.hosts {
        let reaching = reach_one(settings, host, heard.clone());
        let reached = match tokio::time::timeout(settings.connect_timeout, reaching).await {
            Ok(reached) => reached,
            Err(_) => Err(Failure::timed_out(settings.connect_timeout)),
        };
        match reached {
            Ok(client) => return Ok(client),
            Err(failure) => {
                let failure = failure.of(&host.to_string());
                tracing::debug!(%failure, "a server cannot be reached");
                // A host that may come back takes precedence over one that rejects us.
                failed = match failed {
                    Some(earlier) if earlier.is_passing() => Some(earlier),
                    _ => Some(failure),
                };
            }
        }
    }
    Err(failed.unwrap_or_else(|| Failure::new(FailureKind::Wrong, "the address has no host")))
}

async fn reach_one(settings: &Settings, host: &Host, heard: Option<NotificationSender>) -> Result<Client, Failure> {
    let mut config = Config::new();
    config.user(&settings.user).dbname(&settings.database).application_name(&settings.application);
    config.keepalives_idle(KEEPALIVE).keepalives_interval(KEEPALIVE).keepalives_retries(3);
    config.tcp_user_timeout(UNCONFIRMED);
    if let Some(password) = &host.password {
        config.password(password.reveal());
    }
    match host {
        Host { socket: Some(directory), .. } => config.host_path(directory),
        Host { name, .. } => config.host(name),
    };
    if let Some(address) = host.address {
        config.hostaddr(address);
    }
    config.port(host.port);
    if settings.wants_writable {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    config.ssl_mode(match host.tls {
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
    });
    let tls = TlsMaker::new(settings, host.tls)?;
    let (client, connection) = config.connect(tls).await.map_err(|error| because(error, host))?;
    let mut driven = Driven { connection, heard };
    tokio::spawn(async move {
        // The listener detects the end when its channel closes.
        loop {
            match poll_fn(|context| driven.connection.poll_message(context)).await {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    if let Some(heard) = &driven.heard {
                        let (channel, payload) = (notification.channel().to_owned(), notification.payload().to_owned());
                        let _ = heard.heard.send(Notification { channel, payload });
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::debug!(%error, "a connection ended");
                    return;
                }
                None => return,
            }
        }
    });
    Ok(client)
}

/// Classifies a failed connection attempt. tokio-postgres reports a read-only server with an error of no specific
/// kind.
fn because(error: tokio_postgres::Error, host: &Host) -> Failure {
    let failure = Failure::from(error);
    let said = failure.to_string();
    if said.contains("does not allow writes") {
        return Failure::new(FailureKind::Lost, "it accepts no changes: it is a standby or read-only");
    }
    // A retry will not make an invalid certificate valid.
    let is_tls = said.contains("TLS") || said.contains("certificate");
    match is_tls && !matches!(host.tls, TlsMode::Disable) {
        true => Failure::new(FailureKind::Wrong, said),
        false => failure,
    }
}

/// Makes TLS connections if `sslmode` and the server require them.
#[derive(Clone)]
pub(super) struct TlsMaker(Option<Arc<ClientConfig>>);

pub(super) struct TlsToHost {
    config: Option<Arc<ClientConfig>>,
    host: String,
}

pub(super) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl TlsMaker {
    /// Loads the certificates to trust in this mode.
    pub(super) fn new(settings: &Settings, mode: TlsMode) -> Result<Self, Failure> {
        if mode == TlsMode::Disable {
            return Ok(Self(None));
        }
        let wrong = |said: String| Failure::new(FailureKind::Wrong, said);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(error.to_string()))?;
        let verifies = matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyFull);
        let builder = if verifies {
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(settings)?), provider)
                .build()
                .map_err(|error| wrong(format!("no certificate authorities were found: {error}")))?;
            let is_lenient = mode == TlsMode::VerifyCa;
            let verifier = Verifier::OfAuthority { verifier, is_lenient };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        } else {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Verifier::OfAnybody(provider)))
        };
        let config = match (&settings.client_certificate, &settings.client_key) {
            (Some(certificate), Some(key)) => {
                let unreadable = |file: &std::path::Path, error: &dyn std::fmt::Display| {
                    wrong(format!("cannot read `{}`: {error}", file.display()))
                };
                let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
                let chain = chain.map_err(|error| unreadable(certificate, &error))?;
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
                builder.with_client_auth_cert(chain, secret).map_err(|error| wrong(error.to_string()))?
            }
            _ => builder.with_no_client_auth(),
        };
        Ok(Self(Some(Arc::new(config))))
    }
}

fn roots(settings: &Settings) -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    match &settings.root_certificate {
        Some(file) => {
            let unreadable =
                |error| Failure::new(FailureKind::Wrong, format!("cannot read `{}`: {error}", file.display()));
            let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
            roots.add_parsable_certificates(certificates.map_err(unreadable)?);
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            for error in &found.errors {
                tracing::debug!(%error, "passed over");
            }
            roots.add_parsable_certificates(found.certs);
        }
    }
    Ok(roots)
}

/// Verifies the server's certificate.
#[derive(Debug)]
enum Verifier {
    /// Accepts any certificate: this protects against eavesdropping only.
    OfAnybody(Arc<CryptoProvider>),
    /// Requires a certificate of a trusted authority; if lenient, it may be for another host name.
    OfAuthority { verifier: Arc<WebPkiServerVerifier>, is_lenient: bool },
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self {
            Self::OfAnybody(_) => Ok(ServerCertVerified::assertion()),
            Self::OfAuthority { verifier, is_lenient } => {
                let verified = verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
                let is_other_name = matches!(
                    verified,
                    Err(Error::InvalidCertificate(
                        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
                    ))
                );
                if is_other_name && *is_lenient { Ok(ServerCertVerified::assertion()) } else { verified }
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self {
            Self::OfAnybody(provider) => {
                verify_tls12_signature(message, cert, signed, &provider.signature_verification_algorithms)
            }
            Self::OfAuthority { verifier, .. } => verifier.verify_tls12_signature(message, cert, signed),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self {
            Self::OfAnybody(provider) => {
                verify_tls13_signature(message, cert, signed, &provider.signature_verification_algorithms)
            }
            Self::OfAuthority { verifier, .. } => verifier.verify_tls13_signature(message, cert, signed),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        match self {
            Self::OfAnybody(provider) => provider.signature_verification_algorithms.supported_schemes(),
            Self::OfAuthority { verifier, .. } => verifier.supported_verify_schemes(),
        }
    }
}

impl MakeTlsConnect<Socket> for TlsMaker {
    type Stream = Encrypted;
    type TlsConnect = TlsToHost;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<TlsToHost, io::Error> {
        Ok(TlsToHost { config: self.0.clone(), host: host.to_owned() })
    }
}

impl TlsConnect<Socket> for TlsToHost {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let config = self.config.ok_or_else(|| io::Error::other("TLS is not wanted"))?;
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            Ok(Encrypted(TlsConnector::from(config).connect(name, stream).await?))
        })
    }
}

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
