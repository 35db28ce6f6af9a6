//! What the client knows of a task file, and how large one may be.

/// The keys the client knows, in the order it writes them.
pub(crate) const SCHEMA: [&str; 9] =
    ["id", "subject", "description", "activeForm", "owner", "status", "blocks", "blockedBy", "metadata"];

/// The largest task file we read or write.
pub const LARGEST: u64 = 16 * 1024 * 1024;
