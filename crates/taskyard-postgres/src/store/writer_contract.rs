//! How the writer of a list keeps the contract of every writer.

use taskyard::core::{Event, Moment};
use taskyard::store::kit::{ListState, Staging, Writer};
use taskyard::store::{LiveView, Signature, StoreError};

use super::committing::commit;
use super::writer::PostgresWriter;

impl Writer for PostgresWriter {
    fn now(&self) -> Result<Moment, StoreError> {
        Ok(self.database.clock.now_in_transaction())
    }

    fn live(&self, _base: &ListState) -> Option<LiveView<'_>> {
        // While the row is locked no writer moves the list on; a reader may find another in its place.
        self.list().live_as(&self.found, self.rules, self.database.clock.now_in_transaction().wall)
    }

    fn commit(self, staging: Staging, signature: &Signature) -> Result<Option<Event>, StoreError> {
        commit([(self, staging)], signature).map(|[event]| event)
    }

    fn commit_both(
        from: (Self, Staging),
        into: (Self, Staging),
        signature: &Signature,
    ) -> Result<[Option<Event>; 2], StoreError> {
        commit([from, into], signature)
    }
}
