//! Lists that a flag names and that are not there: a typing error more often than a new list.

use taskyard::core::ListId;
use taskyard::core::near_miss::nearest;
use taskyard::core::rules::lists::list_choice::Reason;

use super::Context;
use crate::output::Output;
use crate::problem::{Problem, ProblemKind};

impl Context {
    /// Returns the list that a person gives a name to. A name that reads like a path is refused: it would become another name.
    pub(crate) fn list_to_be(&self, name: &str) -> Result<ListId, Problem> {
        let list = ListId::new(name)?;
        let is_scoped = name
            .strip_prefix('@')
            .and_then(|rest| rest.split_once('/'))
            .is_some_and(|(scope, package)| !scope.is_empty() && !package.is_empty() && !package.contains('/'));
        let wrong = name.chars().find(|one| matches!(one, '/' | '\\') || one.is_control()).filter(|_| !is_scoped);
        let has_name = || Ok::<_, Problem>(self.list_names()?.values().any(|known| known == name));
        match wrong {
            Some(wrong) if !has_name()? => {
                let why = if wrong.is_control() { "control characters".to_owned() } else { format!("`{wrong}`") };
                Err(Problem::usage(
                    "bad_list_name",
                    format!("`{name}` cannot be the name of a list: it contains {why}"),
                )
                .hint(format!("`{}` would do", list.directory())))
            }
            _ => self.list_named(name),
        }
    }

    /// Returns the list that `--list` names if there is none of that name, nor any memory of one.
    fn missing_list(&self) -> Result<Option<ListId>, Problem> {
        if self.globals.list.is_none() {
            return Ok(None);
        }
        let choice = self.choice()?;
        let is_own = || self.list_of_directory().is_ok_and(|own| own.list == choice.list);
        if choice.reason != Reason::Flag || is_own() {
            return Ok(None);
        }
        let store = self.store()?;
        let is_known = store.has(&choice.list).map_err(taskyard::Error::from)?
            || store.care().is_some_and(|care| care.has_memory(&choice.list))
            || self.teams().is_ok_and(|teams| teams.team_of(&choice.list).is_ok_and(|team| team.is_some()));
        Ok((!is_known).then_some(choice.list))
    }

    /// Fails if a command that only looks was given a list that is not there.
    pub(crate) fn must_have_list(&self) -> Result<(), Problem> {
        self.missing_list()?.map_or(Ok(()), |list| Err(self.no_such_list(&list)?))
    }

    /// Asks a person whether a list that is not there is to be made. Returns it if it may be.
    pub(crate) fn list_to_make(&self, output: &mut Output) -> Result<Option<ListId>, Problem> {
        let Some(list) = self.missing_list()? else { return Ok(None) };
        if output.can_ask() {
            let problem = self.no_such_list(&list)?;
            let report = problem.report();
            let meant = report.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            if !output.ask(&format!("There is no list `{list}`{meant}. Create it?"))? {
                return Err(problem);
            }
        }
        Ok(Some(list))
    }

    /// Says that there is no such list, and which one may have been meant.
    pub(crate) fn no_such_list(&self, list: &ListId) -> Result<Problem, Problem> {
        let names = self.store()?.list_names().map_err(taskyard::Error::from)?;
        let names: Vec<&str> = names.iter().map(ListId::as_str).collect();
        let problem = Problem::new(ProblemKind::NotFound, "list_not_found", format!("there is no list `{list}`"));
        Ok(problem.detail("list", list.as_str()).hint(match nearest(list.as_str(), &names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`taskyard lists` shows those there are".to_owned(),
        }))
    }
}
