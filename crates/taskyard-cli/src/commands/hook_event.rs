//! The event that a hook of the client is told of, and the lists that its agent may have used.

use std::io::Read as _;

use serde_json::{Map, Value};
use taskyard::Yard;
use taskyard::core::dialect::native::LARGEST;
use taskyard::core::rules::lists::list_choice::short_session_list;
use taskyard::core::{ListId, json_text};
use taskyard::opening::Address;

use crate::context::Context;
use crate::problem::{Problem, ProblemKind};

/// Reads the event from stdin.
pub(super) fn read_event() -> Result<Map<String, Value>, Problem> {
    let mut bytes = Vec::new();
    let failed = |error| Problem::io("cannot read the event from stdin", &error);
    std::io::stdin().lock().take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    let wrong = |why: String| {
        Problem::new(ProblemKind::CouldNot, "bad_event", format!("what came on stdin is no event: {why}"))
            .hint("this command is for the client's hooks, which write one JSON object")
    };
    match json_text::from_slice(&bytes) {
        Ok(Value::Object(event)) => Ok(event),
        Ok(_) => Err(wrong("it is no JSON object".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// The lists that the client's own task tools may use in the session of an event, other than the one in use.
pub(super) struct OwnTools {
    /// A yard on each.
    pub(super) yards: Vec<Yard>,
    /// Whether they are in the same store as the one in use.
    pub(super) is_same_store: bool,
}

impl OwnTools {
    /// Looks which lists those are: the session's, under its whole name or the short one, unless a variable names another.
    pub(super) fn beside(yard: &Yard, context: &Context) -> Result<Self, Problem> {
        let environment = context.environment();
        let is_same_store = *context.address()? == Address::Claude;
        let of_session = |session: &String| vec![session.clone(), short_session_list(session)];
        let lists = match (&environment.client_session, &environment.client_list) {
            (None, _) => Vec::new(),
            (Some(_), Some(list)) => vec![list.clone()],
            (Some(session), None) => of_session(session),
        };
        let lists: Vec<ListId> = lists.into_iter().filter_map(|list| ListId::new(list).ok()).collect();
        if lists.is_empty() || (is_same_store && lists.contains(yard.list_id())) {
            return Ok(Self { yards: Vec::new(), is_same_store });
        }
        let theirs = if is_same_store { yard.clone() } else { context.on_clients_files(yard)? };
        Ok(Self { yards: lists.into_iter().map(|list| theirs.on(list)).collect(), is_same_store })
    }

    /// Returns the flags with which commands work on one of the lists.
    pub(super) fn flags(&self, list: &ListId) -> String {
        let store = if self.is_same_store { "" } else { " --store claude:" };
        format!("{store} --list {list}")
    }
}
