//! What pages are made of besides HTML: one stylesheet, the modules of one script, a sign. They are part of the program, and their
//! address says which version they are, so that browsers may keep them for good.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};
use taskyard::random::hexadecimal;

/// Where they are found.
pub(crate) const ASSETS: &str = "/assets/{version}/{name}";

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! asset {
    ($name:literal, $kind:expr) => {
        ($name, $kind, include_str!(concat!("../assets/", $name)))
    };
}

const FILES: [(&str, &str, &str); 19] = [
    asset!("board.css", STYLE),
    asset!("board.js", SCRIPT),
    asset!("acts.js", SCRIPT),
    asset!("asking.js", SCRIPT),
    asset!("cursor.js", SCRIPT),
    asset!("deeds.js", SCRIPT),
    asset!("drafts.js", SCRIPT),
    asset!("dragging.js", SCRIPT),
    asset!("editing.js", SCRIPT),
    asset!("fetching.js", SCRIPT),
    asset!("keys.js", SCRIPT),
    asset!("live.js", SCRIPT),
    asset!("opening.js", SCRIPT),
    asset!("server.js", SCRIPT),
    asset!("parts.js", SCRIPT),
    asset!("picture.js", SCRIPT),
    asset!("tails.js", SCRIPT),
    asset!("texts.js", SCRIPT),
    asset!("icon.svg", PICTURE),
];

/// Returns which version they are: the same for the same bytes.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let mut sum = Sha256::new();
        FILES.iter().for_each(|(_, _, text)| sum.update(text.as_bytes()));
        hexadecimal(&sum.finalize()[..8])
    })
}

/// Returns the address of one, given what paths begin with.
pub(super) fn address(base: &str, name: &str) -> String {
    format!("{base}/assets/{}/{name}", version())
}

/// Tells whether a path is that of the stylesheet.
pub(crate) fn is_style(path: &str) -> bool {
    path.starts_with("/assets/") && path.ends_with("/board.css")
}

/// Answers with one. One of another version is not kept: a page that was loaded before the server was replaced asks for it.
pub(crate) async fn asset(Path((asked, name)): Path<(String, String)>) -> Response {
    let Some((_, kind, text)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kept = if asked == version() { "private, max-age=31536000, immutable" } else { "no-store" };
    ([(CONTENT_TYPE, *kind), (CACHE_CONTROL, kept)], *text).into_response()
}

/// Answers with our sign, for browsers that ask for it without having been told where it is.
pub(crate) async fn icon() -> Response {
    asset(Path((version().to_owned(), "icon.svg".to_owned()))).await
}
