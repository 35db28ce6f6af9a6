//! Claude Code's task lists as a library. It works on the same files with the same locks, and never loses a task.
//!
//! ```
//! use std::sync::Arc;
//!
//! use taskyard::core::rules::refusal::Refusal;
//! use taskyard::core::{AgentName, ListId, Rules};
//! use taskyard::operations::NewTask;
//! use taskyard::store::MemoryStore;
//! use taskyard::{Outcome, Yard};
//!
//! let store = Arc::new(MemoryStore::new(Rules::Strict));
//! let yard = Yard::new(store, ListId::new("rocket")?, AgentName::new("ana")?);
//!
//! let schema = yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?.task.id;
//! let api = NewTask { subject: "Write the API".into(), blocked_by: vec![schema.clone()], ..NewTask::default() };
//! let api = yard.create(api)?.done()?.task.id;
//!
//! // A refusal is an answer, not an error.
//! let Outcome::Refused(Refusal::Blocked { by, .. }) = yard.start(&api)? else { panic!("it waits") };
//! assert_eq!(by, [schema.clone()]);
//!
//! // Completing a task says what can start now, and every change can be taken back.
//! assert_eq!(yard.done(&schema)?.done()?.now_ready, [api]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//!
//! A [`Store`] keeps lists, each with a journal of commits. Stores are Claude Code's own files ([`store::FileStore`]),
//! memory ([`store::MemoryStore`]), PostgreSQL (the crate `taskyard-postgres`), or a custom store built with the
//! [kit](store::kit). A [`Yard`] combines a store, one of its lists, the rules and the acting agent; every operation is
//! a method on it ([`operations`]). An operation reads, lets a pure rule of [`core`] decide, and writes in one
//! transaction, which is atomic and durable by the time the method returns. A refusal is a value
//! ([`Outcome::Refused`]); an [`Error`] means that we could not find out. If several agents [claim](Yard::claim) a
//! task, exactly one gets it, with a lease that expires unless it is renewed ([`Yard::keep`]) and a fencing token that
//! rejects late writes of a holder whose lease has expired.
//!
//! The library never prints, prompts or reads the environment. All calls block; an async program runs them on threads
//! that may block, as `docs/embedding.md` shows.
//!
//! There are six example programs in `examples/`: `create_and_follow`, `worker`, `own_store` and `teams` here,
//! `embedded`, an MCP server, in the crate `taskyard-mcp`, and `own_server`, with pages and an API, in
//! `taskyard-server`. The crate `taskyard-jobs` starts background commands; their records are in [`jobs`].
//!
//! # Following a list
//!
//! [`Yard::follow`] returns the events of a list in order: see [`stream`]. A program can use it to maintain a view of
//! the list ([`core::live::LiveList`]), whose queries do not slow down as the list grows, and react when tasks become
//! ready.
//!
//! ```
//! # use std::sync::Arc;
//! use taskyard::core::live::LiveList;
//! # use taskyard::core::{AgentName, ListId, Revision, Rules};
//! # use taskyard::operations::NewTask;
//! # use taskyard::store::MemoryStore;
//! use taskyard::stream::{Cursor, Happening, Stream};
//! # use taskyard::Yard;
//! # let list = ListId::new("rocket")?;
//! # let yard = Yard::new(Arc::new(MemoryStore::new(Rules::Strict)), list.clone(), AgentName::new("ana")?);
//! # let schema = yard.create(NewTask { subject: "Design the schema".into(), ..NewTask::default() })?.done()?.task.id;
//! # let api = NewTask { subject: "Write the API".into(), blocked_by: vec![schema.clone()], ..NewTask::default() };
//! # let api = yard.create(api)?.done()?.task.id;
//!
//! // From the beginning, so that the view is whole. `for happening in stream` waits for the next thing; this does not.
//! let mut stream = yard.follow(Cursor::after(&list, Revision(0)))?;
//! let mut view = LiveList::new(Rules::Strict);
//! let mut catch_up = |stream: &mut Stream| -> Result<Vec<_>, taskyard::Error> {
//!     while let Some(happening) = stream.try_next()? {
//!         match happening {
//!             Happening::Commit(commit) => view.apply(&commit),
//!             Happening::Message { agent, delivery, .. } => println!("for {agent}: {}", delivery.message.text),
//!             _ => {}
//!         }
//!     }
//!     view.judge(yard.store().now()?.wall);
//!     Ok(view.ready().map(|ready| ready.id).collect())
//! };
//! assert_eq!(catch_up(&mut stream)?, [schema.clone()]);
//!
//! yard.done(&schema)?;
//! assert_eq!(catch_up(&mut stream)?, [api], "what waited for it is ready");
//!
//! // A follower that stops here can go on from here, in another process, too.
//! let since = stream.cursor();
//! # drop(since);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Most private items serve the stores on disk.
#![cfg_attr(not(feature = "teams"), allow(dead_code, unreachable_pub, unused_imports))]

pub mod answers;
#[cfg(feature = "teams")]
pub mod backup;
pub mod config;
pub mod hooks;
#[cfg(feature = "sqlite")]
pub mod interchange;
#[cfg(feature = "sqlite")]
pub mod jobs;
pub mod liveness;
#[cfg(feature = "sqlite")]
pub mod machine;
pub mod notices;
pub mod opening;
pub mod operations;
pub mod private;
pub mod problems;
pub mod process;
pub mod regular_file;
pub mod store;
pub mod stream;
pub mod teams;
#[cfg(feature = "sqlite")]
pub mod tidying;
pub mod todos;
pub mod watching;

/// Steps at which a test build can stop or kill the process. Not for programs that use the library.
#[doc(hidden)]
pub mod failpoint;

mod error;
#[cfg(feature = "sqlite")]
mod fingerprint;
pub mod lease_watch;
#[cfg(feature = "sqlite")]
mod sqlite;
pub mod system;
mod transacting;
mod yard;

pub use error::Error;
pub use liveness::client_names::slug;
#[cfg(feature = "teams")]
pub use opening::{Opened, open};
pub use store::{Store, StoreError};
pub use taskyard_core as core;
pub use taskyard_core::rules::refusal::Outcome;
pub use yard::{Run, StartLease, WrittenLists, Yard};
