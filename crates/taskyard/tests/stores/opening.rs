//! From an address to everything that lives there, also where another crate opens it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use taskyard::core::{AgentName, ListId, Rules};
use taskyard::opening::{
    Address, AddressError, OpenError, Opened, Opener, Openers, Places, RemoteAddress, WrittenAddress,
};
use taskyard::operations::NewTask;
use taskyard::store::MemoryStore;
use taskyard::{StoreError, Yard, open};

/// Opens a store in memory, and remembers the addresses it was given.
#[derive(Debug, Default)]
struct StandIn(Mutex<Vec<String>>);

impl Opener for StandIn {
    fn open(&self, address: &RemoteAddress, places: &Places) -> Result<Opened, OpenError> {
        self.0.lock().unwrap().push(address.with_password().to_owned());
        let store = Arc::new(MemoryStore::new(places.rules));
        Ok(Opened::with_this_machines(store, &Address::Remote(address.clone()), places))
    }
}

fn parse(text: &str, openers: &Openers) -> Result<Address, AddressError> {
    Address::parse(&WrittenAddress::new(text), Path::new("/projects"), openers)
}

fn places(folder: &Path) -> Places {
    Places {
        client: Some(folder.join("client")),
        data: Some(folder.join("data")),
        directory: Some(folder.to_owned()),
        session: None,
        client_teammate: None,
        rules: Rules::Strict,
    }
}

#[test]
fn foreign_store_opens_with_password_and_is_shown_without() {
    let folder = tempfile::tempdir().unwrap();
    let stand_in = Arc::new(StandIn::default());
    let openers = Openers::default().with("postgres", stand_in.clone()).with("postgresql", stand_in.clone());
    let written = "postgres://ana:s3cret@host:5432/db?sslmode=require&sslpassword=s3cret";
    let address = parse(written, &openers).unwrap();
    let opened = open(&address, &places(folder.path()), &openers).unwrap();
    assert_eq!(*stand_in.0.lock().unwrap(), [written]);
    let yard = Yard::new(Arc::clone(&opened.store), ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
    let new = NewTask { subject: "one".into(), ..NewTask::default() };
    assert_eq!(yard.create(new).unwrap().done().unwrap().task.id.as_str(), "1");
    assert_eq!(address.to_string(), "postgres://ana@host:5432/db?sslmode=require");
    for shown in [
        format!("{address:?} {opened:?}"),
        format!("{:?} {}", WrittenAddress::new(written), WrittenAddress::new(written)),
    ] {
        assert!(!shown.contains("s3cret"), "{shown}");
    }
    // A process that is given the address without its password opens the same store.
    let again = parse(&address.to_string(), &openers).unwrap();
    assert_eq!(again.to_string(), address.to_string());
    assert!(open(&again, &places(folder.path()), &openers).is_ok());
    assert!(parse("postgresql://host/db", &openers).is_ok());
}

#[test]
fn unsupported_address_error_hides_the_password() {
    let openers = Openers::default().with("board", Arc::new(StandIn::default()));
    for (text, shown) in [
        ("postgres://ana:s3cret@host/db", "postgres://ana@host/db"),
        ("postgres://ana:s3@cret@host/db", "postgres:…"),
        ("POSTGRES://ana:s3cret@host/db", "POSTGRES://ana@host/db"),
        ("claude:s3", "claude:s3"),
        ("nope", "nope"),
    ] {
        let Err(AddressError::Unknown { address, schemes }) = parse(text, &openers) else { panic!("{text}") };
        assert_eq!((address.as_str(), &schemes[..]), (shown, &["board"][..]), "{text}");
    }
    for text in ["board://ana:s3@cret@host/7", "board://ana:s3/cret@host/7", "board:ana:s3cret@host"] {
        let error = parse(text, &openers).unwrap_err();
        assert_eq!(error, AddressError::UnclearPassword { scheme: "board".into() }, "{text}");
        assert!(!format!("{error} {error:?}").contains("cret"), "{error:?}");
    }
    // An address that one list of openers knew is no address for another.
    let address = parse("board://ana:s3cret@host/7", &openers).unwrap();
    let error = open(&address, &Places::default(), &Openers::default()).unwrap_err();
    assert!(matches!(error, OpenError::Address(AddressError::Unknown { .. })), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
}

#[test]
fn opening_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let openers = Openers::default();
    for text in ["claude:", "file:a", "document:", "document:a.json", "teaching:a", "memory:"] {
        let address = Address::parse(&WrittenAddress::new(text), folder.path(), &openers).unwrap();
        let opened = open(&address, &places(folder.path()), &openers).unwrap();
        assert!(opened.teams.is_some() && opened.notices.is_some() && opened.todos.is_some(), "{text}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{text}");
    }
}

#[test]
fn what_a_store_needs_and_is_nowhere_is_told() {
    let nowhere = Places::default();
    let somewhere = Places { client: Some("/nowhere".into()), ..Places::default() };
    let openers = Openers::default();
    let error = |text: &str, places: &Places| open(&parse(text, &openers).unwrap(), places, &openers).err();
    assert!(matches!(error("claude:", &nowhere), Some(OpenError::NoClientDirectory)));
    assert!(matches!(error("document:", &nowhere), Some(OpenError::NoClientDirectory)));
    for text in ["file:a", "document:a", "teaching:a"] {
        assert!(matches!(error(text, &nowhere), Some(OpenError::NoDataDirectory)), "{text}");
    }
    assert!(matches!(error("claude:", &somewhere), Some(OpenError::NoDataDirectory)));
    assert!(error("memory:", &nowhere).is_none());
}

#[test]
fn what_an_opener_says_is_what_is_told() {
    #[derive(Debug)]
    struct Refusing;
    impl Opener for Refusing {
        fn open(&self, _address: &RemoteAddress, _places: &Places) -> Result<Opened, OpenError> {
            Err(StoreError::Conflict { task: "1".parse().unwrap() }.into())
        }
    }
    let openers = Openers::default().with("board", Arc::new(Refusing));
    let error = open(&parse("board:7", &openers).unwrap(), &Places::default(), &openers).unwrap_err();
    assert!(matches!(error, OpenError::Store(StoreError::Conflict { .. })), "{error:?}");
}
