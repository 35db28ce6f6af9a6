//! What the block of a new task says of how the task came to be.

use serde_json::Value;

use super::block::{Block, PARENT, take_facts_of_making};
use super::facts::BadBlock;
use crate::{AgentName, Metadata, TaskId};

/// Writes the facts of a new task of a kind into the block of its description: how it came to be, who made it, its parent, and more. Facts
/// among the metadata move there. Returns the description, and why the block was left as it is if it cannot be read; the facts stand in
/// the metadata then.
pub fn describe_making(
    description: String,
    metadata: &mut Option<Metadata>,
    author: &AgentName,
    more: Vec<(String, Value)>,
) -> (String, Option<BadBlock>) {
    let is_given = Block::find(&description).is_some();
    let mut facts = metadata.as_mut().map(take_facts_of_making).unwrap_or_default();
    // A block that is given is kept as it is.
    if !is_given && facts.iter().all(|(key, _)| key != "created_by") {
        facts.push(("created_by".to_owned(), author.as_str().into()));
    }
    facts.extend(parent_fact(metadata.as_ref()));
    facts.extend(more);
    let told = facts.iter().try_fold(description.clone(), |told, (key, value)| Block::set(&told, key, value));
    match told {
        Ok(told) => (told, None),
        Err(bad) => {
            facts.retain(|(key, _)| key != PARENT);
            metadata.get_or_insert_default().extend(facts);
            (description, Some(bad))
        }
    }
}

/// Returns the parent as a fact of the block.
fn parent_fact(metadata: Option<&Metadata>) -> Option<(String, Value)> {
    let parent = metadata?.get("parent")?;
    let id = TaskId::stored(parent.as_str()?);
    Some((PARENT.to_owned(), id.as_number().map_or_else(|| parent.clone(), Value::from)))
}
