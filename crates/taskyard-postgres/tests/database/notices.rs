//! The promises of notices and todo lists on a real PostgreSQL.

use std::path::Path;
use std::sync::Arc;
use taskyard::opening::{Address, Opened, Openers, Places, WrittenAddress};
use taskyard_postgres::{PostgresOpener, Surroundings};
use taskyard_testkit::SharedPostgres;

fn open() -> Opened {
    let opener = Arc::new(PostgresOpener::new(Surroundings::default()));
    let openers = Openers::default().with("postgres", opener);
    let written = WrittenAddress::new(SharedPostgres::get().fresh_address());
    let address = Address::parse(&written, Path::new("/"), &openers).unwrap();
    taskyard::open(&address, &Places::default(), &openers).unwrap()
}

taskyard_testkit::notices_suite!(|_| open().notices.unwrap());

taskyard_testkit::todos_suite!(|_| open().todos.unwrap());
