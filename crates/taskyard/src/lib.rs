//! Claude Code's task lists as a library: the same files, the same locks, and nothing ever lost.
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
//! A [`Store`] keeps lists, each with a journal of commits: the client's own files ([`store::FileStore`]), memory ([`store::MemoryStore`]),
//! PostgreSQL (the crate `taskyard-postgres`), or a store of the program's own on the [kit](store::kit). A [`Yard`] is a store with a list,
//! rules and an acting agent, and every verb is a method on it ([`operations`]). A verb reads, lets a pure rule of [`core`] decide, and
//! writes in one transaction, which happens entirely or not at all and is durable when it has returned. A refusal is a value
//! ([`Outcome::Refused`]); an [`Error`] means that we could not find out. Of all agents that [claim](Yard::claim) a task exactly one gets
//! it, with a lease that ends unless it is renewed ([`Yard::keep`]) and a token that fences a holder that slept too long.
//!
//! The library never prints, prompts or reads the environment. It blocks: an async program calls it on threads where that is allowed, as
//! `docs/embedding.md` shows.
//!
//! Six programs to begin with, in `examples/`: `create_and_follow`, `worker`, `own_store` and `teams` here, `embedded`, an MCP server, in
//! the crate `taskyard-mcp`, and `own_server`, with pages and an API, in `taskyard-server`. Commands in the background are started by the
//! crate `taskyard-jobs`; their records are [`jobs`].
//!
//! # Following a list
//!
//! [`Yard::follow`] gives what happens, in order: see [`stream`]. With it a program keeps a view of a list
//! ([`core::live::LiveList`]), whose answers do not take longer because the list is long, and reacts to what becomes ready.
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

// Most of what is private serves the stores on disk.
#![cfg_attr(not(feature = "teams"), allow(dead_code, unreachable_pub, unused_imports))]

pub mod answers;
#[cfg(feature = "teams")]
pub mod backup;
pub mod blocking;
pub mod clock;
pub mod config;
pub mod hooks;
#[cfg(feature = "sqlite")]
pub mod interchange;
#[cfg(feature = "sqlite")]
pub mod jobs;
pub mod leases;
pub mod liveness;
#[cfg(feature = "sqlite")]
pub mod machine;
pub mod notices;
pub mod opening;
pub mod operations;
pub mod private;
pub mod problems;
pub mod process;
pub mod random;
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
mod lock_table;
mod project_slug;
mod replacement;
#[cfg(feature = "sqlite")]
mod sqlite;
mod transacting;
mod written_lists;
mod yard;

pub use error::Error;
#[cfg(feature = "teams")]
pub use opening::{Opened, open};
pub use operations::Outcome;
pub use project_slug::slug;
pub use store::{Store, StoreError};
pub use taskyard_core as core;
pub use written_lists::WrittenLists;
pub use yard::{Run, StartLease, Yard};
