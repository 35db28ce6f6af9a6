//! Answering requests for pages, completely or in the parts that a browser asks for.

use std::sync::Arc;

use axum::RequestPartsExt as _;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use taskyard::process::Cancel;

use super::layout::{self, Part};
use super::page_address::{PageAddress, View};
use super::seen::Seen;
use crate::web::api::{Caller, status_of};
use crate::web::call::Requested;
use crate::web::events::newest_event;
use crate::web::site::Site;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard_mcp::serving::Work;

/// The header that names the requested parts; without it, the whole page is sent.
const PARTS: &str = "taskyard-parts";
const HTML: &str = "text/html; charset=utf-8";

/// Redirects to the served list.
pub(crate) async fn go_home(State(site): State<Arc<Site>>) -> Response {
    let home = PageAddress::first(site.entrance().base(), site.list().clone(), View::Columns).href();
    (StatusCode::SEE_OTHER, [(LOCATION, home)]).into_response()
}

pub(crate) async fn page(State(site): State<Arc<Site>>, request: Request) -> Response {
    let (mut head, _) = request.into_parts();
    let raw = head.extract::<RawPathParams>().await;
    let list = raw.ok().and_then(|raw| raw.iter().find(|(name, _)| *name == "list").map(|(_, list)| list.to_owned()));
    let (base, query) = (site.entrance().base(), head.uri.query().unwrap_or_default());
    let address = PageAddress::of(base, list.as_deref(), head.uri.path(), query, site.list());
    let asked = address.and_then(|address| Ok((address, Caller::of(&head)?)));
    let (address, caller) = match asked {
        Ok(asked) => asked,
        Err(problem) => return not_shown(&site, &problem),
    };
    let parts = parts_of(&head.headers);
    // Before reading the list, so that no later event is missed.
    let since = if parts.is_none() { newest_event(&site, caller.agent.as_ref()).await } else { None };
    let look = {
        let site = Arc::clone(&site);
        move || draw(&site, address, caller, (&parts, since))
    };
    match site.workers().run(Work::Looks, look).await {
        Ok(Ok(page)) => ([(CONTENT_TYPE, HTML), (VARY, PARTS)], page).into_response(),
        Ok(Err(problem)) => not_shown(&site, &problem),
        Err(_) => not_shown(
            &site,
            &Problem::new(ProblemKind::GaveUp, "too_busy", "too many requests are waiting")
                .hint("ask again in a second"),
        ),
    }
}

/// Returns the requested parts, or `None` for the whole page.
fn parts_of(headers: &HeaderMap) -> Option<Vec<Part>> {
    let named = headers.get(PARTS)?.to_str().ok()?;
    let wanted: Vec<&str> = named.split(',').map(str::trim).collect();
    Some(Part::ALL.into_iter().filter(|part| wanted.contains(&part.id())).collect())
}

fn draw(
    site: &Site,
    mut address: PageAddress,
    caller: Caller,
    (parts, since): (&Option<Vec<Part>>, Option<String>),
) -> Result<String, Problem> {
    let scope = caller.identity.granted;
    let requested = Requested { list: Some(address.list.clone()), agent: caller.agent, ..Requested::default() };
    let call = site.call(requested, Cancel::new())?;
    address.list = call.yard.list_id().clone();
    site.settle(&call);
    let asks_for_lists = parts.as_ref().is_none_or(|parts| parts.contains(&Part::Lists)) || address.view == View::Lists;
    let seen = Seen::look(address, &call, site, asks_for_lists, scope)?;
    Ok(match parts {
        None => layout::whole(&seen, since.as_deref()).into_string(),
        Some(parts) => parts.iter().map(|part| part.draw(&seen).into_string()).collect(),
    })
}

fn not_shown(site: &Site, problem: &Problem) -> Response {
    let report = problem.report();
    let page = layout::problem(site.entrance().base(), &report.message, report.hint.as_deref()).into_string();
    (status_of(problem), [(CONTENT_TYPE, HTML)], page).into_response()
}
