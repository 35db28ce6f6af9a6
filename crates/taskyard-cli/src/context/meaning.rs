//! What words mean that choose tasks or say when: in the zone of the user, with working days as configured.

use taskyard::Yard;
use taskyard::core::forms::extras::Extras;
use taskyard::core::forms::id_range::IdRange;
use taskyard::core::forms::inline::InlineTask;
use taskyard::core::timing::Clock;
use taskyard::core::{Metadata, TaskId};
use taskyard::operations::Query;

use super::Context;
use crate::arguments::{WhichTasks, writers_clock};
use crate::output::local_zone;
use crate::problem::Problem;

impl Context {
    /// Reads the query that arguments make up. What a shell unquoted is an exact text.
    pub(crate) fn query_of(&self, arguments: &[impl AsRef<str>]) -> Result<Query, Problem> {
        self.as_meant(Query::of_arguments(arguments)?)
    }

    /// Reads the query that is searched for, whose words are looked for one by one.
    pub(crate) fn query_of_words(&self, arguments: &[impl AsRef<str>]) -> Result<Query, Problem> {
        self.as_meant(Query::of_words(arguments)?)
    }

    /// Returns the query with its days in the zone of the user, and with working days as configured.
    pub(crate) fn as_meant(&self, query: Query) -> Result<Query, Problem> {
        // Both are read from files, and few queries depend on them.
        let query = if query.asks_for_days() { query.in_zone(local_zone().clone()) } else { query };
        Ok(if query.asks_for_work() { query.with_working_day(self.config()?.working_day()) } else { query })
    }

    /// Returns the query that was given with `--where`. An empty one is true of every task, and no more than a variable that is not set.
    pub(crate) fn where_query(&self, which: &WhichTasks) -> Result<Option<Query>, Problem> {
        let query = which.query.as_ref().map(|query| self.query_of(std::slice::from_ref(query))).transpose()?;
        match query {
            Some(query) if query.is_empty() => Err(Problem::usage("bad_query", "`--where` stands without a query")
                .hint("`--where status:open` chooses everything that is open")),
            query => Ok(query),
        }
    }

    /// Returns the ids, in the order in which they were given or by number; those of a query as the list is now.
    pub(crate) fn ids_of(&self, which: &WhichTasks, yard: &Yard) -> Result<Vec<TaskId>, Problem> {
        if let Some(query) = self.where_query(which)? {
            return Ok(yard.chosen(&query)?.into_iter().map(|task| task.id).collect());
        }
        Ok(which.ids.iter().flat_map(IdRange::ids).collect())
    }

    /// Returns the clock by which times are meant that the user types.
    pub(crate) fn clock(&self) -> Result<Clock, Problem> {
        Ok(Clock { working_day: self.config()?.working_day(), ..writers_clock() })
    }

    /// Returns the metadata that is meant.
    pub(crate) fn metadata_of(&self, extras: Extras) -> Result<Option<Metadata>, Problem> {
        // It is read from a file, and few tasks have an estimate.
        let working_day = match extras.estimate {
            Some(_) => self.config()?.working_day(),
            None => taskyard::core::timing::WORKING_DAY,
        };
        Ok(extras.metadata(working_day))
    }

    /// Reads a title with its attributes from the arguments of a command.
    pub(crate) fn inline_task(&self, words: &[String]) -> Result<InlineTask, Problem> {
        InlineTask::of_words(words, &writers_clock()).map_err(|bad| {
            Problem::usage("bad_attribute", bad.to_string())
                .hint("words after `--` are title; `taskyard help dates` shows how times are written")
        })
    }
}
