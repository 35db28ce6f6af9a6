//! What is to be sent, and why something cannot be.

use crate::tools::{Answer, InputError};

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendMessage {
    /// Words for one.
    Message {
        /// The name of the recipient, as the model wrote it.
        to: String,
        /// The text for the recipient's model.
        text: String,
        /// The text in a few words, for displays.
        summary: Option<String>,
    },
    /// Words for all.
    Broadcast {
        /// The text for the models of all members.
        text: String,
        /// The text in a few words, for displays.
        summary: Option<String>,
    },
    /// A member is asked to end.
    ShutdownRequest {
        /// The name of the member that is to end.
        to: String,
        /// Why it is to end; none where the model did not say.
        reason: Option<String>,
    },
    /// A request to end is answered.
    ShutdownResponse {
        /// The id of the request that is answered.
        request: String,
        /// Why not; none where it is approved.
        rejection: Option<String>,
        /// The member it is addressed to, who has to be the lead; `None` if it goes to the lead whatever was said.
        addressed: Option<String>,
    },
    /// A plan is shown to the lead.
    PlanApprovalRequest {
        /// The whole plan, as text for the lead.
        plan: String,
        /// The member it is addressed to, who has to be the lead; `None` if it goes to the lead whatever was said.
        addressed: Option<String>,
    },
    /// A plan is answered.
    PlanApprovalResponse {
        /// The name of the member whose plan it is.
        to: String,
        /// The id of the request that is answered.
        request: String,
        /// What is to be changed; none where it is approved.
        rejection: Option<String>,
    },
}

/// Why an input cannot be sent.
#[derive(Debug)]
pub enum Unsendable {
    /// It is not as it should be.
    Input(InputError),
    /// It is, and cannot be done; this is the answer.
    Answer(Answer),
}

impl From<InputError> for Unsendable {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

/// Returns the recipient, who must have a name.
pub(super) fn named(to: String) -> Result<String, Unsendable> {
    if to.trim().is_empty() { Err(refuse("recipient must not be empty")) } else { Ok(to) }
}

/// Returns why something is rejected; none where it is approved. A rejection says why.
pub(super) fn rejection(
    is_approved: bool,
    reason: Option<String>,
    missing: &str,
) -> Result<Option<String>, Unsendable> {
    match (is_approved, reason.filter(|reason| !reason.is_empty())) {
        (true, _) => Ok(None),
        (false, Some(reason)) => Ok(Some(reason)),
        (false, None) => Err(refuse(missing)),
    }
}

/// Refuses in the words of an answer.
pub(super) fn refuse(text: &str) -> Unsendable {
    Unsendable::Answer(Answer::error(text))
}
