//! Gzip compression of answers.

use std::io::Write as _;

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, SET_COOKIE, VARY,
};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use taskyard_mcp::serving::spawn;

/// Minimum size: a shorter answer fits into one packet anyway.
const SHORTEST: u64 = 1024;
/// Maximum size: compressing a longer answer would take too much memory.
const LONGEST: u64 = 16 * 1024 * 1024;
/// Up to this size, compression takes about a millisecond and runs on the async thread.
const QUICK: usize = 128 * 1024;
/// Level 9 would take twice as long and save one percent.
const LEVEL: Compression = Compression::new(5);

/// Compresses the answer if the client accepts that and it is worth it. Streams are not compressed.
pub(crate) async fn compressed(request: Request, next: Next) -> Response {
    let is_accepted = accepts_gzip(request.headers());
    let response = next.run(request).await;
    let is_worth_it = response.body().size_hint().exact().is_some_and(|size| (SHORTEST..=LONGEST).contains(&size));
    // Do not compress an answer that contains a secret: its length could reveal the secret.
    let is_plain = !response.headers().contains_key(CONTENT_ENCODING) && !response.headers().contains_key(SET_COOKIE);
    if !is_worth_it || !is_plain || !is_text(response.headers()) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    if !is_accepted {
        return Response::from_parts(head, body);
    }
    let Ok(bytes) = to_bytes(body, usize::MAX).await else { return Response::from_parts(head, Body::empty()) };
    let whole = bytes.clone();
    let small = if bytes.len() <= QUICK { gzip(&bytes) } else { spawn(move || gzip(&bytes)).await.ok().flatten() };
    let body = match small {
        Some(small) => {
            head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            head.headers.remove(CONTENT_LENGTH);
            small
        }
        None => whole,
    };
    Response::from_parts(head, Body::from(body))
}

fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), LEVEL);
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"))
            && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    ["text/html", "text/css", "text/javascript", "text/plain", "application/json", "image/svg+xml"]
        .iter()
        .any(|text| kind.starts_with(text))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::ACCEPT_ENCODING;

    use super::accepts_gzip;

    #[test]
    fn only_clients_that_ask_for_gzip_get_it() {
        let accepts = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, value.parse().unwrap());
            accepts_gzip(&headers)
        };
        for value in ["gzip", "br, gzip;q=0.5", "deflate,GZIP"] {
            assert!(accepts(value), "{value}");
        }
        for value in ["", "br", "gzip;q=0", "x-gzip"] {
            assert!(!accepts(value), "{value}");
        }
    }
}
