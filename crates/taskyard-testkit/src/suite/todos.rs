//! The contract of a place that keeps todo lists.

use std::path::Path;
use std::sync::Arc;

use taskyard::core::{Status, Todo};
use taskyard::todos::{TodoLists, TodoOwner, Todos};

/// Stamps the contract onto a place that keeps todo lists: given a function from an empty directory to such a place, it makes one
/// test of every promise.
#[macro_export]
macro_rules! todos_suite {
    ($factory:expr) => {
        $crate::todos_suite! { @ $factory,
            a_list_is_read_as_it_was_written
            every_agent_of_every_session_has_a_list_of_its_own
            an_empty_list_is_another_thing_than_none
            a_list_that_is_done_is_empty_from_then_on
        }
    };
    (@ $factory:expr, $($promise:ident)*) => {
        $(#[test]
        fn $promise() {
            $crate::suite::todos::with_fresh($factory, $crate::suite::todos::$promise);
        })*
    };
}

/// Calls with the todo lists of an empty directory; for [`crate::todos_suite`].
pub fn with_fresh(factory: impl FnOnce(&Path) -> Arc<dyn Todos>, promise: impl FnOnce(&Arc<dyn Todos>)) {
    let folder = tempfile::tempdir().unwrap();
    promise(&factory(folder.path()));
}

fn owner(session: &str, agent: &str) -> TodoOwner {
    TodoOwner { session: session.to_owned(), agent: agent.to_owned() }
}

fn todo(content: &str, status: Status) -> Todo {
    Todo { content: content.to_owned(), status, active_form: format!("doing {content}") }
}

/// To the letter, and as a whole.
pub fn a_list_is_read_as_it_was_written(todos: &Arc<dyn Todos>) {
    let ana = owner("s", "ana");
    assert_eq!(todos.read(&ana).unwrap(), None);
    for written in [
        vec![todo("a", Status::Pending), todo("b \"ü\n", Status::InProgress), todo("c", Status::Completed)],
        vec![todo("d", Status::Pending)],
    ] {
        todos.write(&ana, &written).unwrap();
        assert_eq!(todos.read(&ana).unwrap(), Some(written));
    }
}

/// Whatever they are called.
pub fn every_agent_of_every_session_has_a_list_of_its_own(todos: &Arc<dyn Todos>) {
    let owners = [owner("s", "ana"), owner("s", "ben"), owner("t", "ana"), owner("t", "t")];
    for (number, of) in owners.iter().enumerate() {
        todos.write(of, &[todo(&number.to_string(), Status::Pending)]).unwrap();
    }
    todos.forget(&owner("s", "nobody"));
    for (number, of) in owners.iter().enumerate() {
        assert_eq!(todos.read(of).unwrap().unwrap()[0].content, number.to_string());
    }
}

/// A starting client writes an empty list if there is none.
pub fn an_empty_list_is_another_thing_than_none(todos: &Arc<dyn Todos>) {
    let list = TodoLists::new(Arc::clone(todos), "s").of("ana");
    list.begin().unwrap();
    assert_eq!(todos.read(&owner("s", "ana")).unwrap(), Some(Vec::new()));
    list.replace(&[todo("a", Status::Pending)]).unwrap();
    list.begin().unwrap();
    assert_eq!(list.read().unwrap().len(), 1);
}

/// A caller that replaces it gets the old list.
pub fn a_list_that_is_done_is_empty_from_then_on(todos: &Arc<dyn Todos>) {
    let list = TodoLists::new(Arc::clone(todos), "s").of("ana");
    list.replace(&[todo("a", Status::Pending)]).unwrap();
    let replaced = list.replace(&[todo("a", Status::Completed)]).unwrap();
    assert_eq!((replaced.before.len(), replaced.after.len()), (1, 0));
    assert_eq!(list.read().unwrap(), []);
}
