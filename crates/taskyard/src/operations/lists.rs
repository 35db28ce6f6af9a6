//! The lists of a store.

use taskyard_core::ListId;
use taskyard_core::rules::history::vanishing::Gone;

use super::gone::GoneList;
use crate::store::ListInfo;
use crate::{Error, Yard};

/// A list, and what it has lost.
#[derive(Clone, Debug)]
pub struct KnownList {
    /// The list; one of which nothing is left but our memory has no tasks.
    pub info: ListInfo,
    /// What it has lost; `None` if no open task is gone.
    pub gone: Option<Gone>,
}

impl Yard {
    /// Returns every list of the store, by name.
    pub fn lists(&self) -> Result<Vec<ListInfo>, Error> {
        Ok(self.store().lists()?)
    }

    /// Returns at most `limit` lists of the store, sorted by name, starting after `after`, and whether more follow. Lists of which nothing is
    /// left but our memory are among them.
    pub fn some_lists(&self, after: Option<&ListId>, limit: usize) -> Result<(Vec<KnownList>, bool), Error> {
        let lists = self.store().some_lists(after, limit.saturating_add(1))?;
        let gone = self.gone_among(&lists)?;
        let mut lists: Vec<KnownList> = lists.into_iter().map(|info| KnownList { info, gone: None }).collect();
        for GoneList { list, path, gone } in gone {
            match lists.iter_mut().find(|known| known.info.list == list) {
                Some(known) => known.gone = Some(gone),
                None => {
                    let info = ListInfo { list, path, counts: [0; 3], changed: None };
                    lists.push(KnownList { info, gone: Some(gone) });
                }
            }
        }
        lists.sort_by(|one, two| one.info.list.cmp(&two.info.list));
        lists.retain(|known| after.is_none_or(|after| known.info.list > *after));
        let has_more = lists.len() > limit;
        lists.truncate(limit);
        Ok((lists, has_more))
    }
}
