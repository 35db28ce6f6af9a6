//! Writing much of a journal as JSON, a little at a time.

use std::cell::RefCell;

use serde::ser::{Error as _, Serialize, SerializeSeq as _, Serializer};
use taskyard::StoreError;
use taskyard::core::{Entry, answers};

/// Entries of the journal as one JSON array. Each page is read when the one before it has been written.
pub(crate) struct StreamedEntries<P> {
    pages: RefCell<P>,
    failure: RefCell<Option<StoreError>>,
}

impl<P: Iterator<Item = Result<Vec<Entry>, StoreError>>> StreamedEntries<P> {
    /// Takes the pages; none is read yet.
    pub(crate) fn of(pages: P) -> Self {
        Self { pages: RefCell::new(pages), failure: RefCell::default() }
    }

    /// Returns why the writing ended before the end of the journal, where a page could not be read.
    pub(crate) fn into_failure(self) -> Option<StoreError> {
        self.failure.into_inner()
    }
}

impl<P: Iterator<Item = Result<Vec<Entry>, StoreError>>> Serialize for StreamedEntries<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut array = serializer.serialize_seq(None)?;
        for page in &mut *self.pages.borrow_mut() {
            match page {
                Ok(page) => {
                    page.iter().try_for_each(|entry| array.serialize_element(&answers::values::Entry::from(entry)))?
                }
                Err(error) => {
                    let message = error.to_string();
                    self.failure.replace(Some(error));
                    return Err(S::Error::custom(message));
                }
            }
        }
        array.end()
    }
}
