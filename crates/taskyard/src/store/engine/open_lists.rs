//! The lists that a process has open: those that callers ask for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taskyard_core::ListId;

use super::open_list::{ListFiles, OpenList};

/// How long a list that no caller asks for stays in memory.
const KEEPS: Duration = Duration::from_secs(300);
/// How many lists stay in memory that nobody follows. Callers ask for any name, and for names of lists that do not exist.
const MOST: usize = 256;

/// The lists that callers asked for.
#[derive(Debug)]
pub(in crate::store) struct OpenLists<F> {
    lists: Mutex<AskedLists<F>>,
    keeps: Duration,
}

#[derive(Debug)]
struct AskedLists<F> {
    by_name: HashMap<ListId, AskedList<F>>,
    /// When we last looked which of them no caller asks for any more.
    looked_through: Instant,
}

#[derive(Debug)]
struct AskedList<F> {
    list: Arc<OpenList<F>>,
    /// When a caller last asked for it.
    asked: Instant,
}

impl<F: ListFiles> OpenLists<F> {
    /// Begins with none.
    pub(in crate::store) fn new() -> Self {
        let lists = AskedLists { by_name: HashMap::new(), looked_through: Instant::now() };
        Self { lists: Mutex::new(lists), keeps: KEEPS }
    }

    /// Lets go of a list in memory when no caller has asked for it for so long.
    pub(in crate::store) fn letting_go_after(self, keeps: Duration) -> Self {
        Self { keeps, ..self }
    }

    /// Returns a list, which is opened if it is not.
    pub(in crate::store) fn get(&self, name: &ListId, open: impl FnOnce() -> OpenList<F>) -> Arc<OpenList<F>> {
        let mut lists = self.lists();
        let now = Instant::now();
        let asked =
            lists.by_name.entry(name.clone()).or_insert_with(|| AskedList { list: Arc::new(open()), asked: now });
        asked.asked = now;
        let list = Arc::clone(&asked.list);
        lists.let_go_of_those_unasked(self.keeps);
        list
    }

    /// Returns every list that is open.
    pub(in crate::store) fn all(&self) -> Vec<Arc<OpenList<F>>> {
        self.lists().by_name.values().map(|asked| Arc::clone(&asked.list)).collect()
    }

    fn lists(&self) -> MutexGuard<'_, AskedLists<F>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: ListFiles> AskedLists<F> {
    /// Lets go of the lists that no caller has asked for in so long, now and then.
    fn let_go_of_those_unasked(&mut self, keeps: Duration) {
        if self.by_name.len() > MOST {
            self.make_room();
        }
        if self.looked_through.elapsed() < keeps / 4 {
            return;
        }
        self.looked_through = Instant::now();
        self.by_name.retain(|_, AskedList { list, asked }| {
            let is_asked_for = asked.elapsed() < keeps;
            if !is_asked_for {
                list.files.let_go();
            }
            // A follower of the list keeps it all the same.
            is_asked_for || Arc::strong_count(list) > 1
        });
    }

    /// Lets go of lists that nobody uses until half of the room is free, of those first that no caller has asked for in longest.
    fn make_room(&mut self) {
        let unused = self.by_name.iter().filter(|(_, asked)| Arc::strong_count(&asked.list) == 1);
        let mut unused: Vec<_> = unused.map(|(name, asked)| (asked.asked, name.clone())).collect();
        unused.sort_by_key(|(asked, _)| *asked);
        let too_many = self.by_name.len() - MOST / 2;
        for (_, name) in unused.into_iter().take(too_many) {
            if let Some(asked) = self.by_name.remove(&name) {
                asked.list.files.let_go();
            }
        }
    }
}
