//! The static assets: a stylesheet, script modules and an icon. They are compiled into the program, and their URLs
//! contain a version, so browsers may cache them indefinitely.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};
use taskyard::system::hexadecimal;

/// The route of assets.
pub(crate) const ASSETS: &str = "/assets/{version}/{name}";

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! asset {
    ($name:literal, $kind:expr) => {
        ($name, $kind, include_str!(concat!("../assets/", $name)))
    };
}

const FILES: [(&str, &str, &str); 25] = [
    asset!("board.css", STYLE),
    asset!("board.js", SCRIPT),
    asset!("acts.js", SCRIPT),
    asset!("asking.js", SCRIPT),
    asset!("completing.js", SCRIPT),
    asset!("cursor.js", SCRIPT),
    asset!("deeds.js", SCRIPT),
    asset!("drafts.js", SCRIPT),
    asset!("dragging.js", SCRIPT),
    asset!("editing.js", SCRIPT),
    asset!("fetching.js", SCRIPT),
    asset!("keys.js", SCRIPT),
    asset!("listing.js", SCRIPT),
    asset!("live.js", SCRIPT),
    asset!("looking.js", SCRIPT),
    asset!("matching.js", SCRIPT),
    asset!("opening.js", SCRIPT),
    asset!("server.js", SCRIPT),
    asset!("parts.js", SCRIPT),
    asset!("picker.js", SCRIPT),
    asset!("picture.js", SCRIPT),
    asset!("setting.js", SCRIPT),
    asset!("tails.js", SCRIPT),
    asset!("texts.js", SCRIPT),
    asset!("icon.svg", PICTURE),
];

/// Returns the version, a digest of all assets.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let mut sum = Sha256::new();
        FILES.iter().for_each(|(_, _, text)| sum.update(text.as_bytes()));
        hexadecimal(&sum.finalize()[..8])
    })
}

/// Returns the URL of an asset below a path prefix.
pub(super) fn address(base: &str, name: &str) -> String {
    format!("{base}/assets/{}/{name}", version())
}

/// Returns whether a path is that of the stylesheet.
pub(crate) fn is_style(path: &str) -> bool {
    path.starts_with("/assets/") && path.ends_with("/board.css")
}

/// Answers with an asset. Another version is not cacheable: a page loaded before the server was replaced asks for it.
pub(crate) async fn asset(Path((asked, name)): Path<(String, String)>) -> Response {
    let Some((_, kind, text)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kept = if asked == version() { "private, max-age=31536000, immutable" } else { "no-store" };
    ([(CONTENT_TYPE, *kind), (CACHE_CONTROL, kept)], *text).into_response()
}

/// Answers with the icon at its conventional path.
pub(crate) async fn icon() -> Response {
    asset(Path((version().to_owned(), "icon.svg".to_owned()))).await
}
