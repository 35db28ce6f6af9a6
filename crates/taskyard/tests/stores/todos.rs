//! The contract of todo lists, stamped onto every place that keeps them.

use std::path::Path;
use std::sync::Arc;

use taskyard::todos::{FileTodos, MemoryTodos, Todos};

mod in_files {
    use super::{Arc, FileTodos, Path, Todos};

    taskyard_testkit::todos_suite!(|folder: &Path| {
        Arc::new(FileTodos::in_folder(folder.join("todos"))) as Arc<dyn Todos>
    });
}

mod in_memory {
    use super::{Arc, MemoryTodos, Path, Todos};

    taskyard_testkit::todos_suite!(|_: &Path| Arc::new(MemoryTodos::default()) as Arc<dyn Todos>);
}
