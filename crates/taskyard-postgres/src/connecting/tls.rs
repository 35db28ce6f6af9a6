//! TLS by rustls, in the ways that `sslmode` names.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::failure::{Failure, FailureKind};
use crate::settings::{Settings, TlsMode};

/// Makes TLS connections, where the server and `sslmode` want them.
#[derive(Clone)]
pub(super) struct TlsMaker(Option<Arc<ClientConfig>>);

/// A TLS connection that is about to be made to one host.
pub(super) struct TlsToHost {
    config: Option<Arc<ClientConfig>>,
    host: String,
}

/// A connection that no third party can read.
pub(super) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl TlsMaker {
    /// Reads the certificates that are to be trusted in this mode.
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
                .map_err(|error| wrong(format!("no certificate authority is known: {error}")))?;
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

/// Decides whether a server is who it says it is.
#[derive(Debug)]
enum Verifier {
    /// Any certificate does: a third party cannot read along, and that is all.
    OfAnybody(Arc<CryptoProvider>),
    /// It has to come from an authority; to the lenient it may be for another name.
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
