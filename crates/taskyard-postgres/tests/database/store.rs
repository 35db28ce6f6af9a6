//! The contract of a store on a real PostgreSQL.

use std::sync::Arc;

use taskyard::Store;
use taskyard_postgres::{PostgresStore, Surroundings};
use taskyard_testkit::SharedPostgres;

taskyard_testkit::store_suite!(|rules| {
    let address = SharedPostgres::get().fresh_address();
    Arc::new(PostgresStore::open(&address, &address, &Surroundings::default(), rules).unwrap()) as Arc<dyn Store>
});
